//! Reading a release's record to show it, never to write it: one that is damaged, or in a format
//! that this version does not know, is told from one that is not there.

use opm_core::record::{
    self, Change, DecodedRecord, Kept, Lock, LogEntry, Metadata, Pending, RecordedEntry, Stored,
};

use super::lookup::set_aside;
use super::payload::PayloadError;
use super::secret::parts;
use super::spill::unreadable;
use crate::failure::Failure;
use crate::ports::StoredSecret;
use crate::report::Release;
use crate::run::Run;

/// What a look at a release's record found.
#[derive(Debug)]
pub(crate) enum RecordLookup {
    /// There is none.
    Absent,
    /// There is one that cannot be read.
    Damaged {
        /// The Secret's name.
        secret: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is one.
    Seen(Box<ReadRecord>),
}

/// A record that can be read.
#[derive(Debug)]
pub(crate) struct ReadRecord {
    pub(crate) secret: StoredSecret,
    pub(crate) stored: Stored,
}

impl ReadRecord {
    pub(crate) fn metadata(&self) -> &Metadata {
        &self.stored.shown().metadata
    }

    /// The changes that can be read, newest first.
    pub(crate) fn changes(&self) -> Vec<&Change> {
        self.stored.shown().changes().collect()
    }

    /// The entries of the current change; none while the release is deleted.
    pub(crate) fn inventory(&self) -> &[RecordedEntry] {
        self.stored.shown().inventory()
    }

    pub(crate) fn pending(&self) -> &Pending {
        &self.stored.shown().pending
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.stored.shown().kept
    }

    /// Deployments, newest first.
    pub(crate) fn log(&self) -> &[LogEntry] {
        &self.stored.shown().log
    }

    pub(crate) fn lock(&self) -> Option<&Lock> {
        self.stored.shown().lock.as_ref()
    }
}

impl Run<'_> {
    /// The record of a release, to be shown, and warnings.
    pub(crate) async fn look_up_record(
        &self,
        release: &Release,
    ) -> Result<(RecordLookup, Vec<String>), Failure> {
        let (secret, mut warnings) = self.stored(release).await?;
        let Some(secret) = secret else {
            return Ok((RecordLookup::Absent, warnings));
        };
        let (look_up_record, more) = self.read_record(release, secret).await?;
        warnings.extend(more);
        Ok((look_up_record, warnings))
    }

    /// The record in a Secret, with what of it has moved elsewhere, and warnings.
    pub(crate) async fn read_record(
        &self,
        release: &Release,
        secret: StoredSecret,
    ) -> Result<(RecordLookup, Vec<String>), Failure> {
        let name = secret.content.name.clone();
        let damaged = |why: String| RecordLookup::Damaged {
            secret: name.clone(),
            why,
        };
        let DecodedRecord { stored, findings } = match record::decode(&parts(&secret.content)) {
            Ok(decoded) => decoded,
            Err(error) => return Ok((damaged(error.to_string()), Vec::new())),
        };
        let mut warnings: Vec<String> = findings
            .iter()
            .map(|finding| format!("Secret/{name}: {finding}"))
            .collect();
        let stored = match stored {
            Stored::Writable(record) => match self.bodies(release, record).await {
                Ok(record) => {
                    warnings.extend(set_aside(&secret, &record));
                    Stored::Writable(record)
                }
                Err(error @ PayloadError::Api(_)) => return Err(unreadable(release, &error)),
                Err(error) => {
                    let why = format!("the release's record is damaged: {error}");
                    return Ok((damaged(why), warnings));
                }
            },
            Stored::ReadOnly(newer) => {
                warnings.push(format!(
                    "Secret/{name} was written by another version of opm ({}, kind {}): it is \
                     shown as far as it can be read",
                    newer.api_version(),
                    newer.kind()
                ));
                Stored::ReadOnly(newer)
            }
        };
        Ok((
            RecordLookup::Seen(Box::new(ReadRecord { secret, stored })),
            warnings,
        ))
    }
}
