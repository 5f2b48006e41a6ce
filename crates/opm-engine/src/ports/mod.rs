//! What the use cases need from the outside, and nothing more.

mod api_error;
mod clock;
mod cluster;
mod frontend;
mod gate;
mod renderer;
mod secrets;

pub use api_error::{ApiError, Cause, ErrorKind};
pub use clock::{Clock, Instant, Timestamp};
pub use cluster::{
    ApplyObject, ApplyResponse, Cluster, DeleteObject, DeleteOutcome, Detail, DisownObject, Found,
    Precondition, Propagation, ServedKind, ServedKinds, WatchEvent,
};
pub use frontend::{Answer, Events, Frontend, Prompt, Question};
pub use gate::{Gate, Stopped};
pub use renderer::{RenderFailure, RenderRequest, Renderer};
pub use secrets::{
    RemoveOutcome, SecretContent, SecretStore, SecretVersion, StoredSecret, WriteOutcome,
};
