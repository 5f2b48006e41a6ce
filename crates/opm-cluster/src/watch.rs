//! Watching objects: how they are now, then every change, through disconnects and expired
//! versions, until enough was seen or the time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Duration;

use futures::future::try_join_all;
use opm_core::identity::{GroupKind, Identity};
use opm_engine::ports::{
    ApiError, ApiErrorKind, Cluster as _, Detail, Observation, ServedKind, WatchEvent,
};
use tokio::sync::mpsc::{Sender, channel};

use crate::bounds::Allowance;
use crate::client::ClusterClient;
use crate::collection::ChangeFeed;
use crate::discovery::{ResolvedKind, not_reachable, resolve};
use crate::json::{self, Object};
use crate::list::{Keep, Kind, Selectors};
use crate::watch_stream::Change;

/// Up to this many objects of a kind in a namespace are watched by name each, so that a crowd
/// of others beside them costs nothing.
const BY_NAME: usize = 3;

/// How often objects are asked for that may be read but not listed or watched.
const POLL: Duration = Duration::from_secs(1);

/// Objects of one kind in one namespace that share a watch.
struct WatchGroup {
    group_kind: GroupKind,
    namespace: Option<String>,
    names: BTreeSet<String>,
}

impl WatchGroup {
    fn identity(&self, name: &str) -> Identity {
        Identity::new(self.group_kind.clone(), self.namespace.as_deref(), name)
    }

    fn identities(&self) -> Vec<Identity> {
        self.names.iter().map(|name| self.identity(name)).collect()
    }

    fn fields(&self) -> Option<String> {
        match (self.names.len(), self.names.first()) {
            (1, Some(name)) => Some(format!("metadata.name={name}")),
            _ => None,
        }
    }

    /// Nobody waits for the content of a Secret.
    fn detail(&self) -> Detail {
        match self.group_kind.is("", "Secret") {
            true => Detail::Metadata,
            false => Detail::Whole,
        }
    }
}

fn split(wanted: &[Identity]) -> Vec<WatchGroup> {
    let mut groups: BTreeMap<(&GroupKind, &Option<String>), BTreeSet<String>> = BTreeMap::new();
    for id in wanted {
        let names = groups.entry((&id.group_kind, &id.namespace)).or_default();
        names.insert(id.name.clone());
    }
    let mut all = Vec::new();
    for ((kind, namespace), names) in groups {
        let watched = |names| WatchGroup {
            group_kind: kind.clone(),
            namespace: namespace.clone(),
            names,
        };
        if names.len() <= BY_NAME {
            all.extend(
                names
                    .into_iter()
                    .map(|name| watched(BTreeSet::from([name]))),
            );
        } else {
            all.push(watched(names));
        }
    }
    all
}

