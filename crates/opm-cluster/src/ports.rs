//! The cluster port: one line per verb, the work is in the files of that name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use opm_core::identity::{GroupKind, Identity};
use opm_core::packed::PackedObject;
use opm_core::rights::{AccessRule, ResourceRight};
use opm_engine::ports::{
    ApiError, ApplyObject, ApplyResponse, Backend, Clock, Cluster, Collection, DeleteObject,
    DeleteOutcome, Detail, DisownObject, Instant, ListedCollection, MoveFields, Observation,
    Permit, PodLog, PretendedPatch, ServedKinds, Timestamp, WantedObject, WatchEvent,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::client::ClusterClient;
use crate::errors::shorten;
use crate::json;
use crate::list::Selectors;
use crate::request::Call;
use crate::send::SendOptions;

/// A name in a log is not worth waiting long for.
const WHO_AM_I: Duration = Duration::from_secs(6);

#[async_trait]
impl Cluster for ClusterClient {
    async fn served(&self) -> Result<Arc<ServedKinds>, ApiError> {
        self.discover().await
    }

    async fn recall_served(&self) -> Result<Arc<ServedKinds>, ApiError> {
        self.recall().await
    }

    async fn look_in_version(
        &self,
        wanted: &[WantedObject],
        detail: Detail,
    ) -> BTreeMap<Identity, Observation<PackedObject>> {
        self.look_at(wanted, detail).await
    }

    async fn list(
        &self,
        kind: &GroupKind,
        namespace: Option<&str>,
        label: Option<(&str, &str)>,
        detail: Detail,
    ) -> Result<Vec<Map<String, Value>>, ApiError> {
        let label = label.map(|(name, value)| format!("{name}={value}"));
        let selectors = Selectors {
            detail,
            labels: label.as_deref(),
            fields: None,
        };
        self.list_kind(kind, namespace, selectors).await
    }

    async fn list_collection(&self, of: &Collection) -> Result<ListedCollection, ApiError> {
        self.list_together(of).await
    }

    async fn watch_collection(
        &self,
        of: &Collection,
        resource_version: &str,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        self.watch_together(of, resource_version, on_event).await
    }

    fn expect_requests(&self, count: usize) {
        self.make_ready(count);
    }

    async fn apply(
        &self,
        request: ApplyObject<'_>,
        permit: Permit<'_>,
    ) -> Result<ApplyResponse, ApiError> {
        let applied = self.apply_one(&request, permit).await?;
        if !request.dry_run {
            self.log_write(request.identity, &applied.object);
        }
        Ok(applied)
    }

    async fn delete(
        &self,
        request: DeleteObject<'_>,
        permit: Permit<'_>,
    ) -> Result<DeleteOutcome, ApiError> {
        self.delete_one(&request, permit).await
    }

    async fn disown(&self, request: DisownObject<'_>, permit: Permit<'_>) -> Result<(), ApiError> {
        self.disown_one(&request, permit).await
    }

    async fn move_fields(
        &self,
        request: MoveFields<'_>,
        permit: Permit<'_>,
    ) -> Result<(), ApiError> {
        self.move_fields_of(&request, permit).await
    }

    async fn pretend_patch(
        &self,
        request: PretendedPatch<'_>,
        permit: Permit<'_>,
    ) -> Result<Map<String, Value>, ApiError> {
        self.pretend_patch_of(&request, permit).await
    }

    async fn watch(
        &self,
        wanted: &[Identity],
        timeout: Duration,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        self.watch_all(wanted, timeout, on_event).await
    }

    async fn pods_of(
        &self,
        workload: &Map<String, Value>,
    ) -> Result<Vec<Map<String, Value>>, ApiError> {
        self.pods_by_selector(workload).await
    }

    async fn pod_log(&self, log: &PodLog<'_>) -> Result<String, ApiError> {
        self.log_of(log).await
    }

    fn hide(&self, object: &Map<String, Value>) {
        self.known().learn(object);
    }

    fn without_secrets(&self, text: &str) -> String {
        self.known().redact(text)
    }

    async fn access_rules(&self, namespace: &str) -> Result<Vec<AccessRule>, ApiError> {
        self.rules_in(namespace).await
    }

    async fn is_allowed(
        &self,
        right: &ResourceRight,
        name: Option<&str>,
    ) -> Result<bool, ApiError> {
        self.may(right, name).await
    }

    fn take_warnings(&self) -> Vec<String> {
        self.warnings().take()
    }

    async fn user(&self) -> Option<String> {
        let options = SendOptions::reading(self).within(WHO_AM_I);
        let done = self.exchange(&Call::who_am_i(), options).await;
        let answer = done.result.ok()?;
        let review: Value = json::read(&answer.body, "who asks").ok()?;
        let name = review["status"]["userInfo"]["username"].as_str()?;
        Some(shorten(name))
    }
}

#[async_trait]
impl Clock for ClusterClient {
    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn monotonic(&self) -> Instant {
        self.clock.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }
}

impl Backend for ClusterClient {
    fn for_run(&self, act_as: Option<&str>) -> Arc<dyn Backend> {
        Arc::new(self.with_fresh_run(act_as))
    }

    fn with_reads_until(&self, cancel: Option<CancellationToken>) -> Arc<dyn Backend> {
        Arc::new(self.with_cancel(cancel))
    }
}
