//! What a dry run came to, put together: what would be pending and kept, what the user should
//! know, and how an apply would fail.

use std::collections::HashSet;

use opm_core::check::{Preview, Refusal, Refusals};
use opm_core::identity::Identity;
use opm_core::words;

use super::Apply;
use super::check::ApplyContext;
use super::tell::transferred;
use crate::diff::{DiffReport, Difference};
use crate::failure::{Failure, FailureKind};
use crate::ports::Stopped;
use crate::report::{Action, ObjectOutcome, TrackedObject};

/// Objects, what would happen to them, and what kinds of failure there were.
#[derive(Default)]
pub(super) struct DryRunResults {
    pub(super) objects: Vec<Difference>,
    /// Whether each failure was one of rights.
    pub(super) forbidden: Vec<bool>,
    pub(super) unreachable: bool,
    /// What the answers of the server are reasons to refuse.
    pub(super) refusals: Vec<Refusal>,
    pub(super) stopped: Option<Stopped>,
}

impl Apply<'_> {
    pub(super) fn diff_report(
        &self,
        preview: Preview,
        results: DryRunResults,
        blocked: [Option<Failure>; 4],
        context: ApplyContext,
        current: Option<String>,
    ) -> DiffReport {
        let mut warnings = context.warnings;
        warnings.extend(transferred(&preview.stale));
        warnings.extend(self.run.backend.take_warnings());
        let (change, since) = (
            self.candidate.change.to_string(),
            self.run.server_now().to_string(),
        );
        let kept = preview.carried.iter().map(TrackedObject::from);
        let keep = preview.stale.keep.iter().map(|keep| {
            TrackedObject::of(&keep.entry, keep.why.word(), &change, &since)
                .because(Some(keep.reason.clone()))
        });
        DiffReport {
            release: self.release(),
            change_id: self.candidate.change.clone(),
            manifest_digest: self.candidate.digest.to_string(),
            current,
            pending: still_pending(&preview, &results.objects, &change, &since),
            kept: kept.chain(keep).collect(),
            would_fail: would_fail(blocked, &preview.refusals, &results),
            transferred: preview.stale.transferred,
            objects: results.objects,
            orphans: Vec::new(),
            plan: None,
            warnings,
            remedies: context.remedies,
        }
    }
}

/// What should go and could not.
fn still_pending(
    preview: &Preview,
    objects: &[Difference],
    change: &str,
    since: &str,
) -> Vec<TrackedObject> {
    let prune = preview.stale.prune.iter().map(|step| &step.entry.identity);
    let undetermined = preview.stale.undetermined.iter();
    let undetermined = undetermined.map(|one| &one.entry.identity);
    let stale: HashSet<&Identity> = prune.chain(undetermined).collect();
    let outcomes = objects.iter().map(|one| &one.outcome);
    outcomes
        .filter(|one| one.action == Action::Failed && stale.contains(&one.identity))
        .map(|one| TrackedObject::unpruned(one, change, since))
        .collect()
}

/// How an apply would fail: by a check, or when an object is sent.
fn would_fail(
    blocked: [Option<Failure>; 4],
    refusals: &[Refusal],
    results: &DryRunResults,
) -> Option<Failure> {
    let refusals: Vec<Refusal> = refusals.iter().chain(&results.refusals).cloned().collect();
    let refused = (!refusals.is_empty()).then(|| Failure::of_refusals(Refusals(refusals)));
    let refused = blocked.into_iter().chain([refused]).flatten();
    let refused = refused.reduce(Failure::and);
    let objects: Vec<&ObjectOutcome> = results
        .objects
        .iter()
        .map(|one| &one.outcome)
        .filter(|one| one.action == Action::Failed)
        .collect();
    if objects.is_empty() {
        return refused;
    }
    let message = format!(
        "{} of {} failed in a dry run",
        objects.len(),
        words::count(results.objects.len(), "object")
    );
    let mut failure = Failure::new(results.failed(), message);
    for object in objects {
        let reason = object.reason.clone().unwrap_or_default();
        failure = failure.object(object.identity.clone(), reason);
    }
    Some(match refused {
        // The check comes first; what else would go wrong is told as well.
        Some(refused) => {
            let kind = refused.kind;
            let mut both = refused.and(failure);
            both.kind = kind;
            both
        }
        None => failure,
    })
}

impl DryRunResults {
    fn failed(&self) -> FailureKind {
        let forbidden = !self.forbidden.is_empty() && self.forbidden.iter().all(|one| *one);
        match (self.unreachable, forbidden) {
            (true, _) => FailureKind::Unreachable,
            (false, true) => FailureKind::NotPermitted,
            (false, false) => FailureKind::Failed,
        }
    }
}
