//! What the server serves, from memory where it says that nothing has changed since.
//!
//! The index of OpenAPI documents names the schema of every API version, by another name whenever
//! something in it is another. One request for it stands for the two, often large ones, for what is
//! served. It may lag behind by a moment, so what is remembered is enough to find objects, and never
//! to say that a kind is not there: that is asked anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use opm_core::identity::GroupKind;
use opm_core::scope::Scope;
use opm_engine::ports::{ApiError, ServedKind, ServedKinds};

use crate::client::ClusterClient;
use crate::discovery::{PATIENCE, ResolvedKind, not_reachable, resolve, schema_names};
use crate::request::Call;
use crate::send::SendOptions;

impl ClusterClient {
    /// What was found in an earlier run if it still holds, else what is found now.
    pub(crate) async fn recall(&self) -> Result<Arc<ServedKinds>, ApiError> {
        if let (Some(time), Some((served, ago))) = (self.believe_served, self.served_lately())
            && ago < time
        {
            return Ok(Arc::new(ServedKinds {
                remembered: true,
                ..(*served).clone()
            }));
        }
        let kept = self.kept_discovery().and_then(|kept| kept.read());
        let Some(kept) = kept else {
            return self.discover().await;
        };
        let schemas = Box::pin(self.schemas()).await;
        if schemas.is_empty() || schemas != kept.schemas {
            return Box::pin(self.discover_with(async { schemas })).await;
        }
        let served = Arc::new(kept);
        *self.served_cache() = Some(Arc::clone(&served));
        Ok(served)
    }

    /// What was found in an earlier run: good enough to try and find objects there. Who does not
    /// find their kind asks anew.
    fn remembered(&self) -> Option<Arc<ServedKinds>> {
        let kept = Arc::new(self.kept_discovery()?.read()?);
        *self.served_cache() = Some(Arc::clone(&kept));
        Some(kept)
    }

    /// What the schemas are called. A server that does not say so costs nothing but time later.
    pub(super) async fn schemas(&self) -> BTreeMap<String, String> {
        let options = SendOptions::reading(self).within(PATIENCE);
        let answer = self
            .exchange(&Call::discovery("/openapi/v3"), options)
            .await;
        answer
            .result
            .map_or_else(|_| BTreeMap::new(), |answer| schema_names(&answer.body))
    }

    /// What was found last, or is found now if some of these kinds are not in it: a kind may
    /// have come since.
    pub(crate) async fn served_with(
        &self,
        kinds: impl IntoIterator<Item = &GroupKind> + Send,
    ) -> Result<Arc<ServedKinds>, ApiError> {
        let cached = self.served_cache().clone();
        let cached = cached.or_else(|| self.remembered());
        let mut kinds = kinds.into_iter();
        match cached {
            Some(cached) if kinds.all(|kind| cached.kinds.contains_key(kind)) => Ok(cached),
            _ => self.discover().await,
        }
    }

    /// One kind, or why it cannot be reached.
    pub(crate) async fn served_kind(&self, kind: &GroupKind) -> Result<ServedKind, ApiError> {
        if kind.is("", "Secret") {
            return Ok(secrets());
        }
        match resolve(&*self.served_with([kind]).await?, kind) {
            ResolvedKind::Served(found) => Ok(found),
            other => Err(not_reachable(kind, &other)),
        }
    }

    /// Where a kind is served by now, after a server did not know it where it was: none if it is
    /// not served elsewhere.
    pub(crate) async fn served_elsewhere(
        &self,
        kind: &GroupKind,
        before: &ServedKind,
    ) -> Result<Option<ServedKind>, ApiError> {
        let now = match resolve(&*self.discover().await?, kind) {
            ResolvedKind::Served(now) => Some(now),
            _ => None,
        };
        Ok(now.filter(|now| now != before))
    }
}

/// Every server serves them, in this one way.
fn secrets() -> ServedKind {
    ServedKind {
        preferred: "v1".to_owned(),
        versions: vec!["v1".to_owned()],
        plural: "secrets".to_owned(),
        short_names: Vec::new(),
        scope: Scope::Namespaced,
        listable: true,
        deletable: true,
    }
}
