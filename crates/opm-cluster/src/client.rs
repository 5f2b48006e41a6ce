//! The client: a `kube::Client`, and what is kept beside it for all runs and for one.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opm_core::identity::Identity;
use opm_engine::ports::{Instant, ServedKinds, Timestamp};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::BoxError;

use crate::clock::SystemClock;
use crate::discovery::KeptDiscovery;
use crate::early_connections::OpenEarly;
use crate::identity::ActingIdentity;
use crate::plugin::TokenPlugin;
use crate::redact::KnownValues;
use crate::request_slot::RequestSlots;
use crate::retry::RetryPolicy;
use crate::secret_object::CarriedMetadata;
use crate::warnings::Warnings;

/// How patient a client is, and how much it asks at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientSettings {
    /// When requests are repeated.
    pub retry: RetryPolicy,
    /// How long one attempt may take. The server itself gives up after 60 s.
    pub attempt_timeout: Duration,
    /// How long all attempts to renew a lock may take together: shorter than a lock holds.
    pub lock_timeout: Duration,
    /// How many reads are in flight at once.
    pub concurrent_reads: usize,
    /// How long a credential plugin may take where nobody can be asked; five times as long on a
    /// terminal.
    pub plugin_timeout: Duration,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            attempt_timeout: Duration::from_secs(65),
            lock_timeout: Duration::from_secs(8),
            concurrent_reads: 24,
            plugin_timeout: Duration::from_secs(60),
        }
    }
}

/// The engine's ports over a Kubernetes API. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ClusterClient {
    pub(crate) kube: kube::Client,
    pub(crate) settings: ClientSettings,
    pub(crate) clock: SystemClock,
    /// Who this client, or this run, acts as.
    pub(crate) identity: ActingIdentity,
    /// What says who asks, where a plugin does.
    pub(crate) plugin: Option<Arc<TokenPlugin>>,
    /// What ends the reads of this run.
    pub(crate) cancel: Option<CancellationToken>,
    /// Where it is kept what the cluster serves.
    kept_discovery: Option<Arc<KeptDiscovery>>,
    /// Who hears of every request that is sent.
    request_log: Option<RequestLog>,
    /// Who hears of every object that was applied.
    write_log: Option<WriteLog>,
    /// How long it is believed without asking what the cluster serves.
    pub(crate) believe_served: Option<Duration>,
    /// What opens connections before they are needed.
    open_early: Option<OpenEarly>,
    server: Arc<ServerState>,
    run: Arc<RunState>,
}

/// A request that was sent once, and what came of it. Bodies are no part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The status of the answer; none where there was none.
    pub status: Option<u16>,
    /// How long the answer took to begin.
    pub took: Duration,
}

/// Hears of requests. Must not block.
type RequestLog = Arc<dyn Fn(&SentRequest) + Send + Sync>;

/// Hears of objects that were applied, and of the resourceVersion that they have now. Must not
/// block.
type WriteLog = Arc<dyn Fn(&Identity, &str) + Send + Sync>;

/// What is known of the server, whoever asks.
struct ServerState {
    served: Mutex<Option<Arc<ServedKinds>>>,
    /// When that was asked.
    served_at: Mutex<Option<Instant>>,
    /// Large answers are read one at a time.
    turns: Arc<Semaphore>,
    contacted: AtomicBool,
    /// How many microseconds the fastest answer took.
    nearest: AtomicU64,
    /// The latest Date of an answer, and when it came.
    clock: Mutex<Option<(Timestamp, Instant)>>,
}

impl Default for ServerState {
    fn default() -> Self {
        Self {
            served: Mutex::default(),
            served_at: Mutex::default(),
            turns: Arc::new(Semaphore::new(1)),
            contacted: AtomicBool::default(),
            nearest: AtomicU64::new(u64::MAX),
            clock: Mutex::default(),
        }
    }
}

/// What belongs to one run.
#[derive(Default)]
struct RunState {
    warnings: Mutex<Warnings>,
    known: Mutex<KnownValues>,
    carried: Mutex<CarriedMetadata>,
    turns: RequestSlots,
}

impl ClusterClient {
    /// A client over any `kube::Client`, such as one whose service answers within the process.
    pub fn from_client(kube: kube::Client) -> Self {
        Self {
            kube,
            settings: ClientSettings::default(),
            clock: SystemClock::default(),
            identity: ActingIdentity::default(),
            plugin: None,
            cancel: None,
            kept_discovery: None,
            request_log: None,
            write_log: None,
            believe_served: None,
            open_early: None,
            server: Arc::default(),
            run: Arc::default(),
        }
    }

