//! A clock and a store under control.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use opm_core::identity::{GroupKind, Identity};
use opm_core::packed::PackedObject;
use opm_core::rights::{AccessRule, ResourceRight};
use serde_json::{Map, Value};

use crate::ports::{
    ApiError, ApiErrorKind, ApplyObject, ApplyResponse, Backend, Clock, Cluster, Collection,
    DeleteObject, DeleteOutcome, Detail, DisownObject, Instant, ListedCollection, MoveFields,
    Observation, Permit, PodLog, PretendedPatch, RemoveOutcome, SecretContent, SecretStore,
    SecretVersion, ServedKinds, StoredSecret, Timestamp, WantedObject, WatchEvent, WriteOutcome,
};

/// A clock that moves only when somebody sleeps.
#[derive(Clone, Default)]
pub(super) struct TestClock(Arc<Mutex<Duration>>);

impl TestClock {
    pub(super) fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

#[async_trait]
impl Clock for TestClock {
    fn wall(&self) -> Timestamp {
        Timestamp(self.now())
    }

    fn monotonic(&self) -> Instant {
        Instant(self.now())
    }

    async fn sleep(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
        yield_once().await;
    }
}

/// One Secret, and what happens to it when nobody looks.
#[derive(Clone, Default)]
pub(super) struct Store {
    pub(super) secret: Arc<Mutex<Option<StoredSecret>>>,
    pub(super) clock: TestClock,
    /// Whether lock writes get no answer.
    pub(super) silent: Arc<Mutex<bool>>,
    /// Called on every read, with how many there were.
    pub(super) on_read: Arc<Mutex<Option<OnRead>>>,
    pub(super) reads: Arc<Mutex<usize>>,
}

pub(super) type OnRead = Box<dyn Fn(usize, &mut StoredSecret) + Send>;

impl Store {
    pub(super) fn put(
        &self,
        content: &SecretContent,
        lock_written: Option<Timestamp>,
    ) -> StoredSecret {
        let mut slot = self.secret.lock().unwrap();
        let version = slot
            .as_ref()
            .map_or(0, |s| s.resource_version.parse::<u64>().unwrap());
        let stored = StoredSecret {
            content: content.clone(),
            uid: "u".to_owned(),
            resource_version: (version + 1).to_string(),
            lock_written,
            server_time: self.clock.wall(),
            terminating: false,
        };
        *slot = Some(stored.clone());
        stored
    }

    fn at(&self, version: &str) -> bool {
        let slot = self.secret.lock().unwrap();
        slot.as_ref().is_some_and(|s| s.resource_version == version)
    }
}

pub(super) fn no_answer() -> ApiError {
    ApiError::local(ApiErrorKind::Unreachable, "no answer")
}

#[async_trait]
impl SecretStore for Store {
    fn server_time(&self) -> Option<Timestamp> {
        Some(self.clock.wall())
    }

    async fn get_secret(&self, _: &str, _: &str) -> Result<Option<StoredSecret>, ApiError> {
        let mut slot = self.secret.lock().unwrap();
        let mut reads = self.reads.lock().unwrap();
        *reads += 1;
        if let (Some(stored), Some(act)) = (slot.as_mut(), &*self.on_read.lock().unwrap()) {
            act(*reads, stored);
        }
        if let Some(stored) = slot.as_mut() {
            stored.server_time = self.clock.wall();
        }
        Ok(slot.clone())
    }

    async fn list_secrets(
        &self,
        _: Option<&str>,
        _: &[(&str, &str)],
    ) -> Result<Vec<StoredSecret>, ApiError> {
        Ok(Vec::new())
    }

    async fn create_secret(
        &self,
        _: &SecretContent,
        _: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        Ok(WriteOutcome::Lost)
    }

    async fn replace_secret(
        &self,
        content: &SecretContent,
        version: &str,
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        let now = (self.clock.monotonic(), self.clock.wall());
        permit.check(now).map_err(ApiError::stopped)?;
        match self.at(version) {
            true => Ok(WriteOutcome::Written(Box::new(
                self.put(content, Some(self.clock.wall())),
            ))),
            false => Ok(WriteOutcome::Lost),
        }
    }

