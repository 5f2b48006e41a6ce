//! What all reconciles share.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::runtime::reflector::{ObjectRef, Store};
use opm_cluster::{ClusterClient, KubeClient};
use opm_core::digest::ObjectHash;
use opm_engine::Engine;
use opm_render::{ModuleRenderer, RenderSettings};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::leases::OwnShards;
use crate::metrics::Metrics;
use crate::notices::Notices;
use crate::request::ReleaseKey;
use crate::resource::{ModuleRelease, ModuleReleaseStatus};
use crate::run::ControllerLog;
use crate::watches::Watches;

/// How long no event tells of the same drift again.
const QUIET: Duration = Duration::from_secs(600);

/// How long a request of its own has when the controller ends.
const LAST_REQUEST: Duration = Duration::from_secs(5);

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) engine: Engine,
    /// The cluster, as the controller itself.
    pub(crate) cluster: ClusterClient,
    pub(crate) kube: KubeClient,
    pub(crate) renderer: ModuleRenderer,
    pub(crate) render_settings: RenderSettings,
    /// How many modules are rendered at a time.
    pub(crate) renders: Semaphore,
    pub(crate) watches: Arc<Watches>,
    pub(crate) store: Store<ModuleRelease>,
    pub(crate) triggers: UnboundedSender<ObjectRef<ModuleRelease>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: Arc<dyn ControllerLog>,
    pub(crate) notices: Arc<Notices>,
    pub(crate) default_account: Option<String>,
    pub(crate) cross_namespace: bool,
    pub(crate) per_namespace: usize,
    pub(crate) dry_run: bool,
    /// Which resources are this replica's.
    pub(crate) shards: Arc<OwnShards>,
    /// Ends everything that goes on.
    pub(crate) cancel: CancellationToken,
    pub(crate) memory: Mutex<Memory>,
}

/// What is remembered between reconciles, and need not be.
#[derive(Default)]
pub(crate) struct Memory {
    releases: HashMap<ReleaseKey, ReleaseMemory>,
    /// Which reconciles go on, by namespace.
    busy: HashMap<String, BTreeSet<String>>,
}

/// What is remembered of one release.
#[derive(Default, Clone)]
struct ReleaseMemory {
    /// The uid of the resource, and the status that was written last.
    told: Option<(String, ModuleReleaseStatus)>,
    failures: u32,
    looks: u32,
    /// The attempt that goes on, or was the last one.
    run: Option<String>,
    /// The drift that an event told of last, and when.
    corrected: Option<(String, Instant)>,
    /// What was rolled back, and when.
    rolled_back: Option<(u64, Instant)>,
}

impl Context {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt begins, and gets a name that no other has.
    pub(crate) fn begin_run(&self, key: &ReleaseKey) {
        let moment = jiff::Timestamp::now().as_nanosecond();
        let text = format!("{}/{} {moment}", key.namespace, key.name);
        let name = ObjectHash::of_bytes(text.as_bytes());
        let name = name.as_str().get(..12).map(str::to_owned);
        self.memory().releases.entry(key.clone()).or_default().run = name;
    }

    /// The attempt that goes on for a release, or was the last one.
    pub(crate) fn run_of(&self, key: &ReleaseKey) -> Option<String> {
        self.memory().releases.get(key)?.run.clone()
    }

    /// One failure more in a row; says how many that makes.
    pub(crate) fn failed(&self, key: &ReleaseKey) -> u32 {
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        known.failures = known.failures.saturating_add(1);
        known.failures
    }

    /// One look more at something that is waited for; says how many that makes.
    pub(crate) fn looked(&self, key: &ReleaseKey) -> u32 {
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        known.looks = known.looks.saturating_add(1);
        known.looks
    }

    /// It went well: failures start to count anew.
    pub(crate) fn succeeded(&self, key: &ReleaseKey) {
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        (known.failures, known.looks) = (0, 0);
    }

