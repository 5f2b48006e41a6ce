//! Waiting until objects are ready, and saying which are not, and why.

use std::collections::BTreeMap;
use std::time::Duration;

use opm_core::health::{self, Health, HealthState};
use opm_core::identity::Identity;
use serde_json::{Map, Value};

use crate::ports::{ApiError, ApiErrorKind, Backend, Permit, WatchEvent};
use crate::run::Run;

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
}

/// What was seen of the awaited objects last.
struct ReadinessTracker<'a> {
    wanted: &'a [WaitTarget],
    objects: BTreeMap<Identity, Option<Map<String, Value>>>,
}

impl ReadinessTracker<'_> {
    fn take(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Seen(identity, object) => self.objects.insert(identity, Some(object)),
            WatchEvent::Gone(identity) => self.objects.insert(identity, None),
        };
    }

    fn health(&self, awaited: &WaitTarget) -> Health {
        match self.objects.get(&awaited.identity) {
            Some(Some(object)) => health::of(object),
            Some(None) if awaited.expires => Health::ready(),
            Some(None) => Health::progressing("it is not there"),
            None => Health::progressing("nothing was heard of it"),
        }
    }

    /// Everything is ready, or something never will be: waiting longer changes nothing.
    fn is_settled(&self) -> bool {
        let states = || self.wanted.iter().map(|awaited| self.health(awaited).state);
        states().all(|state| state == HealthState::Ready)
            || states().any(|s| s == HealthState::Failed)
    }
}

impl<B: Backend> Run<'_, B> {
    /// Waits until all of these objects are ready. Answers with those that are not when the
    /// time is over, or when one of them has failed for good.
    pub(crate) async fn wait_ready(
        &self,
        wanted: &[WaitTarget],
        timeout: Duration,
        permit: Permit<'_>,
    ) -> Result<Vec<UnreadyObject>, ApiError> {
        let mut seen = ReadinessTracker {
            wanted,
            objects: BTreeMap::new(),
        };
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut on_event = |event| {
            seen.take(event);
            seen.is_settled()
        };
        let identities: Vec<Identity> = wanted.iter().map(|a| a.identity.clone()).collect();
        let watched = self.backend.watch(&identities, timeout, &mut on_event);
        self.unless_stopped(permit, watched)
            .await
            .map_err(ApiError::stopped)??;
        let mut not_ready = Vec::new();
        for awaited in wanted {
            let identity = &awaited.identity;
            let health = seen.health(awaited);
            if !health.is_ready() {
                let object = seen.objects.get(identity).and_then(Option::as_ref);
                not_ready.push(UnreadyObject {
                    identity: identity.clone(),
                    reason: self.explain(&health, object).await,
                });
            }
        }
        Ok(not_ready)
    }

    /// What the object says, and behind it what its pods say.
    async fn explain(&self, health: &Health, object: Option<&Map<String, Value>>) -> String {
        let mut reason = health.message.clone();
        let Some(workload) = object else {
            return reason;
        };
        match self.backend.pods_of(workload).await {
            Ok(pods) => {
                if let Some(why) = health::why_not_ready(&pods) {
                    reason = format!("{reason} ({why})");
                }
            }
            Err(error) if error.kind == ApiErrorKind::Forbidden => {
                reason = format!("{reason} (its pods may not be listed)");
            }
            Err(_) => {}
        }
        reason
    }
}
