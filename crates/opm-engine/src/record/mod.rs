//! A release's record in the cluster: finding it, holding its lock, and writing it.
//!
//! What is in it, and what it should say next, is `opm-core`'s; this is only the way there and
//! back.

mod applied;
mod attempts;
mod begin;
mod lock_guard;
mod log;
mod lookup;
mod managed;
mod manifests;
mod payload;
mod read_back;
mod read_record;
mod remove;
mod ring;
mod secret;
mod spill;
mod unpack;
mod wait_for_lock;

pub(crate) use applied::StoredNotes;
pub(crate) use attempts::{Attempt, NoRecord, Prepared, RecordAccess, RecordWriter, not_let_go};
pub(crate) use begin::{Beginning, LockedRun};
pub(crate) use lock_guard::{LockGuard, WriteError};
pub(crate) use log::FreeRecord;
pub(crate) use lookup::{LoadedRecord, named_by_secret, release_of_secret};
pub(crate) use manifests::KeptChange;
pub(crate) use payload::{CHANGE_ANNOTATION, CHANGE_KEY, FAILED_ANNOTATION, LOG_KEY};
pub use read_back::ManifestsError;
pub(crate) use read_back::held;
pub(crate) use read_record::{ReadRecord, RecordLookup};
pub(crate) use ring::{RecordSecret, RecordSecretScope, unswept};
pub(crate) use secret::{check_writable, parts};
pub(crate) use unpack::{PayloadFormat, UnpackBudget, unpack};
pub(crate) use wait_for_lock::{Reading, WritableRecord, held_by, holder};

#[cfg(test)]
mod tests;
