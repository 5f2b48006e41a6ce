//! When to look at a release because of somebody else: metadata watches, one per kind, shared by
//! all releases, started when a kind is first tracked and stopped when it is no longer.
//!
//! They are the controller's own and say only *when*: nothing of what they see goes anywhere.
//! `tracked` decides what is a reason to look, and `follow` follows one kind.

mod follow;
mod tracked;

pub(crate) use follow::is_expired;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::reflector::ObjectRef;
use opm_cluster::{ClusterClient, KubeClient};
use opm_core::identity::{GroupKind, Identity};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use crate::fingerprint::fingerprint;
use crate::notices::Notices;
use crate::request::ReleaseKey;
use crate::resource::ModuleRelease;
use tracked::TrackedObjects;

/// How long a reconcile waits for a watch to begin. Without one, only the interval corrects drift.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is watched of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum WatchScope {
    /// What releases have applied, by its label.
    Tracked(GroupKind),
    /// Everything: what is referred to has no label.
    Referenced(GroupKind),
}

impl WatchScope {
    fn kind(&self) -> &GroupKind {
        match self {
            Self::Tracked(kind) | Self::Referenced(kind) => kind,
        }
    }
}

/// One watch.
struct KindWatch {
    users: HashSet<ReleaseKey>,
    begun: watch::Receiver<bool>,
    _stop: DropGuard,
}

#[derive(Default)]
struct State {
    watches: HashMap<WatchScope, KindWatch>,
    tracked: TrackedObjects,
}

/// All watches.
pub(crate) struct Watches {
    state: Mutex<State>,
    kube: KubeClient,
    cluster: ClusterClient,
    /// The only namespace, if there is but one.
    namespace: Option<String>,
    triggers: UnboundedSender<ObjectRef<ModuleRelease>>,
    notices: Arc<Notices>,
}

