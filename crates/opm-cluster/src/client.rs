//! The client: a `kube::Client` and what one run keeps beside it.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opm_engine::ports::{Instant, ServedKinds, Timestamp};

use crate::clock::SystemClock;
use crate::redact::KnownValues;
use crate::retry::RetryPolicy;
use crate::secret_object::CarriedMetadata;
use crate::warnings::Warnings;

/// How patient a client is, and how much it asks at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// When requests are repeated.
    pub retry: RetryPolicy,
    /// How long one attempt may take. The server itself gives up after 60 s.
    pub attempt_timeout: Duration,
    /// How long all attempts to renew a lock may take together: shorter than a lock holds.
    pub lock_timeout: Duration,
    /// How many reads are in flight at once.
    pub concurrent_reads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            attempt_timeout: Duration::from_secs(65),
            lock_timeout: Duration::from_secs(8),
            concurrent_reads: 24,
        }
    }
}

pub(crate) type Now = Arc<dyn Fn() -> (Instant, Timestamp) + Send + Sync>;

/// The engine's ports over a Kubernetes API. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ClusterClient {
    pub(crate) kube: kube::Client,
    pub(crate) settings: Settings,
    pub(crate) now: Now,
    state: Arc<State>,
}

/// What one run remembers of its server.
#[derive(Default)]
struct State {
    served: Mutex<Option<Arc<ServedKinds>>>,
    warnings: Mutex<Warnings>,
    known: Mutex<KnownValues>,
    carried: Mutex<CarriedMetadata>,
    contacted: AtomicBool,
    /// The latest Date of an answer, and when it came.
    server_clock: Mutex<Option<(Timestamp, Instant)>>,
}

impl ClusterClient {
    /// A client over any `kube::Client`, such as one whose service answers within the process.
    pub fn from_client(kube: kube::Client) -> Self {
        Self {
            kube,
            settings: Settings::default(),
            now: Arc::new(|| SystemClock::default().now()),
            state: Arc::default(),
        }
    }

    /// The same client with other settings.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The same client with other clocks, which must be those that set the gate's deadline.
    #[must_use]
    pub fn with_now(
        mut self,
        now: impl Fn() -> (Instant, Timestamp) + Send + Sync + 'static,
    ) -> Self {
        self.now = Arc::new(now);
        self
    }

    pub(crate) fn served_cache(&self) -> MutexGuard<'_, Option<Arc<ServedKinds>>> {
        lock(&self.state.served)
    }

    pub(crate) fn warnings(&self) -> MutexGuard<'_, Warnings> {
        lock(&self.state.warnings)
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, KnownValues> {
        lock(&self.state.known)
    }

    pub(crate) fn carried(&self) -> MutexGuard<'_, CarriedMetadata> {
        lock(&self.state.carried)
    }

    /// Takes the time from an answer, and says what time it is if the answer does not.
    pub(crate) fn note_server_time(&self, date: Option<Timestamp>) -> Timestamp {
        let (now, wall) = (self.now)();
        if let Some(date) = date {
            *lock(&self.state.server_clock) = Some((date, now));
        }
        date.unwrap_or(wall)
    }

    /// What time it is on the server, by its latest answer.
    pub(crate) fn server_clock(&self) -> Option<Timestamp> {
        let (date, at) = (*lock(&self.state.server_clock))?;
        let (now, _) = (self.now)();
        Some(Timestamp(date.0 + now.0.saturating_sub(at.0)))
    }

    pub(crate) fn contacted(&self) -> &AtomicBool {
        &self.state.contacted
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
