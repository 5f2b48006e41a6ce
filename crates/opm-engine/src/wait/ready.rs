//! Waiting until objects are ready, and saying which are not, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{Either, select};
use opm_core::below::{self, ClusterEvent};
use opm_core::event::Event;
use opm_core::health::{self, ContainerLife, Health, HealthState};
use opm_core::identity::{GroupKind, Identity};
use serde_json::{Map, Value};

use crate::observe::metadata;
use crate::ports::{ApiError, ApiErrorKind, Detail, Permit, PodLog, WatchEvent};
use crate::run::Run;

/// How often the pods of workloads that are not ready are looked at. A crash loop that is seen
/// twice in a row is one.
const LOOK_AT_PODS: Duration = Duration::from_millis(1500);

/// How many of its last lines a container is asked for: the last one may be empty.
const LAST_LINES: u32 = 5;

/// One object to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitTarget {
    pub(crate) identity: Identity,
    /// Whether it removes itself when it is done, so that being gone is being ready.
    pub(crate) expires: bool,
}

impl From<Identity> for WaitTarget {
    fn from(identity: Identity) -> Self {
        Self {
            identity,
            expires: false,
        }
    }
}

/// One object that is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadyObject {
    pub(crate) identity: Identity,
    pub(crate) reason: String,
    /// Whether waiting longer would change nothing.
    pub(crate) failed: bool,
}

impl UnreadyObject {
    /// One that was not ready when the time was over.
    pub(crate) fn late(identity: Identity, reason: impl Into<String>) -> Self {
        Self {
            identity,
            reason: reason.into(),
            failed: false,
        }
    }
}

/// What was seen of the awaited objects last.
struct ReadinessTracker<'a> {
    wanted: &'a [WaitTarget],
    objects: BTreeMap<Identity, Option<Map<String, Value>>>,
    /// What was told of each.
    told: BTreeMap<Identity, Health>,
    /// Workloads whose pods crash again and again, and what was seen of that.
    crashes: BTreeMap<Identity, String>,
}

impl ReadinessTracker<'_> {
    /// Takes one in, and answers with which object it is about.
    fn take(&mut self, event: WatchEvent) -> Identity {
        let (identity, object) = match event {
            WatchEvent::Seen(identity, object) => (identity, Some(object)),
            WatchEvent::Gone(identity) => (identity, None),
        };
        self.objects.insert(identity.clone(), object);
        identity
    }

    fn health(&self, awaited: &WaitTarget) -> Health {
        if let Some(crash) = self.crashes.get(&awaited.identity) {
            return Health::failed(crash.clone());
        }
        match self.objects.get(&awaited.identity) {
            Some(Some(object)) => health::of(object),
            Some(None) if awaited.expires => Health::ready(),
            Some(None) => Health::progressing("it is not there"),
            None => Health::progressing("nothing was heard of it"),
        }
    }

    /// How an object is doing, unless that was told already.
    fn news(&mut self, identity: &Identity, health: Option<Health>) -> Option<Event> {
        let mut wanted = self.wanted.iter();
        let awaited = wanted.find(|awaited| awaited.identity == *identity)?;
        let health = health.unwrap_or_else(|| self.health(awaited));
        if self.told.get(identity) == Some(&health) {
            return None;
        }
        self.told.insert(identity.clone(), health.clone());
        Some(Event::Health {
            identity: identity.clone(),
            state: health.state,
            message: health.message,
        })
    }

    /// Everything is ready, or something never will be: waiting longer changes nothing.
    fn is_settled(&self) -> bool {
        let states = || self.wanted.iter().map(|awaited| self.health(awaited).state);
        states().all(|state| state == HealthState::Ready)
            || states().any(|s| s == HealthState::Failed)
    }

    /// Workloads that are not ready and have pods that can say why.
    fn unready_workloads(&self) -> Vec<(Identity, Map<String, Value>)> {
        let workloads = self.wanted.iter().filter(|awaited| {
            health::has_pods(&awaited.identity.group_kind) && !self.health(awaited).is_ready()
        });
        workloads
            .filter_map(|awaited| {
                let object = self.objects.get(&awaited.identity)?.clone()?;
                Some((awaited.identity.clone(), object))
            })
            .collect()
    }
}

/// The tracker, shared by whoever watches objects and whoever looks at pods.
struct SharedTracker<'a>(Mutex<ReadinessTracker<'a>>);

