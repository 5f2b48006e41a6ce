//! The Secret in which a release's record is kept, decoded.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use opm_core::labels;
use opm_core::record::{self, Record, SecretParts, Stored};
use serde_json::Value;

/// A release's inventory Secret.
#[derive(Debug, Clone)]
pub struct StoredRelease {
    secret: Secret,
}

impl StoredRelease {
    /// The Secret of the release of this name in this namespace, if there is one.
    ///
    /// # Panics
    /// When several releases have that name.
    pub async fn find(client: &Client, namespace: &str, name: &str) -> kube::Result<Option<Self>> {
        let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let selector = format!(
            "{}={name},{}={}",
            labels::RELEASE_NAME,
            labels::COMPONENT,
            labels::COMPONENT_INVENTORY
        );
        let mut found = api
            .list(&ListParams::default().labels(&selector))
            .await?
            .items;
        assert!(
            found.len() < 2,
            "{} releases are called {name}",
            found.len()
        );
        Ok(found.pop().map(|secret| Self { secret }))
    }

    /// The Secret as it is.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// One key of it, as JSON.
    #[must_use]
    pub fn json(&self, key: &str) -> Option<Value> {
        self.data()
            .get(key)
            .map(|bytes| serde_json::from_slice(bytes).expect("JSON"))
    }

    /// The names of its keys.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.data().into_keys().collect()
    }

    /// The record in it.
    ///
    /// # Panics
    /// When it is damaged or in an unknown format.
    #[must_use]
    pub fn record(&self) -> Record {
        let parts = SecretParts {
            data: self.data(),
            labels: self.secret.labels().clone(),
            annotations: self.secret.annotations().clone(),
        };
        match record::decode(&parts)
            .expect("a record that is not damaged")
            .stored
        {
            Stored::Writable(record) => record,
            Stored::ReadOnly(other) => panic!("a record of format {}", other.api_version()),
        }
    }

    fn data(&self) -> BTreeMap<String, Vec<u8>> {
        let data = self.secret.data.clone().unwrap_or_default();
        data.into_iter()
            .map(|(key, bytes)| (key, bytes.0))
            .collect()
    }
}
