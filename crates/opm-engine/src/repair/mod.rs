//! `repair`: a record that was deleted, emptied or damaged is put together again from what can
//! still be read of it, from the record Secrets, and from the labels of objects.
//!
//! What is certain and what is not is `opm-core`'s to say. Here is the way: find the release
//! though its record is gone, wait for its lock, gather, show, ask, and write under the lock.

mod bring_back;
mod evidence;
mod find;
mod kept_changes;
mod write;

use opm_core::identity::Identity;
use opm_core::record::Finding;
use opm_core::repair::{FoundObject, RecoveredChange, Repaired};

use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Answer, Clock, Cluster, Frontend, Question, SecretStore, StoredSecret};
use crate::report::{Release, TrackedObject};
use crate::request::RepairRequest;
use crate::run::{kept, pending};

/// How often everything starts over because somebody else wrote the record first.
const ATTEMPTS: usize = 5;

/// How the release's Secret was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretState {
    /// It is as it should be.
    Whole,
    /// It does not exist.
    Missing,
    /// Something in it cannot be read, or is not as it should be.
    Damaged,
}

/// What a repair found, and what it wrote or would write.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairReport {
    /// The release.
    pub release: Release,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// How the release's Secret was found.
    pub secret: SecretState,
    /// Whether there is anything to repair.
    pub needed: bool,
    /// What is wrong with the Secret itself, in words.
    pub faults: Vec<String>,
    /// What is wrong with its keys.
    pub findings: Vec<Finding>,
    /// The changes of the history, newest first.
    pub changes: Vec<RecoveredChange>,
    /// Changes that nothing can bring back.
    pub lost: Vec<String>,
    /// Objects that the record knows from now on.
    pub objects: Vec<FoundObject>,
    /// Objects that a recovered change names and that are not this release's.
    pub foreign: Vec<Identity>,
    /// Objects that are to be cleaned up, or taken up again, by the next apply.
    pub pending: Vec<TrackedObject>,
    /// Objects that are left standing on purpose.
    pub kept: Vec<TrackedObject>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Rebuilds a release's record, after showing what it found.
    pub async fn repair(
        &self,
        request: &RepairRequest,
        frontend: Frontend<'_>,
    ) -> Result<RepairReport, Failure> {
        let served = self.discover().await?;
        let release = self.find_lost(request, &served).await?;
        let mut confirmed = false;
        for _ in 0..ATTEMPTS {
            let turn = self.turn_for_repair(&release, request, frontend).await?;
            let (repaired, warnings) = self.repaired(&release, &turn, &served).await?;
            let stored = turn.loaded.as_ref().map(|loaded| &loaded.stored);
            let mut report = self.told(&release, stored, &repaired, request);
            report.warnings.extend(turn.warnings.iter().cloned());
            report.warnings.extend(warnings);
            if !report.needed || request.dry_run {
                return Ok(report);
            }
            if !confirmed {
                confirm(&report, frontend).await?;
                confirmed = true;
            }
            let warnings = &mut report.warnings;
            let written = self.write_repaired(&release, turn, repaired, warnings);
            if let Some(record) = written.await? {
                report.pending = pending(&record);
                report.kept = kept(&record);
                report.warnings.extend(self.cluster.take_warnings());
                return Ok(report);
            }
        }
        Err(Failure::overtaken(&release.name))
    }

    fn told(
        &self,
        release: &Release,
        stored: Option<&StoredSecret>,
        repaired: &Repaired,
        request: &RepairRequest,
    ) -> RepairReport {
        let faults = stored.map(write::faults).unwrap_or_default();
        let needed = repaired.changed || !faults.is_empty();
        RepairReport {
            release: release.clone(),
            dry_run: request.dry_run,
            secret: match stored {
                None => SecretState::Missing,
                Some(_) if repaired.findings.is_empty() && faults.is_empty() => SecretState::Whole,
                Some(_) => SecretState::Damaged,
            },
            needed,
            faults,
            findings: repaired.findings.clone(),
            changes: repaired.changes.clone(),
            lost: repaired.lost.clone(),
            objects: repaired.taken.clone(),
            foreign: repaired.foreign.clone(),
            pending: pending(&repaired.record),
            kept: kept(&repaired.record),
            warnings: Vec::new(),
        }
    }
}

async fn confirm(report: &RepairReport, frontend: Frontend<'_>) -> Result<(), Failure> {
    let release = &report.release.name;
    let question = Question::Repair(Box::new(report.clone()));
    match frontend.prompt.ask(&question).await {
        Answer::Yes => Ok(()),
        Answer::No => {
            let message = "declined: the record stays as it is";
            Err(Failure::new(FailureKind::Refused, message))
        }
        Answer::CannotAsk => {
            let message = format!("repairing the record of release {release} has to be confirmed");
            Err(Failure::new(FailureKind::Refused, message)
                .hint("--yes confirms it; --dry-run shows what it would write"))
        }
    }
}