impl<'a> SharedTracker<'a> {
    fn lock(&self) -> MutexGuard<'_, ReadinessTracker<'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run<'_> {
    /// Waits until all of these objects are ready. Answers with those that are not when the
    /// time is over, or when one of them has failed for good.
    pub(crate) async fn wait_ready(
        &self,
        wanted: &[WaitTarget],
        timeout: Duration,
        permit: Permit<'_>,
    ) -> Result<Vec<UnreadyObject>, ApiError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let seen = &SharedTracker(Mutex::new(ReadinessTracker {
            wanted,
            objects: BTreeMap::new(),
            told: BTreeMap::new(),
            crashes: BTreeMap::new(),
        }));
        let mut on_event = |event| {
            let mut tracker = seen.lock();
            let identity = tracker.take(event);
            if let Some(news) = tracker.news(&identity, None) {
                self.emit(news);
            }
            tracker.is_settled()
        };
        let identities: Vec<Identity> = wanted.iter().map(|a| a.identity.clone()).collect();
        let watched = async {
            let watching = self.backend.watch(&identities, timeout, &mut on_event);
            match select(pin!(watching), pin!(self.until_one_crashes(seen))).await {
                Either::Left((watched, _)) => watched.map(drop),
                Either::Right(((), _)) => Ok(()),
            }
        };
        self.unless_stopped(permit, watched)
            .await
            .map_err(ApiError::stopped)??;
        let mut not_ready = Vec::new();
        for awaited in wanted {
            let identity = &awaited.identity;
            let (health, object) = {
                let tracker = seen.lock();
                let object = tracker.objects.get(identity).cloned().flatten();
                (tracker.health(awaited), object)
            };
            if !health.is_ready() {
                not_ready.push(UnreadyObject {
                    identity: identity.clone(),
                    failed: health.state == HealthState::Failed,
                    reason: self.explain(&health, object.as_ref()).await,
                });
            }
        }
        Ok(not_ready)
    }

    /// Looks at the pods of workloads that are not ready, tells what they say, and ends when one
    /// of them crashes again and again.
    async fn until_one_crashes(&self, seen: &SharedTracker<'_>) {
        let mut hidden: BTreeSet<Identity> = BTreeSet::new();
        let mut crashed: BTreeSet<Identity> = BTreeSet::new();
        loop {
            self.backend.sleep(LOOK_AT_PODS).await;
            let workloads = seen.lock().unready_workloads();
            let mut crashing = BTreeSet::new();
            for (identity, workload) in workloads {
                if hidden.contains(&identity) {
                    continue;
                }
                let pods = match self.backend.pods_of(&workload).await {
                    Ok(pods) => pods,
                    Err(error) if error.kind == ApiErrorKind::Forbidden => {
                        hidden.insert(identity);
                        continue;
                    }
                    // The next look may have more luck, and the time is bounded.
                    Err(_) => continue,
                };
                let mut tracker = seen.lock();
                if let Some(crash) = health::crash_loop(&workload, &pods) {
                    let crash = self.backend.without_secrets(&crash);
                    if crashed.contains(&identity) {
                        tracker.crashes.insert(identity, crash);
                        return;
                    }
                    crashing.insert(identity.clone());
                }
                let mut health = health::with_pods(health::of(&workload), &pods);
                health.message = self.backend.without_secrets(&health.message);
                if let Some(news) = tracker.news(&identity, Some(health)) {
                    self.emit(news);
                }
            }
            crashed = crashing;
        }
    }

    /// What the object says, and behind it what its pods say.
    pub(crate) async fn explain(
        &self,
        health: &Health,
        object: Option<&Map<String, Value>>,
    ) -> String {
        let reason = health.message.clone();
        let reason = match object {
            Some(workload) => self.explain_by_pods(reason, workload).await,
            None => reason,
        };
        self.backend.without_secrets(&reason)
    }

    async fn explain_by_pods(&self, mut reason: String, workload: &Map<String, Value>) -> String {
        match self.backend.pods_of(workload).await {
            Ok(pods) => {
                let crash = health::crash_loop(workload, &pods);
                let crash = crash.map(|crash| self.backend.without_secrets(&crash));
                match health::why_not_ready(&pods) {
                    // A crash has been told with its pod.
                    Some(_) if crash.as_ref() == Some(&reason) => {}
                    Some(why) => reason = format!("{reason} ({why})"),
                    None => {}
                }
                if let Some(said) = self.last_words(&reason, &pods).await {
                    reason = format!("{reason}; {said}");
                }
                if let Some(event) = self.last_warning(workload, &pods).await
                    && !reason.contains(&event.message)
                {
                    reason = format!("{reason}; last event: {}: {}", event.reason, event.message);
                }
            }
            Err(error) if error.kind == ApiErrorKind::Forbidden => {
                reason = format!("{reason} (its pods may not be listed)");
            }
            Err(_) => {}
        }
        reason
    }

    /// What the container that is not ready runs, and what it wrote last, unless that was told.
    async fn last_words(&self, told: &str, pods: &[Map<String, Value>]) -> Option<String> {
        let container = health::unready_container(pods)?;
        let log = PodLog {
            namespace: container.namespace,
            pod: container.pod,
            container: container.name,
            tail: Some(LAST_LINES),
            since: None,
            previous: container.log == ContainerLife::Previous,
        };
        let wrote = match container.log {
            ContainerLife::None => None,
            // What cannot be read is left out: the rest is worth telling.
            _ => self.backend.pod_log(&log).await.ok(),
        };
        let lines = wrote.map(|wrote| below::log_lines(&wrote, None));
        let mut lines = lines.unwrap_or_default().into_iter().rev();
        let line = lines.find_map(|line| health::last_line(&line.text));
        let line = line.filter(|line| !told.contains(line.as_str()));
        let is_news = line.is_some() || !told.contains(container.image);
        is_news.then(|| container.words(line.as_deref()))
    }

    /// What the cluster last warned of about a workload or its pods, as far as it may be asked.
    async fn last_warning(
        &self,
        workload: &Map<String, Value>,
        pods: &[Map<String, Value>],
    ) -> Option<ClusterEvent> {
        let namespace = metadata(workload, "namespace")?;
        let kind = GroupKind::new("", "Event");
        let events = self
            .backend
            .list(&kind, Some(namespace), None, Detail::Whole);
        let events = events.await.ok()?;
        let objects = pods.iter().chain([workload]);
        let uids = objects
            .filter_map(|object| metadata(object, "uid"))
            .collect();
        let mut told = below::events_about(&uids, &events, usize::MAX);
        told.retain(|event| event.severity == "Warning");
        told.pop()
    }
}
