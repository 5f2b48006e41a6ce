//! The cluster port: one line per verb, the work is in the files of that name.

use std::collections::BTreeMap;
use std::time::Duration;

use opm_core::identity::{GroupKind, Identity};
use opm_engine::ports::{
    ApiError, ApplyObject, ApplyResponse, Cluster, DeleteObject, DeleteOutcome, Detail,
    DisownObject, Found, Gate, ServedKinds, WatchEvent,
};
use serde_json::{Map, Value};

use crate::client::ClusterClient;
use crate::list::Selectors;
use crate::request::Call;
use crate::send::SendOptions;

/// A name in a log is not worth waiting long for.
const WHO_AM_I: Duration = Duration::from_secs(6);

impl Cluster for ClusterClient {
    async fn served(&self) -> Result<ServedKinds, ApiError> {
        self.discover().await.map(|served| (*served).clone())
    }

    async fn look(&self, wanted: &[Identity], detail: Detail) -> BTreeMap<Identity, Found> {
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

    async fn apply(
        &self,
        request: ApplyObject<'_>,
        gate: &Gate,
    ) -> Result<ApplyResponse, ApiError> {
        self.apply_one(&request, gate).await
    }

    async fn delete(
        &self,
        request: DeleteObject<'_>,
        gate: &Gate,
    ) -> Result<DeleteOutcome, ApiError> {
        self.delete_one(&request, gate).await
    }

    async fn part(&self, request: DisownObject<'_>, gate: &Gate) -> Result<(), ApiError> {
        self.disown_one(&request, gate).await
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

    fn take_warnings(&self) -> Vec<String> {
        self.warnings().take()
    }

    async fn user(&self) -> Option<String> {
        let options = SendOptions::reading(self).within(WHO_AM_I);
        let done = self.exchange(&Call::who_am_i(), options).await;
        let answer = done.result.ok()?;
        let review: Value = serde_json::from_slice(&answer.body).ok()?;
        let name = review["status"]["userInfo"]["username"].as_str()?;
        Some(name.to_owned())
    }
}
