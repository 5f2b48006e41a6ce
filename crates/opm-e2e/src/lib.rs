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
mod ran;
mod record;
mod run;
mod seed;
mod world;

pub use module::Module;
pub use opm_testkit::relay::{Fault, Moment, Seen, When};
pub use opm_testkit::{Rights, Writes, full, scale};
pub use ran::{Ran, Running};
pub use record::RecordSeen;
pub use run::{note, on_real, on_sandbox, trying};
pub use seed::{Dice, Seed};
pub use world::{Killed, Line, Place, RelayedRun, World, set};
