//! Acting on a cluster: what every command does that goes beyond this machine.

mod actor;
mod connect;
pub(crate) mod difference;
mod observer;
mod progress;
mod prompt;
mod repair;
pub(crate) mod report;
mod session;
mod status;

pub(crate) use session::{Session, run};
