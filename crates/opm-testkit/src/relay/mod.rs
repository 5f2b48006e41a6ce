//! A relay between the program under test and the API server.
//!
//! It terminates TLS, so it sees requests: it counts them, and brings faults to those that its
//! rules name. It knows nothing of what the requests mean beyond verb and path. For delay and cut
//! connections below HTTP there is [`TcpRelay`]; one can stand behind the other.

mod client;
mod endpoint;
mod request;
mod rules;
pub(crate) mod serve;
mod tcp;
mod upstream;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;
use tokio::sync::watch;

use crate::keys::Authority;
use crate::kubeconfig::{Access, Credentials};
use crate::namespace::unique;
use crate::plane::PlaneError;
use crate::wait::HANG;

pub use client::client;
pub use request::RequestInfo;
pub use rules::{Fault, Moment, RequestFilter, RuleText};
pub use tcp::TcpRelay;

use endpoint::Endpoint;
use rules::Rules;

/// Why a relay could not be started.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RelayError {
    #[error(transparent)]
    Kubeconfig(#[from] PlaneError),
    #[error("failed to listen on loopback")]
    Listen(#[from] io::Error),
    #[error("failed to connect to the API server")]
    Upstream(#[from] kube::Error),
}

/// The versions of HTTP that a relay, or a client of one, offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Only HTTP/1.1.
    Http1,
    /// Only HTTP/2.
    Http2,
    /// Whatever the other side likes best.
    Either,
}

impl Protocol {
    fn alpn(self) -> Vec<Vec<u8>> {
        let (one, two) = (b"http/1.1".to_vec(), b"h2".to_vec());
        match self {
            Self::Http1 => vec![one],
            Self::Http2 => vec![two],
            Self::Either => vec![two, one],
        }
    }
}

/// What the handle and the serving thread share.
#[derive(Debug, Default)]
struct RelayState {
    rules: Mutex<Rules>,
    seen: Mutex<Vec<RequestInfo>>,
    victim: Mutex<Option<u32>>,
    releases: watch::Sender<()>,
}

/// A relay that sees requests. It serves from a thread of its own until it is dropped.
#[derive(Debug)]
pub struct Relay {
    endpoint: Endpoint,
    shared: Arc<RelayState>,
}

impl Relay {
    /// Starts a relay to the cluster of a kubeconfig's current context.
    ///
    /// A bearer token is passed on as the client sends it. For a client certificate, the relay's
    /// own kubeconfig has a token instead, and whoever shows it is that certificate's user.
    pub async fn start(kubeconfig: &Path) -> Result<Self, RelayError> {
        Self::start_with(kubeconfig, Protocol::Either).await
    }

    /// As [`Self::start`], offering only some versions of HTTP.
    pub async fn start_with(kubeconfig: &Path, protocol: Protocol) -> Result<Self, RelayError> {
        let (listener, address) = Endpoint::listen()?;
        let authority = Authority::generate();
        let tls = serve::tls(&authority.server(), protocol);
        let mut upstream = upstream::Upstream::new(&crate::plane::config_of(kubeconfig).await?)?;
        let mut access = Access::of_file(kubeconfig);
        if let Credentials::Certificate(_) = access.credentials {
            // A certificate cannot be passed on; a token of our own stands for it.
            let token = unique("relay");
            access.credentials = Credentials::Token(token.clone());
            upstream = upstream.standing_in_for(&token);
        }
        access.tls_server_name = None;
        access.authority = authority.certificate;
        let shared = Arc::<RelayState>::default();
        let serving = serve::serve(listener, tls, upstream, shared.clone());
        let endpoint = Endpoint::open(address, access, serving);
        Ok(Self { endpoint, shared })
    }

    /// Writes a kubeconfig that leads to the relay.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<PathBuf> {
        self.endpoint.write_kubeconfig(path)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.endpoint.address()
    }

    /// Adds a rule. Its requests are counted from now on.
    pub fn on(&self, when: RequestFilter, fault: Fault) {
        self.shared
            .rules
            .lock()
            .expect("nobody panics with it")
            .add(when, fault);
    }

    /// Removes all rules, and forgets the process that was to be killed.
    pub fn clear_rules(&self) {
        self.shared
            .rules
            .lock()
            .expect("nobody panics with it")
            .clear();
        self.shared
            .victim
            .lock()
            .expect("nobody panics with it")
            .take();
    }

    /// Lets the requests that are stalled now go on.
    pub fn release(&self) {
        self.shared.releases.send_replace(());
    }

    /// Names the process that the next [`Fault::Kill`] kills.
    pub fn aim_at(&self, pid: u32) {
        *self.shared.victim.lock().expect("nobody panics with it") = Some(pid);
    }

    /// All requests that came in, in order, each with the status it was answered with.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestInfo> {
        self.shared
            .seen
            .lock()
            .expect("nobody panics with it")
            .clone()
    }

    /// How many requests came in.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shared
            .seen
            .lock()
            .expect("nobody panics with it")
            .len()
    }
}

impl RelayState {
    /// Notes a request and says what is to go wrong with it, and by what it hears that it is
    /// released.
    fn receive(&self, seen: RequestInfo) -> (usize, Option<Fault>, watch::Receiver<()>) {
        // Before anybody can see the request and release it.
        let released = self.releases.subscribe();
        let fault = self
            .rules
            .lock()
            .expect("nobody panics with it")
            .decide(&seen);
        let mut list = self.seen.lock().expect("nobody panics with it");
        list.push(seen);
        (list.len() - 1, fault, released)
    }

    fn answered(&self, n: usize, code: u16) {
        self.seen.lock().expect("nobody panics with it")[n].code = code;
    }

    /// Kills the process under test. It may have been started a moment ago and not be named yet.
    async fn kill(&self) {
        let begin = Instant::now();
        while begin.elapsed() < HANG {
            // Taken, not read: the next process to be killed has to be named anew.
            let victim = self.victim.lock().expect("nobody panics with it").take();
            if let Some(pid) = victim.and_then(|pid| Pid::from_raw(pid.cast_signed())) {
                let _ = kill_process(pid, Signal::KILL);
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        eprintln!("a rule of the relay kills, and no process was named");
    }
}
