//! How a record is written so that no object is ever forgotten: the protocol, without the I/O.
//!
//! ```text
//! load → plan → check ─▶ begin ─▶ Locked ─▶ finish ─▶ Applied ─▶ reconcile ─▶ Reconciled ─▶ record
//!                                               └───▶ Partial ─▶ release
//! ```
//!
//! Each step consumes the one before it, so that pruning or recording after a partial apply
//! cannot be written. Every step that changes the record hands it back to be written; whoever
//! writes it sends its resourceVersion along, and losing that race means starting over from
//! load. Times are the server's.

mod begin;
mod conclude;
mod ledger;
mod lock;
mod reconcile;

pub use begin::{
    BeginError, Deployed, Locked, RunStart, begin, is_idle, log_not_ready, log_refusal,
};
pub use conclude::{Conclusion, NewChange, Recorded, Released, Resume, RunEnd};
pub use lock::{
    Deadline, ExpiredLock, LockAcquisition, LockAge, LockObservation, LockState, Timing,
    is_settled, renewed, still_held,
};
pub use reconcile::{Applied, Partial, PruneOutcome, Reconciled, SendOutcome};
