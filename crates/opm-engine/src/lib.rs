//! The use cases of `opm`, each a straight line of typed steps over a few ports.
//!
//! Nothing here knows how a cluster is reached, how a module is rendered or what time it is:
//! that arrives through [`ports`]. Nothing here decides what to do with an object either: that
//! is `opm-core`'s.
//!
//! # Who calls
//!
//! An [`Engine`] is shared by any number of callers. Each call takes a request from [`request`],
//! which is plain data, and a [`Caller`](ports::Caller): who watches, who answers questions, what
//! stops the call, and as whom it acts.
//!
//! ```
//! use opm_engine::ports::{Answer, Caller, Frontend, Prompt, Question, Unattended};
//!
//! /// Agrees to everything.
//! struct Agree;
//!
//! impl Prompt for Agree {
//!     fn ask<'a>(&'a self, _: &'a Question) -> futures::future::BoxFuture<'a, Answer> {
//!         Box::pin(async { Answer::Yes })
//!     }
//! }
//!
//! let unattended = Caller::default();
//! let caller = Caller {
//!     frontend: Frontend { events: &Unattended, prompt: &Agree },
//!     act_as: Some("alice".to_owned()),
//!     ..Caller::default()
//! };
//! caller.cancel.cancel();
//! assert!(!unattended.cancel.is_cancelled(), "each call has its own");
//! ```
//!
//! # What is asked for
//!
//! Requests have the defaults of the command line. [`ApplyRequest`](request::ApplyRequest) takes
//! a rendered module, from `opm-render` or built from objects:
//!
//! ```
//! use opm_core::manifest::Manifest;
//! use opm_core::name::{ComponentName, ModuleName, NamespaceName, ReleaseName};
//! use opm_core::rendered::{Component, Module, Rendered};
//! use opm_engine::request::ApplyRequest;
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let name = ModuleName::new("greeting")?;
//! let manifest = Manifest::parse(json!({
//!     "apiVersion": "v1",
//!     "kind": "ConfigMap",
//!     "metadata": {"name": "greeting"},
//!     "data": {"text": "hello"},
//! }))?;
//! let component = Component::new(ComponentName::new("main")?, vec![manifest]);
//! let rendered = Rendered::new(Module::local(name), vec![component]);
//! let release = ReleaseName::new("greeting")?;
//! let mut request = ApplyRequest::new(rendered, release, NamespaceName::new("default")?);
//! assert_eq!(request.options.max_history, 10);
//! request.options.wait = true;
//! # Ok(())
//! # }
//! ```
//!
//! # What it works on
//!
//! A [`Backend`](ports::Backend) is a cluster, the store of its releases' records, and the
//! clocks. `opm_cluster::ClusterClient` is one; code that is generic over it can be tried on
//! another.
//!
//! ```
//! use opm_engine::ports::{Backend, Caller};
//! use opm_engine::request::ListRequest;
//! use opm_engine::{Engine, Failure};
//!
//! async fn count(engine: &Engine, request: &ListRequest) -> Result<usize, Failure> {
//!     let listing = engine.list(request, &Caller::default()).await?;
//!     Ok(listing.releases.len())
//! }
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use opm_cluster::{ClusterClient, KubeClient};
//! # use opm_core::name::NamespaceName;
//! # use opm_engine::{Actor, Settings};
//! # let directory = tempfile::tempdir()?;
//! # let sandbox = opm_sandbox::Sandbox::open(directory.path())?;
//!
//! let cluster = ClusterClient::from_client(KubeClient::new(sandbox, "default"));
//! let engine = Engine::new(cluster, Settings::of(Actor::named("me")));
//! let everywhere = ListRequest {
//!     namespace: None,
//!     home: NamespaceName::new("default")?,
//!     health: false,
//!     deleted: false,
//! };
//! assert_eq!(count(&engine, &everywhere).await?, 0);
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

mod actor;
mod apply;
mod concurrently;
mod delete;
pub mod diff;
mod document;
pub mod engine;
pub mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod global_features;
mod history;
mod hooks;
pub mod list;
mod maintenance;
mod observe;
pub mod ports;
mod record;
mod removal;
pub mod repair;
pub mod report;
pub mod request;
mod rollback;
mod run;
pub mod status;
mod wait;

pub use actor::Actor;
pub use engine::{Engine, Settings, Timing};
pub use failure::{FailedObject, Failure, FailureKind, Remedy};
pub use history::{Comparison, History, HistoryEntry, ShownManifests, ShownObject, ShownValues};
pub use record::ManifestsError;
pub use report::{Action, LastDeployment, ObjectOutcome, Release, Report, TrackedObject};
