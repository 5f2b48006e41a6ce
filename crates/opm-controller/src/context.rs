//! What all reconciles share.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::runtime::controller::Action as Next;
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
use crate::news::News;
use crate::notices::Notices;
use crate::request::ReleaseKey;
use crate::resource::{ModuleRelease, ModuleReleaseStatus};
use crate::run::ControllerLog;
use crate::watches::Watches;

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

/// A status, as it was written.
#[derive(Debug, Clone)]
pub(crate) struct WrittenStatus {
    pub(crate) status: ModuleReleaseStatus,
    pub(crate) uid: Option<String>,
    /// The version of the resource since.
    pub(crate) version: Option<String>,
}

/// What is remembered of one release.
#[derive(Default, Clone)]
struct ReleaseMemory {
    /// The status that was written last.
    told: Option<WrittenStatus>,
    failures: u32,
    looks: u32,
    /// From when on it waits to be reconciled.
    due: Option<Instant>,
    /// The attempt that goes on, or was the last one.
    run: Option<String>,
    news: News,
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
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        (known.run, known.due) = (name, None);
    }

    /// A release is to be reconciled after this time, or earlier if it is so already.
    pub(crate) fn waits(&self, key: &ReleaseKey, wait: Duration) {
        let mut memory = self.memory();
        let known = memory.releases.entry(key.clone()).or_default();
        let due = Instant::now().checked_add(wait);
        known.due = due.map(|due| known.due.map_or(due, |before| before.min(due)));
    }

    /// How many releases wait to be reconciled by now.
    pub(crate) fn waiting(&self) -> usize {
        let now = Instant::now();
        let memory = self.memory();
        let all = memory.releases.values();
        all.filter(|known| known.due.is_some_and(|due| due <= now))
            .count()
    }

    /// A release is reconciled again after this time.
    pub(crate) fn later(&self, key: &ReleaseKey, wait: Duration) -> Next {
        self.waits(key, wait);
        Next::requeue(wait)
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

    /// Asks what was told of a release, and remembers what is told now.
    pub(crate) fn with_news<T>(&self, key: &ReleaseKey, ask: impl FnOnce(&mut News) -> T) -> T {
        let mut memory = self.memory();
        ask(&mut memory.releases.entry(key.clone()).or_default().news)
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

    /// The status that was written last.
    pub(crate) fn told(&self, key: &ReleaseKey) -> Option<WrittenStatus> {
        self.memory().releases.get(key)?.told.clone()
    }

    /// This status was written.
    pub(crate) fn tell(&self, key: &ReleaseKey, told: WrittenStatus) {
        let mut memory = self.memory();
        memory.releases.entry(key.clone()).or_default().told = Some(told);
    }

    /// Whether a resource is this replica's, as far as it can know at this moment.
    pub(crate) fn is_own(&self, resource: &ModuleRelease) -> bool {
        let uid = resource.metadata.uid.as_deref().unwrap_or_default();
        self.shards.of(uid).is_some()
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
