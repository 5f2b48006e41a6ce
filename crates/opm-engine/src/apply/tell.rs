//! Telling the audience what happens, and the report what was decided without any request.

use opm_core::check::{ApplyStep, How, StaleDecisions};
use opm_core::entry::Entry;
use opm_core::event::{Aim, Announced, Event, Wait};

use super::Apply;
use crate::report::{Action, Outcome};
use crate::wait::Awaited;

impl<C, S, K> Apply<'_, C, S, K> {
    /// The whole plan comes first.
    pub(super) fn announce<'s>(
        &self,
        applies: impl Iterator<Item = &'s ApplyStep>,
        stale: &StaleDecisions,
    ) {
        let applies = applies.map(|step| announced(&step.entry, aim(step)));
        let prunes = stale.prune.iter();
        let prunes = prunes.map(|step| announced(&step.entry, Aim::Prune));
        let keeps = stale.keep.iter();
        let keeps = keeps.map(|keep| announced(&keep.entry, Aim::Keep));
        self.audience.events.emit(Event::Planned {
            release: self.candidate.owner.release.to_string(),
            change: Some(self.candidate.change.to_string()),
            objects: applies.chain(prunes).chain(keeps).collect(),
        });
    }

    pub(super) fn tell_object(&self, outcome: &Outcome) {
        self.audience.events.emit(outcome.event());
    }

    pub(super) fn tell_awaited(&self, awaited: &[Awaited]) {
        if !awaited.is_empty() {
            let identities = awaited.iter().map(|awaited| awaited.identity.clone());
            self.tell_waiting(Wait::Ready(identities.collect()));
        }
    }

    pub(super) fn tell_waiting(&self, wait: Wait) {
        self.audience.events.emit(Event::Waiting(wait));
    }

    pub(super) fn tell_recorded(&self) {
        self.audience.events.emit(Event::Recorded {
            change: Some(self.candidate.change.to_string()),
        });
    }
}

fn announced(entry: &Entry, aim: Aim) -> Announced {
    Announced {
        identity: entry.identity.clone(),
        component: entry.component.clone(),
        aim,
    }
}

fn aim(step: &ApplyStep) -> Aim {
    match step.how {
        How::Create => Aim::Create,
        How::Update { .. } | How::Join { .. } | How::Completed => Aim::Update,
        How::Adopt { .. } | How::Take { .. } => Aim::Adopt,
    }
}

/// Stale objects that stand for a reason, or that could not even be looked at.
pub(crate) fn standing(stale: &StaleDecisions) -> Vec<Outcome> {
    let keeps = stale.keep.iter();
    let keeps = keeps.map(|keep| (&keep.entry, Action::Kept, &keep.reason));
    let unsettled = stale.unsettled.iter();
    let unsettled = unsettled.map(|one| (&one.entry, Action::Failed, &one.reason));
    keeps
        .chain(unsettled)
        .map(|(entry, action, reason)| Outcome {
            identity: entry.identity.clone(),
            version: entry.version.clone(),
            component: entry.component.clone(),
            action,
            reason: Some(reason.clone()),
        })
        .collect()
}

/// Objects that another release has by now.
pub(crate) fn transferred(stale: &StaleDecisions) -> Vec<String> {
    let transferred = stale.transferred.iter();
    transferred
        .map(|one| {
            let identity = &one.entry.identity;
            format!(
                "{identity} belongs to release {} now; this one lets go of it",
                one.to
            )
        })
        .collect()
}
