//! A real control plane, faults and observations for tests.
//!
//! [`ControlPlane::shared`] is where a test begins; `docs/testing.md` shows the rest. Nothing here
//! is part of the product, and nothing here knows how the product works inside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "this crate is only ever linked into tests and chores, which say what they expect"
)]

mod admission;
mod audit;
pub mod browser;
mod cargo;
pub mod charts;
pub mod compatibility;
pub mod hostile;
mod keys;
mod kubeconfig;
mod namespace;
mod opm;
mod plane;
pub mod programs;
mod reaper;
pub mod relay;
mod release;
mod services;
mod skip;
mod snapshot;
mod sources;
mod terminal;
mod tier;
mod user;
mod wait;
mod webhook;
pub mod workload;

pub use admission::{Rule, Writes};
pub use audit::{Audit, Mark, Requests, tally};
pub use namespace::{TEST_LABEL, TestNamespace};
pub use opm::{CommandOutput, Opm, RunningCommand, Target, opm_binary};
pub use plane::{ApiServer, ControlPlane, PlaneError, Stop, stop};
#[doc(hidden)]
pub use plane::{supervise, sweep};
pub use reaper::Leftover;
pub use release::StoredRelease;
pub use services::ServiceCall;
pub use skip::{browser_required, cluster_required, skip, skip_without};
pub use snapshot::Snapshot;
pub use sources::{FetchError, GoModule};
pub use terminal::{TerminalEnd, TerminalRun};
pub use tier::{Tier, full, scale};
pub use user::{Rights, User};
pub use wait::{HANG, eventually, unless_it_hangs, until};
pub use webhook::LateWebhook;