    /// The same client with other settings.
    #[must_use]
    pub fn with_settings(mut self, settings: ClientSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The same client with other clocks.
    #[must_use]
    pub fn with_clock(mut self, clock: SystemClock) -> Self {
        self.clock = clock;
        self
    }

    /// The same client, of whose requests somebody hears.
    #[must_use]
    pub fn with_request_log(mut self, log: impl Fn(&SentRequest) + Send + Sync + 'static) -> Self {
        self.request_log = Some(Arc::new(log));
        self
    }

    /// The same client, of whose applied objects somebody hears, each with the resourceVersion
    /// that it has now.
    #[must_use]
    pub fn with_write_log(mut self, log: impl Fn(&Identity, &str) + Send + Sync + 'static) -> Self {
        self.write_log = Some(Arc::new(log));
        self
    }

    /// Tells of an object that was applied.
    pub(crate) fn log_write(&self, identity: &Identity, object: &Map<String, Value>) {
        let version = || object.get("metadata")?.get("resourceVersion")?.as_str();
        if let (Some(log), Some(version)) = (&self.write_log, version()) {
            log(identity, version);
        }
    }

    /// The same client for a process that lives long: what the cluster serves is asked for again
    /// only after this time, or when a kind is not found in it.
    #[must_use]
    pub fn believing_served_for(mut self, time: Duration) -> Self {
        self.believe_served = Some(time);
        self
    }

    /// The same server for `kube`'s own ways of asking, with these credentials, as whoever this
    /// client acts as.
    pub fn kube_client(&self) -> kube::Client {
        let asking = self.clone();
        let namespace = self.kube.default_namespace().to_owned();
        let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
            let asking = asking.clone();
            async move {
                for (name, value) in asking.identity.headers()? {
                    request.headers_mut().append(name, value);
                }
                let sent = asking.send_in_time(request).await;
                sent.map_err(|failed| BoxError::from(failed.error))
            }
        });
        kube::Client::new(service, namespace)
    }

    /// Tells of a request.
    pub(crate) fn log_request(&self, request: impl FnOnce() -> SentRequest) {
        if let Some(log) = &self.request_log {
            log(&request());
        }
    }

    /// The same client, which acts as somebody else.
    #[must_use]
    pub(crate) fn with_identity(mut self, identity: ActingIdentity) -> Self {
        self.identity = identity;
        self
    }

    /// The same client with the tokens of a credential plugin.
    #[must_use]
    pub(crate) fn with_plugin(mut self, plugin: Option<TokenPlugin>) -> Self {
        self.plugin = plugin.map(Arc::new);
        self
    }

    /// The same client, which keeps what the cluster serves.
    #[must_use]
    pub(crate) fn with_kept_discovery(mut self, kept: Option<KeptDiscovery>) -> Self {
        self.kept_discovery = kept.map(Arc::new);
        self
    }

    /// The same client, which can open connections before they are needed.
    #[must_use]
    pub(crate) fn with_early_connections(mut self, open_early: Option<OpenEarly>) -> Self {
        self.open_early = open_early;
        self
    }

    /// Gets ready for so many requests about objects: how far away the server is says how many of
    /// them are sent at a time, and for these connections are opened.
    pub(crate) fn make_ready(&self, requests: usize) {
        let limit = self.turns().begin(self.distance());
        if let Some(open) = &self.open_early {
            open(requests.min(limit));
        }
    }

    /// Notes how long an answer took.
    pub(crate) fn note_answer(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.server.nearest.fetch_min(micros, Ordering::Relaxed);
    }

    /// How long the fastest answer took; nothing before the first.
    fn distance(&self) -> Duration {
        match self.server.nearest.load(Ordering::Relaxed) {
            u64::MAX => Duration::ZERO,
            micros => Duration::from_micros(micros),
        }
    }

    pub(crate) fn kept_discovery(&self) -> Option<&KeptDiscovery> {
        self.kept_discovery.as_deref()
    }

    /// The same client for another run: what is known of the server is shared, warnings and
    /// values to hide are not.
    pub(crate) fn with_fresh_run(&self, act_as: Option<&str>) -> Self {
        let identity = act_as.map(ActingIdentity::user);
        Self {
            identity: identity.unwrap_or_else(|| self.identity.clone()),
            run: Arc::default(),
            ..self.clone()
        }
    }

    /// The same client in the same run, whose reads end when this is cancelled.
    pub(crate) fn with_cancel(&self, cancel: Option<CancellationToken>) -> Self {
        Self {
            cancel,
            ..self.clone()
        }
    }

    /// For large answers, which are read one at a time.
    pub(crate) fn large_turns(&self) -> &Arc<Semaphore> {
        &self.server.turns
    }

    /// For requests about objects.
    pub(crate) fn turns(&self) -> &RequestSlots {
        &self.run.turns
    }

    pub(crate) fn served_cache(&self) -> MutexGuard<'_, Option<Arc<ServedKinds>>> {
        lock(&self.server.served)
    }

    /// What was found to be served, and how long ago that was.
    pub(crate) fn served_lately(&self) -> Option<(Arc<ServedKinds>, Duration)> {
        let at = (*lock(&self.server.served_at))?;
        let (now, _) = self.clock.now();
        let served = self.served_cache().clone()?;
        Some((served, now.0.saturating_sub(at.0)))
    }

    /// Notes that it was asked just now what is served.
    pub(crate) fn note_served(&self) {
        let (now, _) = self.clock.now();
        *lock(&self.server.served_at) = Some(now);
    }

    pub(crate) fn warnings(&self) -> MutexGuard<'_, Warnings> {
        lock(&self.run.warnings)
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, KnownValues> {
        lock(&self.run.known)
    }

    pub(crate) fn carried(&self) -> MutexGuard<'_, CarriedMetadata> {
        lock(&self.run.carried)
    }

    /// Takes the time from an answer, and says what time it is if the answer does not.
    pub(crate) fn note_server_time(&self, date: Option<Timestamp>) -> Timestamp {
        let (now, wall) = self.clock.now();
        if let Some(date) = date {
            *lock(&self.server.clock) = Some((date, now));
        }
        date.unwrap_or(wall)
    }

    /// What time it is on the server, by its latest answer.
    pub(crate) fn server_clock(&self) -> Option<Timestamp> {
        let (date, at) = (*lock(&self.server.clock))?;
        let (now, _) = self.clock.now();
        let since = now.0.saturating_sub(at.0);
        Some(Timestamp(date.0.saturating_add(since)))
    }

    pub(crate) fn contacted(&self) -> &AtomicBool {
        &self.server.contacted
    }
}

impl fmt::Debug for ClusterClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterClient")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// What is behind these locks is valid after every single step, so a panic elsewhere while one
/// was held spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
