//! Waiting until what was applied is ready: before recording where there has to be a way back,
//! after it elsewhere.

use std::collections::HashSet;
use std::time::Duration;

use opm_core::check::{ApplyMethod, ApplyStep};
use opm_core::failure::Remedy;
use opm_core::identity::Identity;
use opm_core::time::duration_words;
use opm_core::{health, labels, words};

use super::Apply;
use super::record::RecordedRun;
use super::stages::stopped_failure;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiErrorKind, Permit, Stopped};
use crate::record::LockGuard;
use crate::report::Report;
use crate::wait::{UnreadyObject, WaitTarget};

impl Apply<'_> {
    /// What readiness is waited for: not what is ready as soon as it exists, not what is done and
    /// gone, and not what says that nobody should wait for it.
    pub(super) fn targets<'s>(
        &self,
        steps: impl IntoIterator<Item = &'s ApplyStep>,
    ) -> Vec<WaitTarget> {
        let desired = self.candidate.desired().objects;
        let expiring: HashSet<&Identity> = desired
            .iter()
            .filter(|object| object.expires)
            .map(|object| &object.entry.identity)
            .collect();
        let unawaited: HashSet<&Identity> = self
            .candidate
            .objects
            .iter()
            .filter(|object| labels::opts_out_of_waiting(&object.manifest))
            .map(|object| object.manifest.identity())
            .collect();
        steps
            .into_iter()
            .filter(|step| step.method != ApplyMethod::Completed)
            .map(|step| &step.entry.identity)
            .filter(|identity| !unawaited.contains(identity))
            .filter(|identity| health::takes_time(&identity.group_kind))
            .map(|identity| WaitTarget {
                identity: identity.clone(),
                expires: expiring.contains(identity),
            })
            .collect()
    }

    /// Where there has to be a way back, nothing is recorded before it is ready.
    pub(super) async fn not_ready_first(
        &self,
        targets: &[WaitTarget],
        permit: Permit<'_>,
    ) -> Option<Failure> {
        self.mode.fallback.as_ref()?;
        self.tell_targets(targets);
        let timeout = self.request.options.timeout;
        match self.run.wait_ready(targets, timeout, permit).await {
            Ok(not_ready) if not_ready.is_empty() => None,
            Ok(not_ready) => {
                let message = not_ready_words(&not_ready, timeout);
                let failure = Failure::new(FailureKind::Failed, message);
                Some(about(failure, not_ready))
            }
            Err(error) => Some(match error.kind {
                ApiErrorKind::Stopped(stopped) => stopped_failure(stopped, Report::default()),
                _ => {
                    let message = format!("whether everything is ready is unknown: {error}");
                    Failure::new(FailureKind::Failed, message).because(error)
                }
            }),
        }
    }

    /// The change is recorded; that it is not ready in time is only said in the log.
    pub(super) async fn wait_until_ready(
        &self,
        recorded: RecordedRun,
        targets: &[WaitTarget],
        guard: &LockGuard,
        lock_id: &str,
    ) -> Result<Report, Failure> {
        let RecordedRun { report, unpruned } = recorded;
        let mut failure = unpruned.then(|| not_pruned(&report));
        if self.request.options.wait && self.mode.fallback.is_none() {
            self.tell_targets(targets);
            let timeout = self.request.options.timeout;
            let waited = self.run.wait_ready(targets, timeout, self.run.permit());
            match waited.await {
                Ok(not_ready) if not_ready.is_empty() => {}
                Ok(not_ready) => {
                    let reason = not_ready_words(&not_ready, timeout);
                    let late = failure.unwrap_or_else(|| {
                        let message = format!("recorded, but {reason}");
                        Failure::new(FailureKind::Incomplete, message)
                    });
                    let remedy = match not_ready.iter().any(|one| one.failed) {
                        true => Remedy::FixOrGoBack,
                        false => Remedy::WaitLonger,
                    };
                    self.run.log_not_ready(guard, lock_id, &reason).await;
                    failure = Some(about(late, not_ready).remedy(remedy));
                }
                Err(error) if error.kind == ApiErrorKind::Stopped(Stopped::Cancelled) => {
                    let message = "interrupted while waiting; the change is recorded";
                    let failure = Failure::new(FailureKind::Interrupted, message);
                    return Err(failure.after(report));
                }
                Err(error) => {
                    let message = format!("recorded, but readiness is unknown: {error}");
                    let unknown = Failure::new(FailureKind::Incomplete, message);
                    failure = Some(unknown.because(error));
                }
            }
        }
        match failure {
            Some(failure) => Err(failure.after(report)),
            None => Ok(report),
        }
    }
}

/// What became stale and could not be removed.
fn not_pruned(report: &Report) -> Failure {
    let stale = words::count(report.pending.len(), "stale object");
    let message = format!("recorded, but {stale} could not be removed: pending");
    Failure::new(FailureKind::Incomplete, message)
        .remedy(Remedy::ShowPending)
        .about_failed(report)
}

fn about(failure: Failure, not_ready: Vec<UnreadyObject>) -> Failure {
    not_ready.into_iter().fold(failure, |failure, object| {
        failure.object(object.identity, object.reason)
    })
}

/// What is not ready, and whether more time would have helped.
fn not_ready_words(not_ready: &[UnreadyObject], timeout: Duration) -> String {
    let failed: Vec<UnreadyObject> = not_ready.iter().filter(|o| o.failed).cloned().collect();
    match failed.is_empty() {
        true => format!(
            "not ready after {}: {}",
            duration_words(timeout),
            first_of(not_ready)
        ),
        false => format!(
            "not ready, and waiting does not help: {}",
            first_of(&failed)
        ),
    }
}

/// The first object that is not ready, and how many more there are.
fn first_of(not_ready: &[UnreadyObject]) -> String {
    let first = not_ready.first().map(|one| one.identity.to_string());
    match not_ready.len().saturating_sub(1) {
        0 => first.unwrap_or_default(),
        more => format!("{} and {more} more", first.unwrap_or_default()),
    }
}
