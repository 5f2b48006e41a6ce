//! What is known of a run while it goes on, put together from its events. Knows no terminal.

use std::collections::BTreeMap;
use std::time::Instant;

use opm_core::event::{Action, Event, PlannedAction, RunPhase, Wait};
use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::words::count;

/// What a run does now.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Activity {
    /// It reads the record, and whatever else comes before the plan.
    Read,
    /// A phase of the run, with how many objects.
    Phase(RunPhase, usize),
    /// It waits.
    Wait(Wait),
}

/// How many objects are done, and of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) done: usize,
    pub(super) of: usize,
}

/// A run, as it stands.
#[derive(Debug)]
pub(super) struct RunModel {
    pub(super) activity: Activity,
    /// When this activity began.
    pub(super) since: Instant,
    /// When the run began.
    pub(super) begin: Instant,
    pub(super) release: Option<String>,
    /// Objects to apply, by component, in the order of the plan.
    pub(super) components: Vec<(String, Tally)>,
    /// In this phase.
    pub(super) done: usize,
    pub(super) failed: usize,
    /// Requests under way, with when they were sent.
    pub(super) under_way: BTreeMap<Identity, Instant>,
    /// What is waited for, and how it is doing.
    pub(super) health: BTreeMap<Identity, (HealthState, String)>,
    /// Whether something may have been changed.
    pub(super) begun: bool,
    /// Whether the change is recorded.
    pub(super) recorded: bool,
    /// Whether a question stands.
    pub(super) asking: bool,
    pub(super) interrupted: bool,
}

impl RunModel {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            activity: Activity::Read,
            since: now,
            begin: now,
            release: None,
            components: Vec::new(),
            done: 0,
            failed: 0,
            under_way: BTreeMap::new(),
            health: BTreeMap::new(),
            begun: false,
            recorded: false,
            asking: false,
            interrupted: false,
        }
    }

    fn enter(&mut self, activity: Activity, now: Instant) {
        if self.activity != activity {
            self.since = now;
        }
        self.activity = activity;
    }

    /// Takes one event in.
    pub(super) fn take(&mut self, event: &Event, now: Instant) {
        match event {
            Event::Planned {
                release, objects, ..
            } => {
                self.release = Some(release.clone());
                self.components.clear();
                for object in objects {
                    if object.planned != PlannedAction::Keep {
                        self.tally(&object.component).of += 1;
                    }
                }
            }
            Event::Phase { phase, objects } => {
                (self.done, self.failed) = (0, 0);
                self.enter(Activity::Phase(*phase, *objects), now);
            }
            Event::GoingBack { .. } => {
                let (begin, interrupted) = (self.begin, self.interrupted);
                *self = Self::new(now);
                (self.begin, self.interrupted) = (begin, interrupted);
            }
            Event::TookOver { .. } => {}
            Event::Begun => self.begun = true,
            Event::Sent { identity, .. } => {
                self.under_way.insert(identity.clone(), now);
            }
            Event::Health {
                identity,
                state,
                message,
            } => {
                let health = (*state, message.clone());
                self.health.insert(identity.clone(), health);
            }
            Event::Object {
                identity,
                component,
                action,
                ..
            } => {
                self.under_way.remove(identity);
                if *action != Action::Kept {
                    self.done += 1;
                    self.tally(component).done += 1;
                }
                self.failed += usize::from(*action == Action::Failed);
            }
            Event::Waiting(wait) => {
                if let Wait::Ready(objects) | Wait::Gone(objects) = wait {
                    self.health.retain(|identity, _| objects.contains(identity));
                }
                self.enter(Activity::Wait(wait.clone()), now);
            }
            Event::Recorded { .. } => self.recorded = true,
        }
    }

    fn tally(&mut self, component: &str) -> &mut Tally {
        let at = self
            .components
            .iter()
            .position(|(name, _)| name == component);
        let at = at.unwrap_or_else(|| {
            self.components
                .push((component.to_owned(), Tally::default()));
            self.components.len() - 1
        });
        &mut self.components[at].1
    }

    /// What an interrupt does now, in words; nothing at a question, which it simply ends.
    pub(super) fn interrupt_words(&self) -> Option<String> {
        const AGAIN: &str = "press Ctrl-C again to stop at once";
        let words = match (&self.activity, self.under_way.len()) {
            _ if self.asking => return None,
            (Activity::Wait(_), _) if self.recorded => {
                "stopping to wait; the change is recorded".to_owned()
            }
            (_, 0) if !self.begun => "stopping; nothing was changed".to_owned(),
            (_, 0) => "stopping, and releasing the lock".to_owned(),
            (_, under_way) => {
                format!("stopping after {} in flight", count(under_way, "request"))
            }
        };
        Some(format!("{words}; {AGAIN}"))
    }
}
