//! Removing the record of a release that is gone, and the Secrets beside it first: as long as the
//! record is there, a removal that was cut short can be done again.

use opm_core::record::moved::missing;

use super::{LockGuard, RecordSecret, RecordSecretScope, WriteError};
use crate::ports::ApiError;
use crate::run::Run;

impl Run<'_> {
    /// Removes the record Secrets, then the record itself, and the lock with it.
    pub(crate) async fn remove_record(&self, guard: &LockGuard) -> Result<(), WriteError> {
        self.remove_record_secrets(guard, None).await?;
        self.remove(guard).await
    }

    /// Removes the record Secrets, which may have been looked for already.
    ///
    /// A record whose parts are gone could not be read any more, and hooks whose manifests are
    /// gone could not be run by the next delete. Such a record stops naming them first: there is
    /// nothing left that they could be needed for.
    pub(crate) async fn remove_record_secrets(
        &self,
        guard: &LockGuard,
        beside: Option<Vec<RecordSecret>>,
    ) -> Result<(), WriteError> {
        let record = guard.record().await;
        let has_parts = !missing(&record).is_empty();
        let existing = self.secrets_beside(guard, beside).await?;
        let has_hooks = record
            .current()
            .is_some_and(|change| !change.hooks.is_empty());
        let nothing = record.emptied();
        if has_parts || has_hooks {
            self.write(guard, nothing.clone()).await?;
        }
        let permit = self.permit_under(guard);
        let swept = self.sweep(&guard.release, &existing, &nothing, permit);
        Ok(swept.await?)
    }

    /// The record Secrets that exist, which may have been looked for already.
    pub(super) async fn secrets_beside(
        &self,
        guard: &LockGuard,
        beside: Option<Vec<RecordSecret>>,
    ) -> Result<Vec<RecordSecret>, ApiError> {
        let record = guard.record().await;
        // Parts may have been written anew since.
        match beside.filter(|_| missing(&record).is_empty()) {
            Some(beside) => Ok(beside),
            None => {
                let scope = RecordSecretScope::All;
                self.record_secrets(&guard.release, &record, scope).await
            }
        }
    }
}
