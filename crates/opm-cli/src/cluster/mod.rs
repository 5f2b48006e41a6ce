//! One command's session with a cluster.

mod actor;
mod connect;
mod looked_at;
mod progress;
mod prompt;
mod session;

pub(crate) use connect::connect;
pub(crate) use looked_at::LookedAt;
pub(crate) use progress::{Progress, busy};
pub(crate) use session::{Session, engine_settings};
