//! Following one kind: from its list through every change, until nobody wants to know.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, PartialObjectMeta};
use kube::core::ApiResource;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use opm_core::identity::{GroupKind, Identity};
use opm_core::labels;
use opm_core::scope::Scope;
use opm_engine::ports::Cluster as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{KindWatch, WatchScope, Watches};

/// How long to wait before a kind that is not served is looked for again.
const AGAIN: Duration = Duration::from_secs(5);

impl Watches {
    pub(super) fn start(self: &Arc<Self>, watched: &WatchScope) -> KindWatch {
        let stop = CancellationToken::new();
        let (begin, begun) = watch::channel(false);
        let (watches, watched, stopped) = (Arc::clone(self), watched.clone(), stop.clone());
        tokio::spawn(async move {
            let following = watches.follow(&watched, &begin);
            tokio::select! {
                () = stopped.cancelled() => {}
                () = following => {}
            }
        });
        KindWatch {
            users: HashSet::new(),
            begun,
            _stop: stop.drop_guard(),
        }
    }

    /// Follows a kind until nobody wants to know.
    async fn follow(&self, watched: &WatchScope, begin: &watch::Sender<bool>) {
        loop {
            let Some(api) = self.api(watched.kind()).await else {
                // Nobody waits for what cannot be watched.
                begin.send_replace(true);
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            let label = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_OPM);
            let config = match watched {
                WatchScope::Tracked(_) => watcher::Config::default().labels(&label),
                WatchScope::Referenced(_) => watcher::Config::default(),
            };
            let mut events = watcher(api, config).default_backoff().boxed();
            let mut listed = HashSet::new();
            let mut errors = 0;
            loop {
                match events.try_next().await {
                    Ok(Some(event)) => {
                        errors = 0;
                        self.take(watched, event, &mut listed, begin);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        if !is_expired(&error) {
                            let kind = watched.kind();
                            let what = format!(
                                "watching {kind} failed, and until it works, what others do is \
                                 seen at the interval only"
                            );
                            self.notices.failed(&what, &error);
                        }
                        begin.send_replace(true);
                        errors += 1;
                        // Perhaps the kind is served elsewhere by now, or not at all.
                        if errors > 3 {
                            break;
                        }
                    }
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn api(&self, kind: &GroupKind) -> Option<Api<PartialObjectMeta<DynamicObject>>> {
        let known = self.cluster.recall_served().await.ok()?;
        let served = match known.kinds.get(kind) {
            Some(served) => served.clone(),
            None => self.cluster.served().await.ok()?.kinds.get(kind)?.clone(),
        };
        let api_version = match kind.group.as_str() {
            "" => served.preferred.clone(),
            group => format!("{group}/{}", served.preferred),
        };
        let resource = ApiResource {
            group: kind.group.clone(),
            version: served.preferred.clone(),
            api_version,
            kind: kind.kind.clone(),
            plural: served.plural.clone(),
        };
        let kube = self.kube.clone();
        Some(match (&self.namespace, served.scope) {
            (Some(namespace), Scope::Namespaced) => {
                Api::namespaced_with(kube, namespace, &resource)
            }
            _ => Api::all_with(kube, &resource),
        })
    }

    fn take(
        &self,
        watched: &WatchScope,
        event: Event<PartialObjectMeta<DynamicObject>>,
        listed: &mut HashSet<Identity>,
        begin: &watch::Sender<bool>,
    ) {
        let kind = watched.kind();
        let named = |object: &PartialObjectMeta<DynamicObject>| {
            let metadata = &object.metadata;
            let name = metadata.name.clone().unwrap_or_default();
            Identity::new(kind.clone(), metadata.namespace.as_deref(), name)
        };
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => {
                let identity = named(&object);
                listed.insert(identity.clone());
                let first = !*begin.borrow();
                self.sighted(watched, &identity, &object.metadata, first);
            }
            Event::InitDone => {
                self.missed(watched, listed);
                begin.send_replace(true);
            }
            Event::Apply(object) => {
                self.sighted(watched, &named(&object), &object.metadata, false);
            }
            Event::Delete(object) => self.gone(watched, &named(&object)),
        }
    }
}

/// A watch that was too far behind begins anew by itself.
pub(crate) fn is_expired(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchError(status) if status.code == 410)
}
