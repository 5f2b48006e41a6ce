//! The engine's ports over a Kubernetes API, by way of `kube`.
//!
//! `connect` finds the server, `request` builds requests, `send` sends them (again, where
//! `retry` says so), `errors` makes sense of answers, and one file per verb puts these
//! together. Nothing here decides what ought to happen to an object.

#![deny(missing_docs)]
// A server says numbers, too: what is reckoned from them neither panics nor wraps.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod access;
mod answered;
mod apply;
mod bounds;
mod client;
mod clock;
mod collection;
mod connect;
mod delete;
mod discovery;
mod disown;
mod early_connections;
mod errors;
mod identity;
mod json;
mod kubeconfig;
mod list;
mod look;
mod move_fields;
mod pace;
mod plugin;
mod ports;
mod proxy;
mod read_page;
mod redact;
mod request;
mod request_slot;
mod retry;
mod secret_object;
mod secrets;
mod send;
mod transport;
mod version;
mod warnings;
mod watch;
mod watch_stream;
mod workload;

pub use client::{ClientSettings, ClusterClient, SentRequest};
pub use clock::{SimulatedMachine, SystemClock};
pub use connect::{ConnectError, ConnectOptions, Connection, connect};
pub use kubeconfig::{Environment, KubeconfigError, context_namespace, contexts};
pub use retry::RetryPolicy;

/// For a cluster that is reached by other means than a kubeconfig: any service that answers.
pub use kube::Client as KubeClient;
