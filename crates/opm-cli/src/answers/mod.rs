//! What commands answer: for each, the table for people beside what it says of a failure. The
//! documents for scripts are the engine's own.

pub(crate) mod comparison;
pub(crate) mod diff;
mod failure;
pub(crate) mod history;
pub(crate) mod list;
mod log;
mod remedy;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod watch;

pub(crate) use failure::failed;
