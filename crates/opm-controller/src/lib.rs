//! Releases as resources of a cluster, reconciled by the same engine as the command.
//!
//! ```text
//! resource     what a `ModuleRelease` looks like       request      what it asks the engine for
//! verdict      what an attempt came to, as conditions  reason       the fixed list of reasons
//! status       how it stands from now on               depends      which releases come first
//! backoff      when to try again                       fingerprint  who touched an object
//! as_resource  a request, as the resource that asks   shards       which replica has which part
//! news         what was told already
//! ```
//! These decide and do nothing else. `run` starts what goes on; `reconcile` is one attempt, with
//! `source` and `apply` in it, `finalize` at the end of a resource's life, and `report` after each;
//! `watches` tells when somebody else has touched an object; `leases` which resources are this
//! replica's; `metrics`, `notices` and `serve` tell how it goes.

#![deny(missing_docs)]

mod apply;
mod as_resource;
mod backoff;
mod context;
mod depends;
pub mod deploy;
mod finalize;
mod fingerprint;
mod leases;
mod metrics;
mod news;
mod notices;
mod reason;
mod reconcile;
mod report;
mod request;
mod resource;
mod run;
mod serve;
mod shards;
mod source;
mod status;
mod verdict;
mod watches;

pub use as_resource::{FilesSource, resource_of};
pub use leases::Sharding;
pub use run::{ControllerError, ControllerLog, ControllerSettings, LogLine, run};
