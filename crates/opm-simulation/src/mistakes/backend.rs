//! The cluster's client with a mistake in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use opm_cluster::ClusterClient;
use opm_core::identity::{GroupKind, Identity};
use opm_core::packed::PackedObject;
use opm_core::rights::{AccessRule, ResourceRight};
use opm_engine::ports::{
    ApiError, ApiErrorKind, ApplyObject, ApplyResponse, Backend, Clock, Cluster, Collection,
    DeleteObject, DeleteOutcome, Detail, DisownObject, Instant, ListedCollection, MoveFields,
    Observation, Permit, PodLog, Precondition, PretendedPatch, RemoveOutcome, SecretContent,
    SecretStore, SecretVersion, ServedKinds, StoredSecret, Timestamp, WantedObject, WatchEvent,
    WriteOutcome,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::Mistake;

/// The cluster's client, perhaps with a mistake.
#[derive(Clone)]
pub(crate) struct Mistaken {
    real: Arc<dyn Backend>,
    mistake: Option<Mistake>,
    seen: Arc<Mutex<Remembered>>,
}

#[derive(Debug, Default)]
pub(super) struct Remembered {
    absent: Vec<Identity>,
    pub(super) failed: bool,
}

impl Mistaken {
    pub(crate) fn new(real: ClusterClient, mistake: Option<Mistake>) -> Self {
        Self {
            real: Arc::new(real),
            mistake,
            seen: Arc::default(),
        }
    }

    pub(super) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub(super) fn remembered<T>(&self, work: impl FnOnce(&mut Remembered) -> T) -> T {
        work(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn permit<'a>(&self, mut permit: Permit<'a>) -> Permit<'a> {
        let failed = self.remembered(|seen| seen.failed);
        if self.makes(Mistake::FenceNotChecked)
            || self.makes(Mistake::RenewalSkipped)
            || (self.makes(Mistake::NoLockAfterFailure) && failed)
        {
            permit.fence = None;
        }
        if self.makes(Mistake::DoubtForgotten) {
            permit.doubt = None;
        }
        permit
    }
}

#[async_trait]
impl Cluster for Mistaken {
    async fn served(&self) -> Result<Arc<ServedKinds>, ApiError> {
        self.real.served().await
    }

    async fn recall_served(&self) -> Result<Arc<ServedKinds>, ApiError> {
        self.real.recall_served().await
    }

    async fn look_in_version(
        &self,
        wanted: &[WantedObject],
        detail: Detail,
    ) -> BTreeMap<Identity, Observation<PackedObject>> {
        let mut seen = self.real.look_in_version(wanted, detail).await;
        for (identity, observation) in &mut seen {
            if self.makes(Mistake::StaleListIsAbsence) {
                let absent = matches!(observation, Observation::Absent);
                let before = self.remembered(|seen| {
                    let before = seen.absent.contains(identity);
                    if absent && !before {
                        seen.absent.push(identity.clone());
                    }
                    before
                });
                if before {
                    *observation = Observation::Absent;
                }
            }
            if self.makes(Mistake::ForbiddenIsAbsence)
                && matches!(observation, Observation::Failed(error)
                    if error.kind == ApiErrorKind::Forbidden)
            {
                *observation = Observation::Absent;
            }
            if self.makes(Mistake::SharedIsOwn)
                && let Observation::Present(packed) = observation
                && let mut object = packed.unpack()
                && let Some(labels) = object
                    .get_mut("metadata")
                    .and_then(|metadata| metadata.get_mut("labels"))
                    .and_then(Value::as_object_mut)
            {
                let shared: Vec<String> = labels
                    .keys()
                    .filter(|key| key.starts_with("shared."))
                    .cloned()
                    .collect();
                for key in shared.into_iter().skip(1) {
                    labels.remove(&key);
                }
                *packed = PackedObject::new(&object);
            }
        }
        seen
    }

    async fn list(
        &self,
        kind: &GroupKind,
        namespace: Option<&str>,
        label: Option<(&str, &str)>,
        detail: Detail,
    ) -> Result<Vec<Map<String, Value>>, ApiError> {
        self.real.list(kind, namespace, label, detail).await
    }

    async fn list_collection(&self, of: &Collection) -> Result<ListedCollection, ApiError> {
        self.real.list_collection(of).await
    }

    async fn watch_collection(
        &self,
        of: &Collection,
        resource_version: &str,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        self.real
            .watch_collection(of, resource_version, on_event)
            .await
    }

    async fn apply(
        &self,
        mut request: ApplyObject<'_>,
        permit: Permit<'_>,
    ) -> Result<ApplyResponse, ApiError> {
        let object = request.object;
        let dry_run = request.dry_run;
        if self.makes(Mistake::CreateMerges) && request.precondition == Precondition::Absent {
            let wanted = std::slice::from_ref(request.identity);
            let seen = self.real.look(wanted, Detail::Metadata).await;
            if let Some(Observation::Present(found)) = seen.into_values().next() {
                let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
                request.precondition = Precondition::Exists {
                    uid: uid.to_owned(),
                };
            }
        }
        if self.makes(Mistake::UpdateWithoutVersion)
            && let Precondition::Unchanged { uid, .. } = request.precondition
        {
            request.precondition = Precondition::Exists { uid };
        }
        let result = self.real.apply(request, self.permit(permit)).await;
        if result.is_err() && !dry_run {
            self.remembered(|seen| seen.failed = true);
            if self.makes(Mistake::PruneBeforeAllIsApplied) {
                return Ok(ApplyResponse {
                    created: false,
                    object: object.clone(),
                });
            }
        }
        result
    }

    async fn delete(
        &self,
        mut request: DeleteObject<'_>,
        permit: Permit<'_>,
    ) -> Result<DeleteOutcome, ApiError> {
        let permit = self.permit(permit);
        if self.makes(Mistake::DeleteWithoutVersion) {
            request.resource_version = None;
        }
        if self.makes(Mistake::DeleteWithoutUid) {
            let wanted = std::slice::from_ref(request.identity);
            let seen = self.real.look(wanted, Detail::Metadata).await;
            if let Some(Observation::Present(found)) = seen.into_values().next() {
                let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
                let request = DeleteObject {
                    uid,
                    resource_version: None,
                    ..request
                };
                return self.real.delete(request, permit).await;
            }
        }
        self.real.delete(request, permit).await
    }

    async fn disown(&self, request: DisownObject<'_>, permit: Permit<'_>) -> Result<(), ApiError> {
        self.real.disown(request, self.permit(permit)).await
    }

    async fn move_fields(
        &self,
        request: MoveFields<'_>,
        permit: Permit<'_>,
    ) -> Result<(), ApiError> {
        self.real.move_fields(request, self.permit(permit)).await
    }

    async fn pretend_patch(
        &self,
        request: PretendedPatch<'_>,
        permit: Permit<'_>,
    ) -> Result<Map<String, Value>, ApiError> {
        self.real.pretend_patch(request, permit).await
    }

    async fn access_rules(&self, namespace: &str) -> Result<Vec<AccessRule>, ApiError> {
        self.real.access_rules(namespace).await
    }

    async fn is_allowed(
        &self,
        right: &ResourceRight,
        name: Option<&str>,
    ) -> Result<bool, ApiError> {
        self.real.is_allowed(right, name).await
    }

    async fn watch(
        &self,
        wanted: &[Identity],
        timeout: Duration,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        self.real.watch(wanted, timeout, on_event).await
    }

    async fn pods_of(
        &self,
        workload: &Map<String, Value>,
    ) -> Result<Vec<Map<String, Value>>, ApiError> {
        self.real.pods_of(workload).await
    }

    async fn pod_log(&self, log: &PodLog<'_>) -> Result<String, ApiError> {
        self.real.pod_log(log).await
    }

    fn hide(&self, object: &Map<String, Value>) {
        self.real.hide(object);
    }

    fn without_secrets(&self, text: &str) -> String {
        self.real.without_secrets(text)
    }

    fn take_warnings(&self) -> Vec<String> {
        self.real.take_warnings()
    }

    async fn user(&self) -> Option<String> {
        self.real.user().await
    }
}

#[async_trait]
impl SecretStore for Mistaken {
    fn server_time(&self) -> Option<Timestamp> {
        self.real.server_time()
    }

    async fn get_secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<StoredSecret>, ApiError> {
        let stored = self.real.get_secret(namespace, name).await?;
        Ok(stored.map(|stored| self.misread(stored)))
    }

    async fn list_secrets(
        &self,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<StoredSecret>, ApiError> {
        self.real.list_secrets(namespace, labels).await
    }

    async fn create_secret(
        &self,
        content: &SecretContent,
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        let content = self.spoilt(content);
        self.real.create_secret(&content, self.permit(permit)).await
    }

    async fn replace_secret(
        &self,
        content: &SecretContent,
        resource_version: &str,
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        let permit = self.permit(permit);
        let content = self.spoilt(content);
        if self.makes(Mistake::RecordWithoutVersion)
            && let Ok(Some(now)) = self
                .real
                .get_secret(&content.namespace, &content.name)
                .await
        {
            let version = &now.resource_version;
            return self.real.replace_secret(&content, version, permit).await;
        }
        self.real
            .replace_secret(&content, resource_version, permit)
            .await
    }

    async fn write_lock(
        &self,
        at: SecretVersion<'_>,
        lock: &[u8],
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        if self.makes(Mistake::RenewalSkipped)
            && let Ok(Some(now)) = self.real.get_secret(at.namespace, at.name).await
        {
            return Ok(WriteOutcome::Written(Box::new(now)));
        }
        self.real.write_lock(at, lock, self.permit(permit)).await
    }

    async fn remove_secret(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        resource_version: Option<&str>,
        permit: Permit<'_>,
    ) -> Result<RemoveOutcome, ApiError> {
        let permit = self.permit(permit);
        let version = match self.makes(Mistake::RemovalWithoutVersion) {
            true => None,
            false => resource_version,
        };
        self.real
            .remove_secret(namespace, name, uid, version, permit)
            .await
    }
}

#[async_trait]
impl Clock for Mistaken {
    fn wall(&self) -> Timestamp {
        self.real.wall()
    }

    fn monotonic(&self) -> Instant {
        self.real.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        self.real.sleep(duration).await;
    }
}

impl Backend for Mistaken {
    fn for_run(&self, act_as: Option<&str>) -> Arc<dyn Backend> {
        // What a run begins after its own failure is the way back.
        let goes_back = self.remembered(|seen| seen.failed);
        Arc::new(Self {
            real: self.real.for_run(act_as),
            mistake: self.mistake,
            seen: match goes_back {
                true => self.seen.clone(),
                false => Arc::default(),
            },
        })
    }

    fn with_reads_until(&self, cancel: Option<CancellationToken>) -> Arc<dyn Backend> {
        Arc::new(Self {
            real: self.real.with_reads_until(cancel),
            ..self.clone()
        })
    }
}
