//! What the use cases need from the outside, and nothing more.

mod api_error;
mod audience;
mod clock;
mod cluster;
mod gate;
mod renderer;
mod secrets;

pub use api_error::{ApiError, Cause, ErrorKind};
pub use audience::{Answer, Asker, Audience, Events, Question};
pub use clock::{Clock, Instant, Timestamp};
pub use cluster::{
    ApplyMode, ApplyObject, Cluster, DeleteObject, Deleted, Detail, Found, PartObject, Propagation,
    Sent, ServedKind, ServedKinds, WatchEvent,
};
pub use gate::{Gate, Stopped};
pub use renderer::{Renderer, ToRender};
pub use secrets::{
    RemoveOutcome, SecretContent, SecretStore, SecretVersion, StoredSecret, WriteOutcome,
};
