//! The labels and annotations that `opm` writes and reads.
//!
//! The set that goes onto applied objects is frozen with the record's apiVersion: one label more
//! would change every digest. Labels go onto the object's own metadata only, never into pod
//! templates or selectors.

use serde_json::{Map, Value};

use crate::ids::ReleaseId;
use crate::manifest::Manifest;
use crate::name::{ComponentName, ModuleName, NamespaceName, ReleaseName};

/// Who manages the object; its value is [`MANAGED_BY_OPM`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`] on everything that `opm` applies.
pub const MANAGED_BY_OPM: &str = "open-platform-model";
/// The name of the module.
pub const MODULE_NAME: &str = "module.opmodel.dev/name";
/// The namespace of the release.
pub const MODULE_NAMESPACE: &str = "module.opmodel.dev/namespace";
/// The name of the release.
pub const RELEASE_NAME: &str = "module-release.opmodel.dev/name";
/// The id of the release: whose object it is.
pub const RELEASE_ID: &str = "module-release.opmodel.dev/uuid";
/// The name of the component.
pub const COMPONENT_NAME: &str = "component.opmodel.dev/name";

/// The labels of an object that belongs to one release alone.
pub(crate) const OWN: [&str; 6] = [
    MANAGED_BY,
    MODULE_NAME,
    MODULE_NAMESPACE,
    RELEASE_NAME,
    RELEASE_ID,
    COMPONENT_NAME,
];

/// Tells the Secrets of `opm` from applied objects.
pub const COMPONENT: &str = "opmodel.dev/component";
/// The value of [`COMPONENT`] on a release's inventory Secret.
pub const COMPONENT_INVENTORY: &str = "inventory";
/// The value of [`COMPONENT`] on the Secrets that hold per-change records.
pub const COMPONENT_RECORD: &str = "record";
/// What a shared object's labels begin with; a release id follows, the value is the release's
/// name.
const SHARED_PREFIX: &str = "shared.opmodel.dev/";

/// Annotation: `"false"` keeps an object from ever being pruned or deleted.
pub const PRUNE: &str = "opmodel.dev/prune";
/// Annotation: `"true"` lets this object be deleted and recreated when an immutable field
/// changed.
pub const RECREATE: &str = "opmodel.dev/recreate";
/// Annotation: `"true"` makes an object belong to all releases that apply it.
pub const SHARED: &str = "opmodel.dev/shared";
/// Annotation: `"false"` leaves this object out of waiting until everything is ready.
pub const WAIT: &str = "opmodel.dev/wait";
/// Annotation on the inventory Secret: what listing releases shows.
pub const SUMMARY: &str = "opmodel.dev/summary";

/// The field manager of everything that `opm` applies.
pub const FIELD_MANAGER: &str = "opm";
/// The field manager of the lock alone, so that other writes leave the lock's time alone.
pub const LOCK_FIELD_MANAGER: &str = "opm-lock";

/// The field manager of shared objects: one per release, so that releases do not erase one
/// another's labels.
pub fn shared_field_manager(id: &ReleaseId) -> String {
    format!("opm-{id}")
}

/// The release that a field manager of shared objects belongs to.
pub fn shared_manager_release(manager: &str) -> Option<ReleaseId> {
    manager.strip_prefix("opm-")?.parse().ok()
}

/// The label that says that a release is among those that share an object.
pub fn shared_label(id: &ReleaseId) -> String {
    format!("{SHARED_PREFIX}{id}")
}

/// Whose an object is: everything that the labels of an applied object say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The module's name.
    pub module: ModuleName,
    /// The release's namespace.
    pub namespace: NamespaceName,
    /// The release's name.
    pub release: ReleaseName,
    /// The release's id.
    pub id: ReleaseId,
}

impl Owner {
    /// The labels of an object of this release alone.
    pub fn labels(&self, component: &ComponentName) -> Vec<(String, String)> {
        let component = (COMPONENT_NAME, component.as_str());
        self.release_labels().chain(owned([component])).collect()
    }

