//! A hostile API server: an honest one, in front of which stands somebody who twists its answers.
//!
//! [`behaviours`] is the table of all that it does, a family in a file each. A behaviour is a
//! name, the requests that it strikes at, and what it makes of the honest answer: bytes, pauses
//! and ends, as they go over the connection. The server speaks HTTP/1.1 by hand, because no
//! library would send most of this.

mod discovery;
mod lies;
mod pages;
mod script;
mod serve;
mod shapes;
mod sizes;
mod statuses;
mod times;
mod transport;
mod watches;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::task::JoinHandle;

pub use script::{HonestAnswer, Script, Step, Struck};

/// One way to misbehave.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// What it is called, in messages and to be chosen by.
    pub name: &'static str,
    /// Which requests it strikes at.
    pub strikes: fn(&Struck) -> bool,
    /// What it makes of the honest answer.
    pub act: fn(&Struck, HonestAnswer) -> Script,
}

/// Everything that it can do.
#[must_use]
pub fn behaviours() -> Vec<Behaviour> {
    [
        sizes::TABLE,
        times::TABLE,
        shapes::TABLE,
        lies::TABLE,
        statuses::TABLE,
        transport::TABLE,
        pages::TABLE,
        watches::TABLE,
        discovery::TABLE,
    ]
    .concat()
}

/// A hostile server that is running. Dropping it ends it.
#[derive(Debug)]
pub struct HostileServer {
    address: String,
    seen: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl HostileServer {
    /// Serves what `honest` answers, twisted as `behaviour` says from the request on that comes
    /// after so many honest ones.
    ///
    /// # Panics
    /// When there is no loopback to listen on.
    pub async fn start(honest: kube::Client, behaviour: Behaviour, after: usize) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port on loopback");
        let address = listener.local_addr().expect("an address").to_string();
        let seen = Arc::new(AtomicUsize::new(0));
        let serving = serve::serve(listener, honest, (behaviour, after), Arc::clone(&seen));
        Self {
            address,
            seen,
            serving: tokio::spawn(serving),
        }
    }

    /// How many requests have come in.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }

    /// Writes a kubeconfig that leads to it.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn write_kubeconfig(&self, directory: &Path, namespace: &str) -> PathBuf {
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "hostile",
            "clusters": [{"name": "hostile", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "hostile", "user": {}}],
            "contexts": [{"name": "hostile", "context":
                {"cluster": "hostile", "user": "hostile", "namespace": namespace}}]});
        let path = directory.join("hostile.kubeconfig");
        std::fs::write(&path, config.to_string()).expect("a writable directory");
        path
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
