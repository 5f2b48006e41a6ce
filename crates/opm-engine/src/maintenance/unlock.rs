//! `unlock`: removes the lock of a holder that is dead. What it had begun stays pending.

use std::collections::HashMap;
use std::time::Duration;

use opm_core::failure::Remedy;
use opm_core::identity::Identity;
use opm_core::protocol::LockAge;
use opm_core::record::LogResult;

use crate::failure::Failure;
use crate::ports::{Answer, Question};
use crate::record::{Attempt, RecordWriter, WritableRecord, held_by, holder};
use crate::report::{Release, Report};
use crate::request::UnlockRequest;
use crate::run::Run;

impl Run<'_> {
    /// Removes the lock of a dead holder, after showing it. Whether its holder is really dead is
    /// for the lock's age to say.
    pub(crate) async fn unlock(&self, request: &UnlockRequest) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let mut report = Report::about(&release);
        let (loaded, warnings) = self.load(&release).await?;
        report.warnings = warnings;
        let Some(loaded) = loaded else {
            return Err(Failure::gone(&release, &report.warnings));
        };
        report.warnings.extend(loaded.warnings);
        let Some(lock) = loaded.record.lock else {
            let warning = "the release is not locked";
            report.warnings.push(warning.to_owned());
            return Ok(report);
        };
        let stored = &loaded.stored;
        let timing = &self.settings.timing;
        let age = LockAge::of(stored.lock_written, stored.server_time, timing);
        let confirmed = self.confirm_unlock(&held_by(&lock, age)).await;
        confirmed.map_err(|failure| failure.after(report.clone()))?;
        let removed = format!("removed the lock of {}", holder(&lock));
        report.warnings.push(removed);
        let mut unlock = Unlock {
            run: self,
            release: release.clone(),
            report,
        };
        let unlocked = self.write_release(&release, Duration::ZERO, &mut unlock);
        unlocked.await.map_err(|mut failure| {
            // A lock that somebody may still hold is waited for by trying again.
            failure.remedies.retain(|one| *one != Remedy::WaitForLock);
            failure
        })
    }

    async fn confirm_unlock(&self, holder: &str) -> Result<(), Failure> {
        let question = Question::Unlock {
            holder: holder.to_owned(),
        };
        match self.confirm(&question).await? {
            Answer::Yes => Ok(()),
            Answer::No => Err(Failure::refused("declined: the lock stays")),
            Answer::CannotAsk => {
                let message = format!("removing the lock of {holder} has to be confirmed");
                Err(Failure::refused(message).remedy(Remedy::Confirm))
            }
        }
    }
}

struct Unlock<'a> {
    run: &'a Run<'a>,
    release: Release,
    report: Report,
}

impl RecordWriter for Unlock<'_> {
    type Output = Report;

    async fn attempt(&mut self, record: WritableRecord) -> Result<Attempt<Report>, Failure> {
        let (run, release) = (self.run, &self.release);
        let Some(loaded) = record.loaded else {
            return Err(Failure::gone(release, &record.warnings));
        };
        let nothing = |_: &Identity| false;
        let checked = run
            .plan_maintenance(release, &loaded.record, nothing)
            .await?;
        let begun = run.begin_maintenance(release, loaded, record.acquisition, checked, "unlock");
        let Some((applied, guard)) = begun.await? else {
            return Ok(Attempt::Again);
        };
        let reconciled = applied.reconcile(&HashMap::new(), run.server_now());
        let left = reconciled.release(&run.ended(LogResult::Succeeded, None, &[]));
        let report = run
            .end_maintenance(&guard, left, self.report.clone())
            .await?;
        Ok(Attempt::Done(report))
    }
}
