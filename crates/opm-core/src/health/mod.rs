//! How an object is doing, read from the object alone.
//!
//! A kind that is not known here is judged by the conditions that most controllers write; an
//! object that says nothing about itself is ready as soon as it exists. Whether to wait for it,
//! and for how long, is decided elsewhere.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod conditions;
mod container;
mod crash;
mod fields;
mod pod;
mod rules;
mod scaling;
mod storage;
mod traffic;
mod workload;

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use container::{ContainerLife, last_line, unready_container};
pub use crash::crash_loop;
pub use pod::{why_not_ready, with_pods};
pub use rules::{has_pods, says_nothing, takes_time};

use fields::ObjectFields;

/// How an object is doing, from best to worst: the worst of its parts is how a whole is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HealthState {
    /// It does its work.
    Ready,
    /// It is becoming ready.
    Progressing,
    /// It could not be looked at.
    Unknown,
    /// It does only part of its work, and may or may not recover by itself.
    Degraded,
    /// It will not become ready by waiting.
    Failed,
}

impl Serialize for HealthState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl HealthState {
    /// The word that scripts see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing => "Progressing",
            Self::Unknown => "Unknown",
            Self::Degraded => "Degraded",
            Self::Failed => "Failed",
        }
    }
}

/// How an object is doing, and what it is waiting for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// In one word.
    pub state: HealthState,
    /// In a few words; empty when there is nothing to say.
    pub message: String,
}

impl Health {
    /// It is ready.
    pub fn ready() -> Self {
        Self::new(HealthState::Ready, "")
    }

    /// It is ready, and there is something to say about it.
    pub fn ready_with(message: impl Into<String>) -> Self {
        Self::new(HealthState::Ready, message)
    }

    /// It is becoming ready and waits for something.
    pub fn progressing(message: impl Into<String>) -> Self {
        Self::new(HealthState::Progressing, message)
    }

    /// It could not be looked at.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(HealthState::Unknown, message)
    }

    /// Its status is still to be written for the first time.
    pub(crate) fn unseen() -> Self {
        Self::progressing("its controller has not seen it yet")
    }

    /// It does not do all that it should.
    pub fn degraded(message: impl Into<String>) -> Self {
        Self::new(HealthState::Degraded, message)
    }

    /// It will not become ready.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(HealthState::Failed, message)
    }

    pub(crate) fn new(state: HealthState, message: impl Into<String>) -> Self {
        Self {
            state,
            message: message.into(),
        }
    }

    /// Whether it is ready.
    pub fn is_ready(&self) -> bool {
        self.state == HealthState::Ready
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.state {
            HealthState::Ready => "ready",
            HealthState::Progressing => "in progress",
            HealthState::Unknown => "unknown",
            HealthState::Degraded => "degraded",
            HealthState::Failed => "failed",
        };
        match self.message.as_str() {
            "" => f.write_str(word),
            message => write!(f, "{word}: {message}"),
        }
    }
}

/// How a live object is doing. Jobs and bare Pods are ready once they are complete or ready.
pub fn of(object: &Map<String, Value>) -> Health {
    let fields = ObjectFields(object);
    if fields.text("/metadata/deletionTimestamp").is_some() {
        return Health::progressing(leaving(&fields));
    }
    if let Some(waiting) = unseen_generation(&fields) {
        return waiting;
    }
    rules::judge(&fields)
}

/// What an object waits for that is being deleted.
fn leaving(fields: &ObjectFields<'_>) -> String {
    let held: Vec<&str> = fields
        .list("/metadata/finalizers")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match held.is_empty() {
        true => "it is being deleted".to_owned(),
        false => format!(
            "it is being deleted; finalizers hold it: {}",
            held.join(", ")
        ),
    }
}

/// The controller has not yet looked at what was applied last, so its status is about the past.
fn unseen_generation(fields: &ObjectFields<'_>) -> Option<Health> {
    let generation = fields.number("/metadata/generation")?;
    let observed = fields.number("/status/observedGeneration")?;
    (observed < generation)
        .then(|| Health::progressing("its controller has not seen the latest change yet"))
}

#[cfg(test)]
mod tests;
