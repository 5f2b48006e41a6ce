//! Telling whoever watches what happens, and the report what was decided without any request.

use opm_core::check::{ApplyMethod, ApplyStep, StaleDecisions};
use opm_core::entry::Entry;
use opm_core::event::{AnnouncedObject, Event, PlannedAction, RunPhase, Wait};

use super::Apply;
use crate::report::{Action, ObjectOutcome};
use crate::wait::WaitTarget;

impl Apply<'_> {
    /// The whole plan comes first.
    pub(super) fn announce<'s>(
        &self,
        applies: impl Iterator<Item = &'s ApplyStep>,
        stale: &StaleDecisions,
    ) {
        self.run.emit(Event::Planned {
            release: self.candidate.owner.release.to_string(),
            change: Some(self.candidate.change.to_string()),
            objects: announcement(applies, stale),
        });
    }

    pub(super) fn tell_phase(&self, phase: RunPhase, objects: usize) {
        self.run.emit(Event::Phase { phase, objects });
    }

    pub(super) fn tell_object(&self, outcome: &ObjectOutcome) {
        self.run.emit(outcome.event());
    }

    pub(super) fn tell_targets(&self, targets: &[WaitTarget]) {
        if !targets.is_empty() {
            let identities = targets.iter().map(|target| target.identity.clone());
            self.tell_waiting(Wait::Ready(identities.collect()));
        }
    }

    pub(super) fn tell_waiting(&self, wait: Wait) {
        self.run.emit(Event::Waiting(wait));
    }

    pub(super) fn tell_recorded(&self) {
        self.run.emit(Event::Recorded {
            change: Some(self.candidate.change.to_string()),
        });
    }
}

/// What a plan means to do with which object.
pub(super) fn announcement<'s>(
    applies: impl Iterator<Item = &'s ApplyStep>,
    stale: &StaleDecisions,
) -> Vec<AnnouncedObject> {
    let applies = applies.map(|step| announced(&step.entry, planned(step)));
    let prunes = stale.prune.iter();
    let prunes = prunes.map(|step| announced(&step.entry, PlannedAction::Prune));
    let keeps = stale.keep.iter();
    let keeps = keeps.map(|keep| announced(&keep.entry, PlannedAction::Keep));
    applies.chain(prunes).chain(keeps).collect()
}

fn announced(entry: &Entry, planned: PlannedAction) -> AnnouncedObject {
    AnnouncedObject {
        identity: entry.identity.clone(),
        component: entry.component.clone(),
        planned,
    }
}

fn planned(step: &ApplyStep) -> PlannedAction {
    match step.method {
        ApplyMethod::Create => PlannedAction::Create,
        ApplyMethod::Update { .. } | ApplyMethod::Join { .. } | ApplyMethod::Completed => {
            PlannedAction::Update
        }
        ApplyMethod::Adopt { .. } | ApplyMethod::Take { .. } => PlannedAction::Adopt,
    }
}

/// Stale objects that stand for a reason, or that could not even be looked at.
pub(crate) fn without_request(stale: &StaleDecisions) -> Vec<ObjectOutcome> {
    let keeps = stale.keep.iter();
    let keeps = keeps.map(|keep| (&keep.entry, Action::Kept, &keep.reason));
    let undetermined = stale.undetermined.iter();
    let undetermined = undetermined.map(|one| (&one.entry, Action::Failed, &one.reason));
    keeps
        .chain(undetermined)
        .map(|(entry, action, reason)| ObjectOutcome::of(entry, action, Some(reason.clone())))
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
