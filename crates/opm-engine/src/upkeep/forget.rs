//! `forget`: stops tracking objects, wherever the record has them. Deletes nothing.
//!
//! Forgotten means neither recorded nor labelled. The labels go first: cut short in between, the
//! record still names the object, and forgetting it again goes on.

use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::record::{LogResult, Record};

use super::{ATTEMPTS, lost, nothing_named, unmatched, unwritten};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Audience, Clock, Cluster, ErrorKind, SecretStore};
use crate::report::{Action, Outcome, Release, Report};
use crate::request::ForgetRequest;
use crate::run::{kept, pending};

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Stops tracking objects.
    pub async fn forget(
        &self,
        request: &ForgetRequest,
        audience: Audience<'_>,
    ) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        for _ in 0..ATTEMPTS {
            let patience = request.lock_timeout;
            let (loaded, opening, warnings) = self.turn_of(&release, patience, audience).await?;
            let tracked: Vec<&Identity> = tracked(&loaded.record)
                .into_iter()
                .map(|entry| &entry.identity)
                .collect();
            unmatched(&request.objects, &tracked)
                .map_err(|names| nothing_named("tracked object", &names))?;
            let nothing = |_: &Identity| false;
            let checked = self.plan_upkeep(&release, &loaded.record, nothing).await?;
            let begun = self.begin_upkeep(&release, &loaded, opening, checked, "forget");
            let Some((applied, holding)) = begun.await? else {
                continue;
            };
            let matches = |identity: &Identity| request.objects.iter().any(|s| s.matches(identity));
            let parted = self.while_renewing(
                &holding,
                self.part_from_all(&release, &loaded.record, matches),
            );
            let Parted {
                failed,
                warnings: more,
            } = parted.await;
            let settled = applied.settle(&Default::default(), self.server_now());
            let (result, reason) = match failed.is_empty() {
                true => (LogResult::Succeeded, None),
                false => (
                    LogResult::Failed,
                    Some("not everything could be forgotten".to_owned()),
                ),
            };
            let mut record = settled.release(&self.ended(result, reason, &failed));
            let still = |identity: &Identity| failed.iter().any(|one| one.identity == *identity);
            let forgotten = record.forget(|identity| matches(identity) && !still(identity));
            let resources = forgotten.iter().map(outcome).chain(failed.iter().cloned());
            let mut report = Report {
                release: Some(release.clone()),
                resources: resources.collect(),
                pending: pending(&record),
                kept: kept(&record),
                warnings: warnings.into_iter().chain(more).collect(),
                ..Report::default()
            };
            return match self.write_and_sweep(&holding, record).await {
                Ok(()) => {
                    report.warnings.extend(holding.take_notes().await);
                    match failed.is_empty() {
                        true => Ok(report),
                        false => Err(not_forgotten(failed, report)),
                    }
                }
                Err(error) => Err(unwritten(error, report)),
            };
        }
        Err(lost(&release))
    }

    /// Takes the release's labels off everything that is to be forgotten.
    async fn part_from_all(
        &self,
        release: &Release,
        record: &Record,
        matches: impl Fn(&Identity) -> bool,
    ) -> Parted {
        let mut parted = Parted::default();
        for entry in tracked(record).into_iter().filter(|e| matches(&e.identity)) {
            let uid = entry.uid.as_deref();
            match self.part_from(&entry.identity, uid, &release.id).await {
                Ok(()) => {}
                Err(error) if error.kind == ErrorKind::Forbidden => parted.warnings.push(format!(
                    "{} is not tracked any more, but its labels may not be removed: as long as it \
                     carries them, it counts as this release's: {error}",
                    entry.identity
                )),
                Err(error) => parted.failed.push(Outcome {
                    action: Action::Failed,
                    reason: Some(format!("its labels could not be removed: {error}")),
                    ..outcome(entry)
                }),
            }
        }
        parted
    }
}

/// What became of the labels.
#[derive(Default)]
struct Parted {
    failed: Vec<Outcome>,
    warnings: Vec<String>,
}

fn not_forgotten(failed: Vec<Outcome>, report: Report) -> Failure {
    let message = format!("{} objects could not be forgotten", failed.len());
    let mut failure = Failure::new(FailureKind::Failed, message);
    for object in failed {
        failure = failure.object(object.identity, object.reason.unwrap_or_default());
    }
    failure.after(report)
}

fn tracked(record: &Record) -> Vec<&Entry> {
    let inventory = record.inventory().iter().map(|r| &r.entry);
    let pending = record.pending.objects().iter().map(|o| &o.entry);
    let kept = record.kept.objects.iter().map(|o| &o.entry);
    inventory.chain(pending).chain(kept).collect()
}

fn outcome(entry: &Entry) -> Outcome {
    Outcome {
        identity: entry.identity.clone(),
        version: entry.version.clone(),
        component: entry.component.clone(),
        action: Action::Kept,
        reason: Some("it is no longer tracked".to_owned()),
    }
}