    /// Whether no event has told of this drift lately.
    pub(crate) fn is_news(&self, key: &ReleaseKey, objects: &str) -> bool {
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        let told = known.corrected.as_ref();
        if told.is_some_and(|(what, when)| what == objects && when.elapsed() < QUIET) {
            return false;
        }
        known.corrected = Some((objects.to_owned(), Instant::now()));
        true
    }

    /// What was rendered so was rolled back.
    pub(crate) fn rolled_back(&self, key: &ReleaseKey, rendered: u64) {
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        known.rolled_back = Some((rendered, Instant::now()));
    }

    /// How long what was rendered so is not to be tried again.
    pub(crate) fn rests(
        &self,
        key: &ReleaseKey,
        rendered: u64,
        interval: Duration,
    ) -> Option<Duration> {
        let memory = self.memory();
        let (what, when) = memory.releases.get(key)?.rolled_back?;
        let left = interval.checked_sub(when.elapsed())?;
        (what == rendered).then_some(left)
    }

    /// The status that was written last: the resource that a reconcile got may be older.
    pub(crate) fn told(&self, key: &ReleaseKey, uid: Option<&str>) -> Option<ModuleReleaseStatus> {
        let memory = self.memory();
        let (of, status) = memory.releases.get(key)?.told.as_ref()?;
        (Some(of.as_str()) == uid).then(|| status.clone())
    }

    /// This status was written.
    pub(crate) fn tell(&self, key: &ReleaseKey, uid: Option<&str>, status: &ModuleReleaseStatus) {
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        known.told = uid.map(|uid| (uid.to_owned(), status.clone()));
    }

    /// Nothing is remembered of a release that is gone.
    pub(crate) fn forget(&self, key: &ReleaseKey) {
        self.memory().releases.remove(key);
    }

    /// A place among those that are reconciled in a namespace at a time; none if all are taken.
    pub(crate) fn enter(&self, key: &ReleaseKey) -> Option<NamespaceTurn<'_>> {
        let mut memory = self.memory();
        let busy = memory.busy.entry(key.namespace.clone()).or_default();
        if busy.len() >= self.per_namespace {
            return None;
        }
        busy.insert(key.name.clone());
        Some(NamespaceTurn {
            context: self,
            key: key.clone(),
        })
    }

    /// The releases that are being reconciled.
    pub(crate) fn running(&self) -> Vec<String> {
        let memory = self.memory();
        let all = memory.busy.iter();
        let named = |(namespace, names): (&String, &BTreeSet<String>)| {
            let names = names.iter();
            let named = names.map(|name| format!("{namespace}/{name}"));
            named.collect::<Vec<_>>()
        };
        all.flat_map(named).collect()
    }

    /// One of the controller's own requests. When the controller ends, not every server answers.
    pub(crate) async fn own<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, kube::Error> {
        let overdue = async {
            self.cancel.cancelled().await;
            tokio::time::sleep(LAST_REQUEST).await;
        };
        tokio::select! {
            done = request => done,
            () = overdue => Err(kube::Error::Service("the controller ends".into())),
        }
    }

    /// Reconciles the resources that depend on this one.
    pub(crate) fn tell_dependents(&self, key: &ReleaseKey) {
        let state = self.store.state();
        let others = state
            .iter()
            .filter(|other| !other.spec.depends_on.is_empty());
        for other in others {
            let own = ReleaseKey::of(other).namespace;
            let depends = other.spec.depends_on.iter().any(|one| {
                one.name == key.name && *one.namespace.as_ref().unwrap_or(&own) == key.namespace
            });
            if depends {
                let _ = self.triggers.send(ObjectRef::from_obj(&**other));
            }
        }
    }
}

/// One of those that are reconciled in a namespace. Dropping it makes room for another.
pub(crate) struct NamespaceTurn<'a> {
    context: &'a Context,
    key: ReleaseKey,
}

impl Drop for NamespaceTurn<'_> {
    fn drop(&mut self) {
        let mut memory = self.context.memory();
        if let Some(busy) = memory.busy.get_mut(&self.key.namespace) {
            busy.remove(&self.key.name);
            if busy.is_empty() {
                memory.busy.remove(&self.key.namespace);
            }
        }
    }
}
