//! Who acts, as far as a cluster does not say it.

/// Who acts, and from where. Goes into the lock and the log.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The person or account, when the cluster itself does not say.
    pub who: String,
    /// The name of this machine.
    pub host: String,
    /// The pipeline that this process is a part of, in words, if it is one's.
    pub pipeline: Option<String>,
    /// The id of this process.
    pub pid: u64,
    /// What this machine calls its current boot, if it says so.
    pub boot: Option<String>,
    /// Which pid namespace the pid belongs to, if the machine says so.
    pub pid_namespace: Option<String>,
    /// The version of the program.
    pub version: String,
    /// Whether a process of this machine is alive. Asked only of pids that belong to the same
    /// machine, boot and pid namespace.
    pub is_alive: fn(u64) -> bool,
}

impl Actor {
    /// An actor of whom nothing is known but a name: its locks expire, and are never taken over
    /// because their holder is seen to be dead.
    pub fn named(who: impl Into<String>) -> Self {
        Self {
            who: who.into(),
            host: "unknown".to_owned(),
            pipeline: None,
            pid: u64::from(std::process::id()),
            boot: None,
            pid_namespace: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            is_alive: |_| true,
        }
    }
}
