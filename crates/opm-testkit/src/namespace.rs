//! A namespace of a test's own, and the removal of all that the test made around it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, PersistentVolume};
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

use crate::plane::ControlPlane;
use crate::reaper::{self, Leftover};

/// The label of every namespace that the kit makes.
pub const TEST_LABEL: &str = "testkit.opmodel.dev/test";

/// A namespace for one test. Dropping it, also in a panic, removes it and every object outside of
/// it that was registered with it.
pub struct TestNamespace {
    name: String,
    plane: &'static ControlPlane,
    client: Client,
    files: tempfile::TempDir,
    leftovers: Arc<Mutex<Vec<Leftover>>>,
}

impl ControlPlane {
    /// A directory that goes with the test, or with the control plane if the test is killed.
    fn scratch(&self) -> io::Result<tempfile::TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("opm-test-");
        match self.directory() {
            Some(dir) => builder.tempdir_in(dir),
            None => builder.tempdir(),
        }
    }

    /// A new namespace; `hint` becomes part of its name.
    pub async fn namespace(&'static self, hint: &str) -> TestNamespace {
        let client = self
            .client()
            .await
            .expect("the control plane has a kubeconfig");
        let name = unique(hint);
        let namespace: Namespace = serde_json::from_value(json!({
            "metadata": { "name": name, "labels": { TEST_LABEL: name } },
        }))
        .expect("a valid Namespace");
        Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap_or_else(|error| panic!("failed to create the namespace {name}: {error}"));
        let leftovers = Arc::new(Mutex::new(vec![Leftover::namespace(&name)]));
        let files = self.scratch().expect("a directory");
        TestNamespace {
            name,
            plane: self,
            client,
            files,
            leftovers,
        }
    }
}

impl TestNamespace {
    /// The name of the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The control plane that it is on.
    #[must_use]
    pub fn plane(&self) -> &'static ControlPlane {
        self.plane
    }

    /// A client that may do everything; its requests are not this test's.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The objects of one kind in this namespace.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client(), &self.name)
    }

    /// A directory that is removed with the namespace.
    #[must_use]
    pub fn files(&self) -> &std::path::Path {
        self.files.path()
    }

    /// Makes a volume for a claim of this namespace, existing or to come, so that it gets bound:
    /// nothing provisions volumes here.
    pub async fn volume_for(&self, claim: &str) {
        let name = format!("{}-{claim}", self.name);
        let volume: PersistentVolume = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": {
                "capacity": { "storage": "1Ti" },
                "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": { "path": "/nowhere" },
                "claimRef": { "namespace": self.name, "name": claim },
            },
        }))
        .expect("a valid PersistentVolume");
        let api = Api::all(self.client());
        api.create(&PostParams::default(), &volume)
            .await
            .expect("a PersistentVolume");
        self.remove_after(Leftover::object::<PersistentVolume>(None, &name));
    }

    /// Removes an object outside of the namespace when the test is over.
    pub fn remove_after(&self, leftover: Leftover) {
        self.leftovers
            .lock()
            .expect("nobody panics with it")
            .push(leftover);
    }
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        let mut leftovers = self.leftovers.lock().expect("nobody panics with it");
        // Last in, first out: a binding goes before its role, the namespace at the very end.
        let list = leftovers.drain(..).rev().collect();
        // Who cannot remove them soon has lost its control plane, and needs not wait for it.
        reaper::remove(self.plane.kubeconfig(), list, Duration::from_secs(10));
    }
}

/// A name that no other test has, fit for an object.
pub(crate) fn unique(hint: &str) -> String {
    let random = RandomState::new().build_hasher().finish();
    let hint: String = hint
        .chars()
        .map(|one| {
            if one.is_ascii_alphanumeric() {
                one.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(30)
        .collect();
    format!(
        "t-{}-{:010x}",
        hint.trim_matches('-'),
        random & 0xff_ffff_ffff
    )
}
