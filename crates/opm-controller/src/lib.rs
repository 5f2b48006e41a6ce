//! Releases as resources of a cluster, reconciled by the same engine as the command.
//!
//! ```text
//! resource     what a `ModuleRelease` looks like       request      what it asks the engine for
//! verdict      what an attempt came to, as conditions  reason       the fixed list of reasons
//! status       how it stands from now on               depends      which releases come first
//! backoff      when to try again                       fingerprint  who touched an object
//! as_resource  a request, as the resource that asks for the same
//! ```
//! These decide and do nothing else. `run` starts what goes on; `reconcile` is one attempt, with
//! `source` before it, `finalize` at the end of a resource's life, and `report` after each;
//! `watches` tells when somebody else has touched an object; `metrics` and `serve` tell how it
//! goes.

#![deny(missing_docs)]

mod as_resource;
mod backoff;
mod context;
mod depends;
pub mod deploy;
mod finalize;
mod fingerprint;
mod metrics;
mod reason;
mod reconcile;
mod report;
mod request;
mod resource;
mod run;
mod serve;
mod source;
mod status;
mod verdict;
mod watches;

pub use as_resource::{FilesSource, resource_of};
pub use run::{ControllerError, ControllerLog, ControllerSettings, LogLine, run};
