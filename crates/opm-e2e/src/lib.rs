//! The scenarios of RFC-0001 and what goes beyond them, told once and run on every kind of
//! cluster, through the built binary. The tests are in `tests/`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "this crate is test code: a scenario fails loudly"
)]

pub mod api;
mod canary;
mod module;
pub mod objects;
mod output;
mod record;
mod run;
mod seed;
mod world;

pub use module::Module;
pub use opm_testkit::relay::{Fault, Moment, RequestFilter, RequestInfo};
pub use opm_testkit::{LateWebhook, Rights, TerminalEnd, TerminalRun, Writes, full, scale};
pub use output::{OpmOutput, RunningOpm};
pub use record::DecodedRecord;
pub use run::{note, on_real, on_sandbox, trying};
pub use seed::{Dice, Seed};
pub use world::{
    CuttableConnection, KillOutcome, Kubectl, Lockstep, RelayedController, RelayedRun, Rounds,
    StruckLine, TestCluster, World, set,
};
