//! What a rehearsal came to, put together: what would be pending and kept, what the user should
//! know, and how an apply would fail.

use std::collections::HashSet;

use opm_core::check::{ApplyStep, Preview, Refusal, Refusals};
use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::record::PendingWhy;

use super::prepare::ApplyContext;
use super::tell::transferred;
use super::{Apply, conflicts};
use crate::diff::{DiffReport, Difference, LetGo};
use crate::failure::{Failure, FailureKind};
use crate::ports::{Clock, Cluster, SecretStore, Stopped};
use crate::record::{LoadedRecord, holder};
use crate::report::{Action, ObjectOutcome, TrackedObject};
use crate::run::tracked_kept;

/// Objects, what would happen to them, and what kinds of failure there were.
#[derive(Default)]
pub(super) struct DryRunResults {
    pub(super) objects: Vec<Difference>,
    /// Whether each failure was one of rights.
    pub(super) forbidden: Vec<bool>,
    pub(super) unreachable: bool,
    /// Objects that others have a part in.
    pub(super) conflicts: Vec<(ApplyStep, String)>,
    pub(super) stopped: Option<Stopped>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    pub(super) fn told(
        &self,
        preview: Preview,
        rehearsed: DryRunResults,
        blocked: [Option<Failure>; 3],
        context: &ApplyContext,
        loaded: Option<&LoadedRecord>,
    ) -> DiffReport {
        let record = loaded.map(|loaded| &loaded.record);
        let mut warnings = context.warnings.clone();
        warnings.extend(transferred(&preview.stale));
        warnings.extend(self.engine.cluster.take_warnings());
        if let Some(lock) = record.and_then(|record| record.lock.as_ref()) {
            warnings.push(format!(
                "the release is locked by {}: what is shown may change",
                holder(lock)
            ));
        }
        let kept = preview.carried.iter().map(tracked_kept);
        let keep = preview.stale.keep.iter();
        let keep = keep.map(|keep| self.tracked(&keep.entry, keep.why.word(), &keep.reason));
        DiffReport {
            release: self.release(),
            change_id: self.candidate.change.clone(),
            manifest_digest: self.candidate.digest.to_string(),
            current: record
                .and_then(|record| record.current())
                .map(|change| change.id.clone()),
            pending: self.still_pending(&preview, &rehearsed.objects),
            kept: kept.chain(keep).collect(),
            would_fail: would_fail(blocked, &preview.refusals, &rehearsed),
            transferred: preview
                .stale
                .transferred
                .into_iter()
                .map(|one| LetGo {
                    entry: one.entry,
                    to: one.to,
                })
                .collect(),
            objects: rehearsed.objects,
            warnings,
        }
    }

    /// What should go and could not.
    fn still_pending(&self, preview: &Preview, objects: &[Difference]) -> Vec<TrackedObject> {
        let stale: HashSet<&Identity> = preview
            .stale
            .prune
            .iter()
            .map(|step| &step.entry.identity)
            .chain(
                preview
                    .stale
                    .undetermined
                    .iter()
                    .map(|one| &one.entry.identity),
            )
            .collect();
        let word = PendingWhy::PruneFailed.word();
        objects
            .iter()
            .map(|one| &one.outcome)
            .filter(|one| one.action == Action::Failed && stale.contains(&one.identity))
            .map(|one| {
                let entry = Entry::new(one.identity.clone(), &one.version, &one.component);
                self.tracked(&entry, word, one.reason.as_deref().unwrap_or_default())
            })
            .collect()
    }

    fn tracked(&self, entry: &Entry, why: &'static str, reason: &str) -> TrackedObject {
        TrackedObject {
            identity: entry.identity.clone(),
            version: entry.version.clone(),
            component: entry.component.clone(),
            why,
            change: self.candidate.change.to_string(),
            since: self.engine.server_now().to_string(),
            reason: Some(reason.to_owned()),
        }
    }
}

/// How an apply would fail: by a check, or when an object is sent.
fn would_fail(
    blocked: [Option<Failure>; 3],
    refusals: &[Refusal],
    rehearsed: &DryRunResults,
) -> Option<Failure> {
    let refused = (!refusals.is_empty()).then(|| Failure::refused(&Refusals(refusals.to_vec())));
    let conflicts = rehearsed.conflicts.iter();
    let conflicts: Vec<(&ApplyStep, String)> = conflicts
        .map(|(step, reason)| (step, reason.clone()))
        .collect();
    let conflicts = (!conflicts.is_empty()).then(|| conflicts::refused(&conflicts));
    let refused = blocked.into_iter().chain([refused, conflicts]).flatten();
    let refused = refused.reduce(Failure::and);
    let objects: Vec<&ObjectOutcome> = rehearsed
        .objects
        .iter()
        .map(|one| &one.outcome)
        .filter(|one| one.action == Action::Failed)
        .collect();
    if objects.is_empty() {
        return refused;
    }
    let message = format!(
        "{} of {} objects failed in a dry run",
        objects.len(),
        rehearsed.objects.len()
    );
    let mut failure = Failure::new(rehearsed.failed(), message);
    for object in objects {
        let reason = object.reason.clone().unwrap_or_default();
        failure = failure.object(object.identity.clone(), reason);
    }
    Some(match refused {
        // The check comes first; what else would go wrong is told as well.
        Some(refused) => {
            let kind = refused.kind;
            Failure {
                kind,
                ..refused.and(failure)
            }
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
