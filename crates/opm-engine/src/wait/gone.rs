//! Waiting until deleted objects are really gone.

use std::collections::BTreeMap;
use std::time::Duration;

use opm_core::identity::Identity;
use serde_json::{Map, Value};

use crate::ports::{ApiError, Permit, WatchEvent};
use crate::run::Run;

impl Run<'_> {
    /// Waits until these lives of these objects are over, and answers with those that are not,
    /// each with what holds it.
    pub(crate) async fn wait_gone(
        &self,
        wanted: &BTreeMap<Identity, String>,
        timeout: Duration,
        permit: Permit<'_>,
    ) -> Result<Vec<(Identity, String)>, ApiError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let identities: Vec<Identity> = wanted.keys().cloned().collect();
        let mut there: BTreeMap<Identity, String> = wanted
            .keys()
            .map(|identity| (identity.clone(), "nothing was heard of it".to_owned()))
            .collect();
        let mut on_event = |event| {
            match event {
                WatchEvent::Gone(identity) => {
                    there.remove(&identity);
                }
                WatchEvent::Seen(identity, object) => match wanted.get(&identity) {
                    Some(uid) if uid_of(&object) == Some(uid) => {
                        there.insert(identity, holds(&object));
                    }
                    _ => {
                        there.remove(&identity);
                    }
                },
            }
            there.is_empty()
        };
        let watched = self.backend.watch(&identities, timeout, &mut on_event);
        self.unless_stopped(permit, watched)
            .await
            .map_err(ApiError::stopped)??;
        Ok(there.into_iter().collect())
    }
}

fn uid_of(object: &Map<String, Value>) -> Option<&str> {
    object.get("metadata")?.get("uid")?.as_str()
}

/// What keeps an object that was deleted.
fn holds(object: &Map<String, Value>) -> String {
    let finalizers: Vec<&str> = object
        .get("metadata")
        .and_then(|metadata| metadata.get("finalizers"))
        .and_then(Value::as_array)
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    match finalizers.is_empty() {
        true => "it is still there".to_owned(),
        false => format!("finalizers hold it: {}", finalizers.join(", ")),
    }
}
