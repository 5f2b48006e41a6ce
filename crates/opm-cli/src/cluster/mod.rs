//! One command's session with a cluster.

mod actor;
mod connect;
mod progress;
mod prompt;
mod session;

pub(crate) use progress::Progress;
pub(crate) use session::Session;
