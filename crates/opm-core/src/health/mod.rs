//! How an object is doing, read from the object alone.
//!
//! A kind that is not known here is judged by the conditions that most controllers write; an
//! object that says nothing about itself is ready as soon as it exists. Whether to wait for it,
//! and for how long, is decided elsewhere.

mod conditions;
mod fields;
mod pod;
mod storage;
mod workload;

use std::fmt;

use serde_json::{Map, Value};

pub use pod::why_not_ready;

use fields::Fields;

use crate::identity::GroupKind;
use crate::scope;

/// How an object is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It does what it is there for.
    Ready,
    /// It is on its way.
    Progressing,
    /// It will not become ready by waiting.
    Failed,
}

/// How an object is doing, and what it is waiting for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// In one word.
    pub state: State,
    /// In a few words; empty when there is nothing to say.
    pub message: String,
}

impl Health {
    /// It is ready.
    pub fn ready() -> Self {
        Self {
            state: State::Ready,
            message: String::new(),
        }
    }

    /// It is on its way, waiting for something.
    pub fn progressing(message: impl Into<String>) -> Self {
        Self {
            state: State::Progressing,
            message: message.into(),
        }
    }

    /// It will not become ready.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            state: State::Failed,
            message: message.into(),
        }
    }

    /// Whether it is ready.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.state {
            State::Ready => "ready",
            State::Progressing => "in progress",
            State::Failed => "failed",
        };
        match self.message.as_str() {
            "" => f.write_str(word),
            message => write!(f, "{word}: {message}"),
        }
    }
}

/// How a live object is doing. Jobs and bare Pods are ready once they are complete or ready.
pub fn of(object: &Map<String, Value>) -> Health {
    let fields = Fields(object);
    if fields.text("/metadata/deletionTimestamp").is_some() {
        return Health::progressing("it is being deleted");
    }
    if let Some(waiting) = unseen_generation(&fields) {
        return waiting;
    }
    match (fields.group(), fields.kind()) {
        ("apps", "Deployment") => workload::deployment(&fields),
        ("apps", "StatefulSet") => workload::stateful_set(&fields),
        ("apps", "DaemonSet") => workload::daemon_set(&fields),
        ("apps", "ReplicaSet") => workload::replica_set(&fields),
        ("batch", "Job") => workload::job(&fields),
        ("", "Pod") => pod::pod(&fields),
        ("", "PersistentVolumeClaim") => storage::claim(&fields),
        ("", "Service") => storage::service(&fields),
        ("", "Namespace") => storage::namespace(&fields),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => conditions::definition(&fields),
        ("batch", "CronJob")
        | ("networking.k8s.io", "Ingress" | "NetworkPolicy")
        | ("autoscaling", "HorizontalPodAutoscaler")
        | ("policy", "PodDisruptionBudget") => Health::ready(),
        _ => conditions::generic(&fields),
    }
}

/// Whether objects of a kind can take time to become ready. Most built-in kinds are ready as
/// soon as they exist.
pub fn takes_time(kind: &GroupKind) -> bool {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job")
        | ("", "Pod" | "PersistentVolumeClaim" | "Service" | "Namespace")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("apiregistration.k8s.io", "APIService") => true,
        _ => scope::builtin(kind).is_none(),
    }
}

/// The controller has not yet looked at what was applied last, so its status is about the past.
fn unseen_generation(fields: &Fields<'_>) -> Option<Health> {
    let generation = fields.number("/metadata/generation")?;
    let observed = fields.number("/status/observedGeneration")?;
    (observed < generation)
        .then(|| Health::progressing("its controller has not seen the latest change yet"))
}

#[cfg(test)]
mod tests;
