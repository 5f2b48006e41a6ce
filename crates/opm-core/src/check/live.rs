//! What is really there: a live object, reduced to what decides whose it is.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::HelmRelease;
use crate::identity::Identity;
use crate::ids::ReleaseId;
use crate::labels::{
    COMPONENT, COMPONENT_INVENTORY, COMPONENT_RECORD, FIELD_MANAGER, MANAGED_BY, OwnerLabels,
    PRUNE, shared_field_manager, shared_manager_release,
};
use crate::observation::Observation;

/// What was found for each object of a plan.
pub type Observed = HashMap<Identity, Observation<LiveObject>>;

/// What decides whose a live object is and what may be done to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveObject {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// What its labels say.
    pub owner: OwnerLabels,
    /// Whether this release's `opm` has applied it: an Apply entry of its field manager.
    pub applied_by_opm: bool,
    /// The ids of other releases whose field managers for shared objects have applied it.
    pub sharing: Vec<String>,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Whether it carries `opmodel.dev/prune: "false"`.
    pub opted_out: bool,
    /// The Helm release that owns it, as `namespace/name`.
    pub helm: Option<String>,
    /// The same, if it carries everything by which Helm itself knows its objects.
    pub helm_release: Option<HelmRelease>,
    /// Whether another object owns it.
    pub owned: bool,
    /// Whether it is a record of a release, of whichever one: nobody's to apply or prune.
    pub is_record: bool,
    /// Whether it is a ClusterRole whose rules are put together from those of others.
    pub aggregated: bool,
    /// Whether it is nothing but what the controller of such ClusterRoles wrote: one that was
    /// deleted while that controller still had it in mind.
    pub rebuilt: bool,
}

/// The controller that writes the rules of aggregated ClusterRoles.
const AGGREGATION_CONTROLLER: &str = "clusterrole-aggregation-controller";

impl LiveObject {
    /// Reads a live object. Metadata is enough.
    pub fn read(object: &Map<String, Value>, release: &ReleaseId) -> Self {
        let metadata = object.get("metadata").and_then(Value::as_object);
        let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
        let text = |name: &str| {
            field(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let annotation = |name: &str| field("annotations")?.get(name)?.as_str();
        let component = || field("labels")?.get(COMPONENT)?.as_str();
        let owners = field("ownerReferences").and_then(Value::as_array);
        let managers = field("managedFields").and_then(Value::as_array);
        let managers = managers.map(Vec::as_slice).unwrap_or_default();
        let aggregator = |entry: &Value| {
            entry.get("manager").and_then(Value::as_str) == Some(AGGREGATION_CONTROLLER)
        };
        let holds_rule = |entry: &Value| {
            entry
                .get("fieldsV1")
                .is_some_and(|set| set.get("f:aggregationRule").is_some())
        };
        let owner = OwnerLabels::read(object);
        Self {
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            aggregated: managers
                .iter()
                .any(|entry| aggregator(entry) || holds_rule(entry)),
            rebuilt: !managers.is_empty()
                && managers.iter().all(aggregator)
                && owner == OwnerLabels::default(),
            owner,
            applied_by_opm: applied_by_opm(managers, release),
            sharing: sharing(managers, release),
            terminating: field("deletionTimestamp").is_some_and(|time| !time.is_null()),
            opted_out: annotation(PRUNE) == Some("false"),
            helm: annotation("meta.helm.sh/release-name").map(|name| {
                let namespace = annotation("meta.helm.sh/release-namespace").unwrap_or_default();
                format!("{namespace}/{name}")
            }),
            helm_release: helm_release(object),
            owned: owners.is_some_and(|owners| !owners.is_empty()),
            is_record: component()
                .is_some_and(|word| [COMPONENT_INVENTORY, COMPONENT_RECORD].contains(&word)),
        }
    }
}

/// Helm takes an object for its own if two annotations and a label say so.
fn helm_release(object: &Map<String, Value>) -> Option<HelmRelease> {
    let metadata = object.get("metadata")?;
    let annotation = |name: &str| metadata.get("annotations")?.get(name)?.as_str();
    let manager = metadata.get("labels")?.get(MANAGED_BY)?;
    let release = HelmRelease {
        namespace: annotation("meta.helm.sh/release-namespace")?.to_owned(),
        name: annotation("meta.helm.sh/release-name")?.to_owned(),
    };
    (manager == "Helm").then_some(release)
}

fn applied_by_opm(managed_fields: &[Value], release: &ReleaseId) -> bool {
    let shared = shared_field_manager(release);
    appliers(managed_fields).any(|name| name == FIELD_MANAGER || name == shared)
}

/// The other releases that have applied an object as a shared one, and have not left it.
fn sharing(managed_fields: &[Value], release: &ReleaseId) -> Vec<String> {
    let ids = appliers(managed_fields).filter_map(shared_manager_release);
    let others = ids.filter(|id| id != release);
    others.map(|id| id.to_string()).collect()
}

/// Who has applied something of an object.
fn appliers(managed_fields: &[Value]) -> impl Iterator<Item = &str> {
    let applies = |entry: &&Value| entry.get("operation").and_then(Value::as_str) == Some("Apply");
    let entries = managed_fields.iter().filter(applies);
    entries.filter_map(|entry| entry.get("manager")?.as_str())
}
