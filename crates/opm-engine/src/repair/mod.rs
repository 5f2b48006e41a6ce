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

use crate::failure::{Failure, Remedy};
use crate::observe::AllKinds;
use crate::ports::{Answer, Question, StoredSecret};
use crate::record::{Attempt, Reading, RecordAccess, RecordWriter, WritableRecord};
use crate::report::{Release, TrackedObject};
use crate::request::RepairRequest;
use crate::run::Run;

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
    /// Whether nobody can tell which of the changes is current, so that none is.
    pub undetermined: bool,
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

impl Run<'_> {
    /// Rebuilds a release's record, after showing what it found.
    pub(crate) async fn repair(&self, request: &RepairRequest) -> Result<RepairReport, Failure> {
        let served = self.discover_all().await?;
        let release = self.find_lost(request, &served).await?;
        let mut repair = Repair {
            run: self,
            request,
            release: release.clone(),
            served,
            confirmed: false,
        };
        self.write_release(&release, request.lock_timeout, &mut repair)
            .await
    }
}

struct Repair<'a> {
    run: &'a Run<'a>,
    request: &'a RepairRequest,
    release: Release,
    served: AllKinds,
    confirmed: bool,
}

impl RecordWriter for Repair<'_> {
    type Output = RepairReport;
    const READING: Reading = Reading::LockOnly;

    fn access(&self) -> RecordAccess {
        RecordAccess::to_change(self.request.dry_run)
    }

    async fn attempt(&mut self, record: WritableRecord) -> Result<Attempt<RepairReport>, Failure> {
        let (run, release) = (self.run, &self.release);
        let stored = record.loaded.as_ref().map(|loaded| &loaded.stored);
        let (repaired, warnings) = run.repaired(release, stored, &self.served).await?;
        let mut report = self.report(stored, &repaired);
        report.warnings.extend(record.warnings.iter().cloned());
        report.warnings.extend(warnings);
        if !report.needed || self.request.dry_run {
            return Ok(Attempt::Done(report));
        }
        if !self.confirmed {
            self.confirm(&report).await?;
            self.confirmed = true;
        }
        let warnings = &mut report.warnings;
        let written = run.write_repaired(release, record, repaired, warnings);
        let Some(record) = written.await? else {
            return Ok(Attempt::Again);
        };
        report.pending = TrackedObject::all_pending(&record);
        report.kept = TrackedObject::all_kept(&record);
        report.warnings.extend(run.backend.take_warnings());
        Ok(Attempt::Done(report))
    }
}

impl Repair<'_> {
    fn report(&self, stored: Option<&StoredSecret>, repaired: &Repaired) -> RepairReport {
        let faults = stored.map(write::faults).unwrap_or_default();
        let needed = repaired.changed || !faults.is_empty();
        RepairReport {
            release: self.release.clone(),
            dry_run: self.request.dry_run,
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
            undetermined: repaired.undetermined,
            objects: repaired.taken.clone(),
            foreign: repaired.foreign.clone(),
            pending: TrackedObject::all_pending(&repaired.record),
            kept: TrackedObject::all_kept(&repaired.record),
            warnings: Vec::new(),
        }
    }

    async fn confirm(&self, report: &RepairReport) -> Result<(), Failure> {
        let release = &report.release.name;
        let question = Question::Repair(Box::new(report.clone()));
        match self.run.confirm(&question).await? {
            Answer::Yes => Ok(()),
            Answer::No => Err(Failure::refused("declined: the record stays as it is")),
            Answer::CannotAsk => {
                let message =
                    format!("repairing the record of release {release} has to be confirmed");
                Err(Failure::refused(message).remedy(Remedy::ConfirmOrDryRun))
            }
        }
    }
}
