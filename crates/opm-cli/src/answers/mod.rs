//! What commands answer: for each, the table for people beside what it says of a failure. The
//! documents for scripts are the engine's own.

pub(crate) mod below;
pub(crate) mod comparison;
pub(crate) mod diff;
mod failure;
pub(crate) mod history;
pub(crate) mod list;
mod log;
mod missing_rules;
mod remedy;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod watch;

pub(crate) use failure::failed;
pub(crate) use remedy::hints;

use opm_cluster::SystemClock;
use opm_core::ids::ChangeId;
use opm_core::time::Timestamp;
use opm_engine::Remedy;
use opm_engine::ports::Clock as _;

use crate::ui::Ui;

/// A change's digits, by which every command takes it.
fn short(change: &str) -> &str {
    change.strip_prefix(ChangeId::PREFIX).unwrap_or(change)
}

/// What time it is here.
fn now() -> Timestamp {
    SystemClock::default().wall()
}

/// Says what the user should know, and what to do about it.
fn told(ui: &Ui, warnings: &[String], remedies: &[Remedy]) {
    for warning in warnings {
        ui.warn(warning);
    }
    for remedy in remedies {
        ui.hint(&remedy::words(remedy));
    }
}