    /// The labels that name the release.
    pub(crate) fn release_labels(&self) -> impl Iterator<Item = (String, String)> {
        owned([
            (MANAGED_BY, MANAGED_BY_OPM),
            (MODULE_NAME, self.module.as_str()),
            (MODULE_NAMESPACE, self.namespace.as_str()),
            (RELEASE_NAME, self.release.as_str()),
            (RELEASE_ID, &self.id.to_string()),
        ])
    }

    /// The labels of an object that this release shares with others. What differs between the
    /// releases would be a conflict between their field managers, so each has one label of its
    /// own and no more.
    fn shared_labels(&self) -> Vec<(String, String)> {
        owned([
            (MANAGED_BY, MANAGED_BY_OPM),
            (&shared_label(&self.id), self.release.as_str()),
        ])
        .collect()
    }

    /// Puts this release's labels onto a manifest, those for shared objects if it is one. Labels
    /// that name another owner do not survive it.
    pub fn inject(&self, manifest: &mut Manifest, component: &ComponentName) {
        manifest.remove_labels(|key| OWN.contains(&key) || key.starts_with(SHARED_PREFIX));
        let labels = match is_shared(manifest) {
            true => self.shared_labels(),
            false => self.labels(component),
        };
        manifest.set_labels(labels);
    }
}

/// Labels that own their texts.
pub(crate) fn owned<const N: usize>(
    labels: [(&str, &str); N],
) -> impl Iterator<Item = (String, String)> + use<N> {
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into_iter()
}

/// Whether an object is marked as shared between releases.
pub fn is_shared(manifest: &Manifest) -> bool {
    manifest.annotation(SHARED) == Some("true")
}

/// Whether an object says that it may be recreated when an immutable field of it changed.
pub fn lets_recreate(object: &Map<String, Value>) -> bool {
    let annotations = object
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let value = annotations.and_then(|annotations| annotations.get(RECREATE));
    value.and_then(Value::as_str) == Some("true")
}

/// Whether nobody is to wait until this object is ready.
pub fn opts_out_of_waiting(manifest: &Manifest) -> bool {
    manifest.annotation(WAIT) == Some("false")
}

/// What an object's labels say about who applied it. They are not validated: anybody may have
/// written them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerLabels {
    /// Whether `opm` claims to manage it.
    pub managed: bool,
    /// The module's name.
    pub module: Option<String>,
    /// The release's namespace.
    pub namespace: Option<String>,
    /// The release's name.
    pub release: Option<String>,
    /// The release's id.
    pub id: Option<String>,
    /// The component's name.
    pub component: Option<String>,
    /// The releases that share it: id and name, in order of ids.
    pub shared: Vec<(String, String)>,
}

impl OwnerLabels {
    /// Reads the labels of an object, live or rendered.
    pub fn read(object: &Map<String, Value>) -> Self {
        let labels = object
            .get("metadata")
            .and_then(|m| m.get("labels"))
            .and_then(Value::as_object);
        let Some(labels) = labels else {
            return Self::default();
        };
        let text = |key: &str| labels.get(key).and_then(Value::as_str).map(str::to_owned);
        let shared = labels.iter().filter_map(|(key, value)| {
            Some((
                key.strip_prefix(SHARED_PREFIX)?.to_owned(),
                value.as_str()?.to_owned(),
            ))
        });
        Self {
            managed: text(MANAGED_BY).as_deref() == Some(MANAGED_BY_OPM),
            module: text(MODULE_NAME),
            namespace: text(MODULE_NAMESPACE),
            release: text(RELEASE_NAME),
            // A label that was emptied names nobody.
            id: text(RELEASE_ID).filter(|id| !id.is_empty()),
            component: text(COMPONENT_NAME),
            shared: shared.collect(),
        }
    }
}
