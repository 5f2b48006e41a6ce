//! `forget`: stops tracking objects, wherever the record has them. Deletes nothing.

use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::record::{LogResult, Record};

use super::{ATTEMPTS, lost, nothing_named, unmatched, unwritten};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::ports::{Audience, Clock, Cluster, SecretStore};
use crate::report::{Action, Outcome, Report};
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
            let tracked = tracked(&loaded.record);
            unmatched(&request.objects, &tracked)
                .map_err(|names| nothing_named("tracked object", &names))?;
            let nothing = |_: &Identity| false;
            let checked = self.plan_upkeep(&release, &loaded.record, nothing).await?;
            let begun = self.begin_upkeep(&release, &loaded, opening, checked, "forget");
            let Some((applied, holding)) = begun.await? else {
                continue;
            };
            let settled = applied.settle(&Default::default(), self.server_now());
            let mut record = settled.release(&self.ended(LogResult::Succeeded, None, &[]));
            let matches = |identity: &Identity| request.objects.iter().any(|s| s.matches(identity));
            let forgotten = record.forget(matches);
            let mut report = Report {
                release: Some(release.clone()),
                resources: forgotten.iter().map(outcome).collect(),
                pending: pending(&record),
                kept: kept(&record),
                warnings,
                ..Report::default()
            };
            return match self.write_and_sweep(&holding, record).await {
                Ok(()) => {
                    report.warnings.extend(holding.take_notes().await);
                    Ok(report)
                }
                Err(error) => Err(unwritten(error, report)),
            };
        }
        Err(lost(&release))
    }
}

fn tracked(record: &Record) -> Vec<&Identity> {
    let inventory = record.inventory().iter().map(|r| &r.entry.identity);
    let pending = record.pending.objects().iter().map(|o| &o.entry.identity);
    let kept = record.kept.objects.iter().map(|o| &o.entry.identity);
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
