//! What is applied, and what for: a module that was just rendered, or a change of the history.
//!
//! The flow is the same for all of them. Which change is meant is decided anew in every attempt,
//! from the very record that the lock is then taken in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use opm_core::candidate::Candidate;
use opm_core::check::CheckedPlan;
use opm_core::plan::Guard;
use opm_core::record::{Change, Record, RecordPart};

use super::atomic::Fallback;
use crate::failure::{Failure, FailureKind};
use crate::request::ApplyRequest;

/// One apply, ready to be attempted.
pub(crate) struct ApplyTask<'a> {
    pub(crate) request: Cow<'a, ApplyRequest>,
    pub(crate) course: ApplyMode,
    /// What the user should know about the choice.
    pub(crate) warnings: Vec<String>,
}

/// What an apply is for.
#[derive(Debug, Default)]
pub(crate) struct ApplyMode {
    /// The change that is applied again, if one is.
    pub(crate) again: Option<Reapply>,
    /// The way back, if there has to be one: then nothing is recorded before it is ready.
    pub(crate) back: Option<Fallback>,
    /// Whether somebody has to agree when data is left behind or begun anew.
    pub(crate) asks_about_data: bool,
    /// The run that this one makes undone; the log says so.
    pub(crate) undoes: Option<String>,
}

/// A change that is applied again.
#[derive(Debug, Clone)]
pub(crate) struct Reapply {
    id: String,
    features: Option<BTreeMap<String, bool>>,
}

impl Reapply {
    pub(crate) fn of(change: &Change) -> Self {
        Self {
            id: change.id.clone(),
            features: change.features.clone(),
        }
    }
}

impl ApplyMode {
    /// The command, as lock and log name it.
    pub(super) fn command(&self) -> &'static str {
        match self.again {
            Some(_) => "rollback",
            None => "apply",
        }
    }

    /// The feature flags that the change was rendered with: now, or when it was new.
    pub(super) fn features(&self, now: &BTreeMap<String, bool>) -> BTreeMap<String, bool> {
        let again = self.again.as_ref();
        let then = again.and_then(|again| again.features.clone());
        then.unwrap_or_else(|| now.clone())
    }

    /// Whether manifests that are kept already stay so, whatever is kept from now on: going back
    /// to a change must not take away the way there.
    pub(super) fn keeps_what_is_kept(&self, stored: &Record) -> bool {
        let again = self.again.as_ref();
        let change = again.and_then(|again| stored.change(&again.id));
        change.is_some_and(|change| change.holds(RecordPart::Manifests))
    }

    /// What is applied again has to come to the very change that was meant.
    pub(super) fn check(&self, candidate: &Candidate) -> Result<(), Failure> {
        match &self.again {
            Some(again) if again.id != candidate.change.as_str() => Err(Failure::new(
                FailureKind::Refused,
                format!(
                    "{}: what is left of it comes to another change ({}, digest {})",
                    again.id, candidate.change, candidate.digest
                ),
            )
            .hint("`opm mod history` shows which changes one can go back to")),
            _ => Ok(()),
        }
    }

    /// Where there has to be a way back, nothing may go that would not come back with its
    /// content.
    pub(super) fn check_plan(&self, checked: &CheckedPlan) -> Result<(), Failure> {
        if self.back.is_none() {
            return Ok(());
        }
        let mut lost = checked.stale.prune.iter().map(|step| &step.entry.identity);
        match lost.find(|identity| Guard::of(&identity.group_kind).is_some()) {
            None => Ok(()),
            Some(identity) => Err(Failure::new(
                FailureKind::Refused,
                format!("{identity} would be removed for good, so --atomic could not go back"),
            )
            .object(identity.clone(), "what it holds would not come back")
            .hint("leave out --atomic, or the flag that lets it be removed")),
        }
    }
}
