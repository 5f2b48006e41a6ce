//! The use cases of `opm`, each a straight line of typed steps over a few ports.
//!
//! Nothing here knows how a cluster is reached, how a module is rendered or what time it is:
//! that arrives through [`ports`]. Nothing here decides what to do with an object either: that
//! is `opm-core`'s.

#![deny(missing_docs)]

mod apply;
mod concurrently;
mod delete;
pub mod diff;
mod document;
pub mod engine;
pub mod failure;
mod history;
pub mod list;
mod maintenance;
mod observe;
pub mod ports;
mod record;
mod removal;
pub mod repair;
pub mod report;
pub mod request;
mod rollback;
mod run;
pub mod status;
mod wait;

pub use document::EventDocument;
pub use engine::{Actor, Engine, Settings, Timing};
pub use failure::{FailedObject, Failure, FailureKind, Remedy};
pub use history::{Comparison, History, HistoryEntry, ShownManifests, ShownObject, ShownValues};
pub use record::ManifestsError;
pub use report::{Action, ObjectOutcome, Release, Report, TrackedObject};