    async fn write_lock(
        &self,
        at: SecretVersion<'_>,
        lock: &[u8],
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        let now = (self.clock.monotonic(), self.clock.wall());
        permit.check(now).map_err(ApiError::stopped)?;
        if *self.silent.lock().unwrap() {
            return Err(no_answer());
        }
        if !self.at(at.resource_version) {
            return Ok(WriteOutcome::Lost);
        }
        let mut content = self.secret.lock().unwrap().clone().unwrap().content;
        content.data.insert("lock".to_owned(), lock.to_vec());
        let stored = self.put(&content, Some(self.clock.wall()));
        Ok(WriteOutcome::Written(Box::new(stored)))
    }

    async fn remove_secret(
        &self,
        _: &str,
        _: &str,
        _: &str,
        _: Option<&str>,
        _: Permit<'_>,
    ) -> Result<RemoveOutcome, ApiError> {
        Ok(RemoveOutcome::Gone)
    }
}

#[async_trait]
impl Clock for Store {
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

/// There is nothing in this cluster but the one Secret.
#[async_trait]
impl Cluster for Store {
    async fn served(&self) -> Result<Arc<ServedKinds>, ApiError> {
        Ok(Arc::default())
    }

    async fn recall_served(&self) -> Result<Arc<ServedKinds>, ApiError> {
        self.served().await
    }

    async fn look_in_version(
        &self,
        _: &[WantedObject],
        _: Detail,
    ) -> BTreeMap<Identity, Observation<PackedObject>> {
        BTreeMap::new()
    }

    async fn list(
        &self,
        _: &GroupKind,
        _: Option<&str>,
        _: Option<(&str, &str)>,
        _: Detail,
    ) -> Result<Vec<Map<String, Value>>, ApiError> {
        Ok(Vec::new())
    }

    async fn list_collection(&self, _: &Collection) -> Result<ListedCollection, ApiError> {
        Err(no_answer())
    }

    async fn watch_collection(
        &self,
        _: &Collection,
        _: &str,
        _: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        Err(no_answer())
    }

    async fn apply(&self, _: ApplyObject<'_>, _: Permit<'_>) -> Result<ApplyResponse, ApiError> {
        Err(no_answer())
    }

    async fn delete(&self, _: DeleteObject<'_>, _: Permit<'_>) -> Result<DeleteOutcome, ApiError> {
        Err(no_answer())
    }

    async fn disown(&self, _: DisownObject<'_>, _: Permit<'_>) -> Result<(), ApiError> {
        Err(no_answer())
    }

    async fn move_fields(&self, _: MoveFields<'_>, _: Permit<'_>) -> Result<(), ApiError> {
        Err(no_answer())
    }

    async fn pretend_patch(
        &self,
        _: PretendedPatch<'_>,
        _: Permit<'_>,
    ) -> Result<Map<String, Value>, ApiError> {
        Err(no_answer())
    }

    async fn watch(
        &self,
        _: &[Identity],
        _: Duration,
        _: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        Err(no_answer())
    }

    async fn pods_of(&self, _: &Map<String, Value>) -> Result<Vec<Map<String, Value>>, ApiError> {
        Ok(Vec::new())
    }

    async fn pod_log(&self, _: &PodLog<'_>) -> Result<String, ApiError> {
        Err(no_answer())
    }

    fn hide(&self, _: &Map<String, Value>) {}

    fn without_secrets(&self, text: &str) -> String {
        text.to_owned()
    }

    async fn access_rules(&self, _: &str) -> Result<Vec<AccessRule>, ApiError> {
        Err(no_answer())
    }

    async fn is_allowed(&self, _: &ResourceRight, _: Option<&str>) -> Result<bool, ApiError> {
        Err(no_answer())
    }

    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }

    async fn user(&self) -> Option<String> {
        None
    }
}

impl Backend for Store {
    fn for_run(&self, _: Option<&str>) -> Arc<dyn Backend> {
        Arc::new(self.clone())
    }

    fn with_reads_until(&self, _: Option<tokio_util::sync::CancellationToken>) -> Arc<dyn Backend> {
        Arc::new(self.clone())
    }
}

/// Lets the other side of a select have its turn.
pub(super) async fn yield_once() {
    let mut polled = false;
    futures::future::poll_fn(|context| {
        if polled {
            return std::task::Poll::Ready(());
        }
        polled = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
