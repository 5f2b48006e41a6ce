//! `forget`: stops tracking objects, wherever the record has them. Deletes nothing.
//!
//! Forgotten means neither recorded nor labelled. The labels go first: cut short in between, the
//! record still names the object, and forgetting it again goes on.

use std::collections::HashSet;

use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::record::{LogResult, Record};

use super::{ATTEMPTS, nothing_named, unmatched, unwritten};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Clock, Cluster, ErrorKind, Frontend, SecretStore, Stopped};
use crate::report::{Action, ObjectOutcome, Release, Report};
use crate::request::ForgetRequest;
use crate::run::{kept, pending, unless_failed};

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Stops tracking objects.
    pub async fn forget(
        &self,
        request: &ForgetRequest,
        frontend: Frontend<'_>,
    ) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        for _ in 0..ATTEMPTS {
            let patience = request.lock_timeout;
            let (loaded, acquisition, warnings) =
                self.turn_of(&release, patience, frontend).await?;
            let tracked: Vec<&Identity> = tracked(&loaded.record)
                .into_iter()
                .map(|entry| &entry.identity)
                .collect();
            unmatched(&request.objects, &tracked)
                .map_err(|names| nothing_named("tracked object", &names))?;
            let nothing = |_: &Identity| false;
            let checked = self
                .plan_maintenance(&release, &loaded.record, nothing)
                .await?;
            let begun = self.begin_maintenance(&release, &loaded, acquisition, checked, "forget");
            let Some((applied, guard)) = begun.await? else {
                continue;
            };
            let matches = |identity: &Identity| request.objects.iter().any(|s| s.matches(identity));
            let parted =
                self.while_renewing(&guard, self.disown_all(&release, &loaded.record, matches));
            let parted = parted.await;
            let reconciled = applied.reconcile(&Default::default(), self.server_now());
            let (result, reason) = match (parted.stopped, parted.failed.is_empty()) {
                (Some(Stopped::Interrupted), _) => (LogResult::Interrupted, None),
                (None, true) => (LogResult::Succeeded, None),
                _ => {
                    let reason = "not everything could be forgotten";
                    (LogResult::Failed, Some(reason.to_owned()))
                }
            };
            let mut record = reconciled.release(&self.ended(result, reason, &parted.failed));
            let forgotten = record.forget(|identity| parted.done.contains(identity));
            let resources = forgotten.iter().map(outcome).chain(parted.failed);
            let mut report = Report {
                release: Some(release.clone()),
                resources: resources.collect(),
                pending: pending(&record),
                kept: kept(&record),
                warnings: warnings.into_iter().chain(parted.warnings).collect(),
                ..Report::default()
            };
            return match self.write_and_sweep(&guard, record).await {
                Ok(()) => {
                    report.warnings.extend(guard.take_notes().await);
                    forgot(report, parted.stopped)
                }
                Err(error) => Err(unwritten(error, report)),
            };
        }
        Err(Failure::overtaken(&release.name))
    }

    /// Takes the release's labels off everything that is to be forgotten.
    async fn disown_all(
        &self,
        release: &Release,
        record: &Record,
        matches: impl Fn(&Identity) -> bool,
    ) -> DisownResults {
        let mut parted = DisownResults::default();
        for entry in tracked(record).into_iter().filter(|e| matches(&e.identity)) {
            let (identity, uid) = (&entry.identity, entry.uid.as_deref());
            match self.disown_object(identity, uid, &release.id).await {
                Ok(()) => _ = parted.done.insert(identity.clone()),
                Err(error) => match error.kind {
                    ErrorKind::Stopped(stopped) => {
                        parted.stopped = Some(stopped);
                        break;
                    }
                    ErrorKind::Forbidden => {
                        parted.done.insert(identity.clone());
                        parted.warnings.push(format!(
                            "{identity} is not tracked any more, but its labels may not be \
                             removed: as long as it carries them, it counts as this release's: \
                             {error}"
                        ));
                    }
                    _ => parted.failed.push(ObjectOutcome {
                        action: Action::Failed,
                        reason: Some(format!("its labels could not be removed: {error}")),
                        ..outcome(entry)
                    }),
                },
            }
        }
        parted
    }
}

/// What became of the labels.
#[derive(Default)]
struct DisownResults {
    /// What may be struck off the record.
    done: HashSet<Identity>,
    failed: Vec<ObjectOutcome>,
    warnings: Vec<String>,
    /// Set when it was cut short.
    stopped: Option<Stopped>,
}

fn forgot(report: Report, stopped: Option<Stopped>) -> Result<Report, Failure> {
    let Some(stopped) = stopped else {
        let message = |count| format!("{count} objects could not be forgotten");
        return unless_failed(report, FailureKind::Failed, message);
    };
    let kind = match stopped {
        Stopped::Interrupted => FailureKind::Interrupted,
        Stopped::LockUncertain => FailureKind::LockLost,
    };
    Err(Failure::new(kind, "cut short; what is still labelled is still tracked").after(report))
}

fn tracked(record: &Record) -> Vec<&Entry> {
    let inventory = record.inventory().iter().map(|r| &r.entry);
    let pending = record.pending.objects().iter().map(|o| &o.entry);
    let kept = record.kept.objects.iter().map(|o| &o.entry);
    inventory.chain(pending).chain(kept).collect()
}

fn outcome(entry: &Entry) -> ObjectOutcome {
    ObjectOutcome {
        identity: entry.identity.clone(),
        version: entry.version.clone(),
        component: entry.component.clone(),
        action: Action::Kept,
        reason: Some("it is no longer tracked".to_owned()),
    }
}
