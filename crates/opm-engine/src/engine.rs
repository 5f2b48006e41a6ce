//! The engine: the ports, and what holds for every use case of one run.
//!
//! Every use case is one method, in a file or directory of its own beside this one.

use std::collections::BTreeMap;
use std::sync::Arc;

pub use opm_core::protocol::Timing;

use crate::ports::Gate;

/// Who acts, and from where. Goes into the lock and the log.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The person or account, when the cluster itself does not say.
    pub who: String,
    /// The name of this machine.
    pub host: String,
    /// The pipeline that this run is a part of, in words, if it is one's.
    pub pipeline: Option<String>,
    /// The id of this process.
    pub pid: u64,
    /// What this machine calls its current boot, if it says so.
    pub boot: Option<String>,
    /// Which pid namespace the pid belongs to, if the machine says so.
    pub pid_namespace: Option<String>,
    /// The version of `opm`.
    pub version: String,
    /// Whether a process of this machine is alive. Asked only of pids that belong to the same
    /// machine, boot and pid namespace.
    pub is_alive: fn(u64) -> bool,
}

/// What holds for every use case of one run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who acts.
    pub actor: Actor,
    /// How long locks are good for.
    pub timing: Timing,
    /// How large the release's Secret may become before parts of it move into record Secrets.
    pub record_limit: usize,
    /// The feature flags in force, by name. Recorded with each change.
    pub features: BTreeMap<String, bool>,
}

/// The use cases, over a cluster, a store for records and a clock.
#[derive(Debug)]
pub struct Engine<C, S, K> {
    pub(crate) cluster: C,
    pub(crate) secrets: S,
    pub(crate) clock: K,
    pub(crate) gate: Arc<Gate>,
    pub(crate) settings: Settings,
}

impl<C, S, K> Engine<C, S, K> {
    /// Whether a feature is on in this run.
    pub(crate) fn has(&self, feature: &str) -> bool {
        self.settings
            .features
            .get(feature)
            .copied()
            .unwrap_or(false)
    }

    /// An engine over these ports. The gate is shared with whoever handles interrupts.
    pub fn new(cluster: C, secrets: S, clock: K, gate: Arc<Gate>, settings: Settings) -> Self {
        Self {
            cluster,
            secrets,
            clock,
            gate,
            settings,
        }
    }
}
