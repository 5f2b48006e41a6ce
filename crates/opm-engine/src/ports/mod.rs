//! What the use cases need from the outside, and nothing more.

mod backend;
mod caller;
mod clock;
mod cluster;
mod permit;
mod renderer;
mod secrets;

pub use backend::Backend;
pub use caller::{AnnouncedHook, Answer, Caller, Events, Frontend, Prompt, Question, Unattended};
pub use clock::{Clock, Instant, Timestamp};
pub use cluster::{
    ApplyObject, ApplyResponse, Cluster, Collection, CollectionLabel, DeleteObject, DeleteOutcome,
    Detail, DisownObject, ListedCollection, MoveFields, PodLog, Precondition, PretendedPatch,
    Propagation, ServedKind, ServedKinds, WantedObject, WatchEvent,
};
pub use opm_core::api_error::{ApiError, ApiErrorKind, Cause, Stopped};
pub use opm_core::observation::Observation;
pub use permit::{Doubt, Fence, Permit};
pub use renderer::{RenderFailure, RenderRequest, Renderer};
pub use secrets::{
    RemoveOutcome, SecretContent, SecretStore, SecretVersion, StoredSecret, WriteOutcome,
};
