//! Writing a repaired record, under the lock.

use std::collections::HashMap;

use opm_core::identity::Identity;
use opm_core::record::size::Records;
use opm_core::record::{LogResult, RELEASE_TYPE, Record};
use opm_core::repair::Repaired;

use crate::failure::Failure;
use crate::ports::{RemoveOutcome, StoredSecret};
use crate::record::{Beginning, LockedRun, RecordSecretScope, WritableRecord, unswept};
use crate::report::Release;
use crate::run::Run;

/// What is wrong with a Secret as such, and cannot be changed in place.
pub(super) fn faults(stored: &StoredSecret) -> Vec<String> {
    let mut faults = Vec::new();
    if stored.content.immutable {
        faults.push("it is marked immutable, so nothing can be written into it".to_owned());
    }
    if stored.content.secret_type != RELEASE_TYPE {
        faults.push(format!(
            "its type is {:?} and not {RELEASE_TYPE:?}",
            stored.content.secret_type
        ));
    }
    faults
}

impl Run<'_> {
    /// Writes the record with this run's lock in it, then without. None if somebody else wrote
    /// it meanwhile.
    pub(super) async fn write_repaired(
        &self,
        release: &Release,
        record: WritableRecord,
        repaired: Repaired,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Record>, Failure> {
        let WritableRecord {
            loaded,
            acquisition,
            ..
        } = record;
        let mut record = repaired.record;
        record.lock = loaded
            .as_ref()
            .and_then(|loaded| loaded.record.lock.clone());
        let nothing = |_: &Identity| false;
        let checked = self.plan_maintenance(release, &record, nothing).await?;
        let start = self.start("repair", None, None, None).await;
        let stored = match loaded.map(|loaded| loaded.stored) {
            Some(stored) if !faults(&stored).is_empty() => match self.make_way(&stored).await? {
                RemoveOutcome::Gone => None,
                RemoveOutcome::Lost => return Ok(None),
            },
            stored => stored,
        };
        let beginning = Beginning {
            record,
            stored,
            acquisition,
            checked,
            start,
            records: Records::Used,
        };
        let Some(LockedRun { locked, guard }) = self.begin(release, beginning).await? else {
            return Ok(None);
        };
        let Ok(applied) = locked.finish(&HashMap::new()) else {
            return Ok(None);
        };
        let reconciled = applied.reconcile(&HashMap::new(), self.server_now());
        let released = reconciled.release(&self.ended(LogResult::Succeeded, None, &[]));
        let record = released.into_record();
        let written = self.write(&guard, record.clone()).await;
        written.map_err(|error| {
            let what = "the repaired record is written, but its lock could not be released";
            Failure::unwritten(error, what).remedy("the lock expires by itself")
        })?;
        let stored = guard.record().await;
        self.sweep_after_repair(release, &stored, warnings).await;
        Ok(Some(record))
    }

    /// Record Secrets that the repaired record does not name belonged to the lost one.
    async fn sweep_after_repair(
        &self,
        release: &Release,
        stored: &Record,
        warnings: &mut Vec<String>,
    ) {
        let swept = match self
            .record_secrets(release, stored, RecordSecretScope::All)
            .await
        {
            Ok(existing) => self.sweep(release, &existing, stored, self.permit()).await,
            Err(error) => Err(error),
        };
        warnings.extend(swept.err().map(|error| unswept(&error)));
    }

    /// A type cannot be changed, and an immutable Secret not at all: it goes, and the repaired
    /// one comes in its place. A crash in between leaves what every repair can start from.
    async fn make_way(&self, stored: &StoredSecret) -> Result<RemoveOutcome, Failure> {
        let content = &stored.content;
        let removed = self
            .backend
            .remove_secret(
                &content.namespace,
                &content.name,
                &stored.uid,
                Some(&stored.resource_version),
                self.permit(),
            )
            .await;
        removed.map_err(|error| {
            let what = format!("cannot replace Secret/{}", content.name);
            Failure::before_writing(&what, &error)
        })
    }
}
