//! Acting on a cluster: what every command does that goes beyond this machine.

mod actor;
mod asker;
mod connect;
mod difference;
mod progress;
mod report;
mod session;

pub(crate) use session::{Session, run};
