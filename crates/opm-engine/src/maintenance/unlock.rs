//! `unlock`: removes the lock of a holder that is dead. What it had begun stays pending.

use std::time::Duration;

use opm_core::identity::Identity;
use opm_core::record::LogResult;

use super::{no_release, unwritten};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Answer, Clock, Cluster, Frontend, Question, SecretStore};
use crate::record::holder;
use crate::report::Report;
use crate::request::UnlockRequest;
use crate::run::{kept, pending};

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Removes the lock of a dead holder, after showing it. A lock that is still renewed is not
    /// touched.
    pub async fn unlock(
        &self,
        request: &UnlockRequest,
        frontend: Frontend<'_>,
    ) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let mut report = Report {
            release: Some(release.clone()),
            ..Report::default()
        };
        let (loaded, mut warnings) = self.load(&release).await?;
        let Some(loaded) = loaded else {
            return Err(no_release(
                release.name.as_str(),
                release.namespace.as_str(),
            ));
        };
        let Some(lock) = loaded.record.lock else {
            warnings.push("the release is not locked".to_owned());
            report.warnings = warnings;
            return Ok(report);
        };
        let holder = holder(&lock);
        confirm(&holder, frontend)
            .await
            .map_err(|failure| failure.after(report.clone()))?;
        // Whether its holder is really dead is for the lock's age to say.
        let (loaded, acquisition, _) = self.turn_of(&release, Duration::ZERO, frontend).await?;
        let nothing = |_: &Identity| false;
        let checked = self
            .plan_maintenance(&release, &loaded.record, nothing)
            .await?;
        let begun = self.begin_maintenance(&release, &loaded, acquisition, checked, "unlock");
        let Some((applied, guard)) = begun.await? else {
            return Err(Failure::overtaken(&release.name).after(report));
        };
        let reconciled = applied.reconcile(&Default::default(), self.server_now());
        let record = reconciled.release(&self.ended(LogResult::Succeeded, None, &[]));
        warnings.push(format!("removed the lock of {holder}"));
        report.warnings = warnings;
        report.pending = pending(&record);
        report.kept = kept(&record);
        match self.write(&guard, record).await {
            Ok(()) => Ok(report),
            Err(error) => Err(unwritten(error, report)),
        }
    }
}

async fn confirm(holder: &str, frontend: Frontend<'_>) -> Result<(), Failure> {
    let question = Question::Unlock {
        holder: holder.to_owned(),
    };
    match frontend.prompt.ask(&question).await {
        Answer::Yes => Ok(()),
        Answer::No => {
            let message = "declined: the lock stays";
            Err(Failure::new(FailureKind::Refused, message))
        }
        Answer::CannotAsk => {
            let message = format!("removing the lock of {holder} has to be confirmed");
            Err(Failure::new(FailureKind::Refused, message).hint("--yes confirms it"))
        }
    }
}