impl Watches {
    pub(crate) fn new(
        cluster: ClusterClient,
        namespace: Option<String>,
        triggers: UnboundedSender<ObjectRef<ModuleRelease>>,
        notices: Arc<Notices>,
    ) -> Self {
        Self {
            state: Mutex::default(),
            kube: cluster.kube_client(),
            cluster,
            namespace,
            triggers,
            notices,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trigger(&self, key: &ReleaseKey) {
        let release = ObjectRef::new(&key.name).within(&key.namespace);
        // Nobody listens any more only when the controller ends.
        let _ = self.triggers.send(release);
    }

    /// The controller wrote this.
    pub(crate) fn wrote(&self, identity: &Identity, version: &str) {
        self.state().tracked.wrote(identity, version);
    }

    /// Watches what a release refers to, and waits until that has begun.
    pub(crate) async fn refer(self: &Arc<Self>, key: &ReleaseKey, references: Vec<Identity>) {
        let kinds: HashSet<WatchScope> = references
            .iter()
            .map(|one| WatchScope::Referenced(one.group_kind.clone()))
            .collect();
        let begun = {
            let mut state = self.state();
            state.tracked.refer(key, references.into_iter().collect());
            let is_reference = |one: &WatchScope| matches!(one, WatchScope::Referenced(_));
            self.use_watches(&mut state, key, &kinds, is_reference)
        };
        until_begun(begun).await;
    }

    /// A release is about to be reconciled to objects of these kinds: they are watched, and what is
    /// seen of its objects waits until it is done.
    pub(crate) async fn begin(self: &Arc<Self>, key: &ReleaseKey, kinds: HashSet<GroupKind>) {
        let begun = {
            let mut state = self.state();
            state.tracked.begin(key);
            let tracked = state.tracked.kinds_of(key);
            let kinds: HashSet<WatchScope> = kinds
                .into_iter()
                .chain(tracked)
                .map(WatchScope::Tracked)
                .collect();
            let is_tracked = |one: &WatchScope| matches!(one, WatchScope::Tracked(_));
            self.use_watches(&mut state, key, &kinds, is_tracked)
        };
        until_begun(begun).await;
    }

    /// A release was reconciled to these objects; none if nothing is known of them. What others did
    /// to them meanwhile counts now.
    pub(crate) fn end(self: &Arc<Self>, key: &ReleaseKey, objects: Option<HashSet<Identity>>) {
        let mut state = self.state();
        let known = objects.is_some();
        let touched = state.tracked.end(key, objects);
        if known {
            let kinds = state.tracked.kinds_of(key).into_iter();
            let kinds = kinds.map(WatchScope::Tracked).collect();
            let is_tracked = |one: &WatchScope| matches!(one, WatchScope::Tracked(_));
            self.use_watches(&mut state, key, &kinds, is_tracked);
        }
        drop(state);
        if touched {
            self.trigger(key);
        }
    }

    /// Nothing of this release counts any more.
    pub(crate) fn forget(self: &Arc<Self>, key: &ReleaseKey) {
        let mut state = self.state();
        state.tracked.forget(key);
        self.use_watches(&mut state, key, &HashSet::new(), |_| true);
    }

    /// How many objects are tracked, and how many watches there are.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.tracked.count(), state.watches.len())
    }

    /// A release uses these watches, and no others of this sort. Those that nobody uses are
    /// stopped.
    fn use_watches(
        self: &Arc<Self>,
        state: &mut State,
        key: &ReleaseKey,
        wanted: &HashSet<WatchScope>,
        sort: impl Fn(&WatchScope) -> bool,
    ) -> Vec<watch::Receiver<bool>> {
        for (watched, used) in &mut state.watches {
            if sort(watched) && !wanted.contains(watched) {
                used.users.remove(key);
            }
        }
        let watched = state.watches.len();
        state.watches.retain(|_, used| !used.users.is_empty());
        let stopped = state.watches.len() < watched;
        let mut begun = Vec::new();
        for watched in wanted {
            let used = state
                .watches
                .entry(watched.clone())
                .or_insert_with(|| self.start(watched));
            used.users.insert(key.clone());
            begun.push(used.begun.clone());
        }
        // Of all objects: only when there is something to forget.
        if stopped {
            let kinds = state.watches.keys().map(|one| one.kind().clone());
            let kinds = kinds.collect();
            state.tracked.keep_kinds(&kinds);
        }
        begun
    }

    /// An object is there.
    fn sighted(
        &self,
        watched: &WatchScope,
        identity: &Identity,
        metadata: &ObjectMeta,
        first: bool,
    ) {
        let look = match watched {
            WatchScope::Referenced(_) if first => return,
            WatchScope::Referenced(_) => self.state().tracked.referrers(identity),
            WatchScope::Tracked(_) => {
                let version = metadata.resource_version.as_deref().unwrap_or_default();
                let mut state = self.state();
                let now = fingerprint(metadata);
                state.tracked.sighted(identity, now, version, first)
            }
        };
        look.iter().for_each(|key| self.trigger(key));
    }

    fn gone(&self, watched: &WatchScope, identity: &Identity) {
        let look = match watched {
            WatchScope::Referenced(_) => self.state().tracked.referrers(identity),
            WatchScope::Tracked(_) => self.state().tracked.gone(identity),
        };
        look.iter().for_each(|key| self.trigger(key));
    }

    /// What went while nobody watched.
    fn missed(&self, watched: &WatchScope, listed: &HashSet<Identity>) {
        if let WatchScope::Tracked(kind) = watched {
            let gone = self.state().tracked.missed(kind, listed);
            gone.iter()
                .for_each(|identity| self.gone(watched, identity));
        }
    }
}

async fn until_begun(watches: Vec<watch::Receiver<bool>>) {
    let all = async {
        for mut begun in watches {
            // A watch that ends is not waited for.
            let _ = begun.wait_for(|begun| *begun).await;
        }
    };
    let _ = tokio::time::timeout(PATIENCE, all).await;
}