impl ClusterClient {
    pub(crate) async fn watch_all(
        &self,
        wanted: &[Identity],
        timeout: Duration,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        let groups = split(wanted);
        // Few at a time: each may be as large as an object can be.
        let (events, mut arrived) = channel(4);
        let reporter = Reporter {
            events,
            allowance: Allowance::about(wanted.len()),
        };
        let follow = try_join_all(groups.iter().map(|group| self.follow(group, &reporter)));
        let enough = async {
            while let Some(event) = arrived.recv().await {
                if on_event(event) {
                    return;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            () = enough => Ok(true),
            failed = follow => match failed {
                Err(error) => Err(error),
                // Nothing to watch: nothing will come.
                Ok(_) => {
                    tokio::time::sleep(timeout).await;
                    Ok(false)
                }
            },
            () = tokio::time::sleep(timeout) => Ok(false),
        }
    }

    /// Follows one group for as long as somebody listens.
    async fn follow(
        &self,
        group: &WatchGroup,
        reporter: &Reporter,
    ) -> Result<Infallible, ApiError> {
        loop {
            let served = self.served_with([&group.group_kind]).await?;
            let served = match resolve(&served, &group.group_kind) {
                ResolvedKind::Served(served) => served,
                ResolvedKind::NotServed => {
                    reporter.all_gone(group).await;
                    tokio::time::sleep(POLL).await;
                    continue;
                }
                silent => return Err(not_reachable(&group.group_kind, &silent)),
            };
            match self.list_and_watch(group, &served, reporter).await {
                Ok(()) => {}
                Err(error) if error.kind == ApiErrorKind::Forbidden => {
                    return self.poll(group, reporter).await;
                }
                Err(error) if error.kind == ApiErrorKind::KindNotServed => {
                    self.discover().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reports how things are, then what changes, until the version it knows has expired.
    async fn list_and_watch(
        &self,
        group: &WatchGroup,
        served: &ServedKind,
        reporter: &Reporter,
    ) -> Result<(), ApiError> {
        let kind = Kind::preferred(&group.group_kind, served, group.namespace.as_deref());
        let fields = group.fields();
        let selectors = Selectors {
            detail: group.detail(),
            labels: None,
            fields: fields.as_deref(),
        };
        let keep = Keep::named(&group.names);
        let list = self.list_all(kind.place(), selectors, &keep).await?;
        let mut missing = group.names.clone();
        for object in list.items {
            let name = json::metadata(&object, "name").unwrap_or_default();
            if missing.remove(name) {
                reporter.report(group, kind, Change::Is(object)).await?;
            }
        }
        for name in missing {
            reporter
                .tell(WatchEvent::Gone(group.identity(&name)))
                .await?;
        }
        let version = list.metadata.resource_version;
        let mut changes = ChangeFeed::new(self, kind.place(), selectors, version);
        while let Some(change) = changes.next().await? {
            reporter.report(group, kind, change).await?;
        }
        Ok(())
    }

    /// For those who may read an object but not watch it.
    async fn poll(&self, group: &WatchGroup, reporter: &Reporter) -> Result<Infallible, ApiError> {
        let wanted = group.identities();
        let mut known: BTreeMap<Identity, Option<String>> = BTreeMap::new();
        loop {
            for (id, found) in self.look(&wanted, group.detail()).await {
                let (version, event) = match found {
                    Observation::Absent => (None, WatchEvent::Gone(id.clone())),
                    Observation::Present(object) => (
                        json::metadata(&object, "resourceVersion").map(str::to_owned),
                        WatchEvent::Seen(id.clone(), object),
                    ),
                    Observation::Failed(error) => return Err(error),
                };
                if known.insert(id, version.clone()) != Some(version) {
                    reporter.tell(event).await?;
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Where all groups of one watch report to.
struct Reporter {
    events: Sender<WatchEvent>,
    /// What the newest states of all objects may take in memory.
    allowance: Allowance,
}

impl Reporter {
    async fn report(
        &self,
        group: &WatchGroup,
        kind: Kind<'_>,
        change: Change,
    ) -> Result<(), ApiError> {
        let event = match change {
            Change::Is(mut object) => {
                kind.place().expect_listed(&object)?;
                let Some(id) = wanted(group, &object) else {
                    return Ok(());
                };
                kind.name_kind(&mut object);
                WatchEvent::Seen(id, object)
            }
            Change::Gone(object) => {
                kind.place().expect_listed(&object)?;
                match wanted(group, &object) {
                    Some(id) => WatchEvent::Gone(id),
                    None => return Ok(()),
                }
            }
            Change::Bookmark(_) => return Ok(()),
        };
        self.tell(event).await
    }

    async fn all_gone(&self, group: &WatchGroup) {
        for id in group.identities() {
            let _ = self.tell(WatchEvent::Gone(id)).await;
        }
    }

    async fn tell(&self, event: WatchEvent) -> Result<(), ApiError> {
        if let WatchEvent::Seen(id, object) = &event {
            self.allowance.replace(id, object)?;
        }
        // Nobody listening any more means that the watch is about to end.
        let _ = self.events.send(event).await;
        Ok(())
    }
}

fn wanted(group: &WatchGroup, object: &Object) -> Option<Identity> {
    let name = json::metadata(object, "name")?;
    group.names.contains(name).then(|| group.identity(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_objects_are_watched_by_name_and_many_together() {
        let ids = |kind: &str, count: usize| -> Vec<Identity> {
            (0..count)
                .map(|n| Identity::new(GroupKind::new("", kind), Some("n"), format!("x{n}")))
                .collect()
        };
        let few = split(&ids("Pod", BY_NAME));
        assert_eq!(few.len(), BY_NAME);
        assert_eq!(few[0].fields().as_deref(), Some("metadata.name=x0"));
        let many = split(&ids("Pod", BY_NAME + 1));
        assert_eq!(many.len(), 1);
        assert_eq!(many[0].fields(), None);
        let twice = [ids("Pod", 1), ids("Pod", 1), ids("Secret", 1)].concat();
        assert_eq!(split(&twice).len(), 2);
    }
}
