//! When to look at a release because of somebody else: metadata watches, one per kind, shared by
//! all releases, started when a kind is first tracked and stopped when it is no longer.
//!
//! They are the controller's own and say only *when*: nothing of what they see goes anywhere. What
//! the controller wrote itself starts nothing: events of a release that is being reconciled wait
//! until that is done, and the last one of an object counts only if it is not the answer to the
//! controller's own write.

mod follow;

pub(crate) use follow::is_expired;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::api::{DynamicObject, PartialObjectMeta};
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

/// What was seen of an object while its release was being reconciled.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sighting {
    At(String),
    Gone,
}

#[derive(Default)]
struct State {
    watches: HashMap<WatchScope, KindWatch>,
    tracked: HashMap<Identity, ReleaseKey>,
    objects: HashMap<ReleaseKey, HashSet<Identity>>,
    referenced: HashMap<Identity, HashSet<ReleaseKey>>,
    references: HashMap<ReleaseKey, HashSet<Identity>>,
    /// How each object looked last, as far as drift is concerned.
    seen: HashMap<Identity, u64>,
    /// The resourceVersion that the controller's own last write of an object came to.
    written: HashMap<Identity, String>,
    /// Releases that are being reconciled, and what was seen of their objects meanwhile.
    busy: HashMap<ReleaseKey, HashMap<Identity, Sighting>>,
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
        let mut state = self.state();
        state.written.insert(identity.clone(), version.to_owned());
    }

    /// Watches what a release refers to, and waits until that has begun.
    pub(crate) async fn refer(self: &Arc<Self>, key: &ReleaseKey, references: Vec<Identity>) {
        let kinds: HashSet<WatchScope> = references
            .iter()
            .map(|one| WatchScope::Referenced(one.group_kind.clone()))
            .collect();
        let begun = {
            let mut state = self.state();
            let new: HashSet<Identity> = references.into_iter().collect();
            let old = state.references.insert(key.clone(), new.clone());
            for gone in old.unwrap_or_default().difference(&new) {
                if let Some(users) = state.referenced.get_mut(gone) {
                    users.remove(key);
                }
            }
            for identity in new {
                state
                    .referenced
                    .entry(identity)
                    .or_default()
                    .insert(key.clone());
            }
            state.referenced.retain(|_, users| !users.is_empty());
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
            state.busy.entry(key.clone()).or_default();
            let tracked = state.objects.get(key).into_iter().flatten();
            let tracked = tracked.map(|one| one.group_kind.clone());
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
        if let Some(objects) = objects {
            let kinds: HashSet<WatchScope> = objects
                .iter()
                .map(|one| WatchScope::Tracked(one.group_kind.clone()))
                .collect();
            let old = state.objects.insert(key.clone(), objects.clone());
            for gone in old.unwrap_or_default().difference(&objects) {
                state.tracked.remove(gone);
                state.written.remove(gone);
            }
            for identity in objects {
                state.tracked.insert(identity, key.clone());
            }
            let is_tracked = |one: &WatchScope| matches!(one, WatchScope::Tracked(_));
            self.use_watches(&mut state, key, &kinds, is_tracked);
        }
        let sightings = state.busy.remove(key).unwrap_or_default();
        let touched = sightings.iter().any(|(identity, sighting)| {
            let own = match sighting {
                Sighting::At(version) => state.written.get(identity) == Some(version),
                Sighting::Gone => false,
            };
            state.tracked.get(identity) == Some(key) && !own
        });
        drop(state);
        if touched {
            self.trigger(key);
        }
    }

    /// Nothing of this release counts any more.
    pub(crate) fn forget(self: &Arc<Self>, key: &ReleaseKey) {
        let mut state = self.state();
        for identity in state.objects.remove(key).unwrap_or_default() {
            state.tracked.remove(&identity);
            state.written.remove(&identity);
        }
        for identity in state.references.remove(key).unwrap_or_default() {
            if let Some(users) = state.referenced.get_mut(&identity) {
                users.remove(key);
            }
        }
        state.referenced.retain(|_, users| !users.is_empty());
        state.busy.remove(key);
        self.use_watches(&mut state, key, &HashSet::new(), |_| true);
    }

    /// How many objects are tracked, and how many watches there are.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.tracked.len(), state.watches.len())
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
            let kinds: HashSet<&GroupKind> = state.watches.keys().map(WatchScope::kind).collect();
            state
                .seen
                .retain(|identity, _| kinds.contains(&identity.group_kind));
        }
        begun
    }

    /// An object is there. When a watch begins, nothing is known yet of what it finds, and whoever
    /// waits for it looks afterwards.
    fn sighted(
        &self,
        watched: &WatchScope,
        identity: &Identity,
        object: &PartialObjectMeta<DynamicObject>,
        first: bool,
    ) {
        let mut state = self.state();
        if let WatchScope::Referenced(_) = watched {
            let users = state.referenced.get(identity).cloned().unwrap_or_default();
            drop(state);
            if !first {
                users.iter().for_each(|key| self.trigger(key));
            }
            return;
        }
        let now = fingerprint(&object.metadata);
        let before = state.seen.insert(identity.clone(), now);
        if before == Some(now) || (first && before.is_none()) {
            return;
        }
        let version = object.metadata.resource_version.clone().unwrap_or_default();
        self.touched(state, identity, Sighting::At(version));
    }

    fn gone(&self, watched: &WatchScope, identity: &Identity) {
        let mut state = self.state();
        if let WatchScope::Referenced(_) = watched {
            let users = state.referenced.get(identity).cloned().unwrap_or_default();
            drop(state);
            users.iter().for_each(|key| self.trigger(key));
            return;
        }
        state.seen.remove(identity);
        self.touched(state, identity, Sighting::Gone);
    }

    /// What went while nobody watched.
    fn missed(&self, watched: &WatchScope, listed: &HashSet<Identity>) {
        if let WatchScope::Referenced(_) = watched {
            return;
        }
        let gone: Vec<Identity> = {
            let state = self.state();
            let known = state
                .seen
                .keys()
                .filter(|one| one.group_kind == *watched.kind());
            known
                .filter(|one| !listed.contains(*one))
                .cloned()
                .collect()
        };
        gone.iter()
            .for_each(|identity| self.gone(watched, identity));
    }

    fn touched(&self, mut state: MutexGuard<'_, State>, identity: &Identity, sighting: Sighting) {
        // What a busy release is about to track is not tracked yet.
        let owner = state.tracked.get(identity).cloned();
        let own = matches!(&sighting, Sighting::At(version) if state.written.get(identity) == Some(version));
        match owner {
            Some(key) => match state.busy.get_mut(&key) {
                Some(sightings) => {
                    sightings.insert(identity.clone(), sighting);
                }
                None => {
                    drop(state);
                    if !own {
                        self.trigger(&key);
                    }
                }
            },
            None => {
                for sightings in state.busy.values_mut() {
                    sightings.insert(identity.clone(), sighting.clone());
                }
            }
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
