//! The resource: a release, as it is wanted (`spec`) and as it stands (`status`).
//!
//! The definition that a cluster needs is made from these types; nothing else says what the
//! resource looks like. This is the one module that knows `schemars`.

#![allow(
    unreachable_pub,
    reason = "what is derived from these types repeats them in a place of its own"
)]

#[cfg(test)]
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
#[cfg(test)]
use kube::CustomResourceExt as _;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A release that the controller keeps as it is described here.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[kube(
    group = "core.opmodel.dev",
    version = "v1alpha1",
    kind = "ModuleRelease",
    plural = "modulereleases",
    namespaced,
    status = "ModuleReleaseStatus",
    shortname = "mr",
    doc = "A release that a controller keeps as it is described here",
    printcolumn(name = "Module", type_ = "string", json_path = ".status.module.path"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.module.version"),
    printcolumn(name = "Change", type_ = "string", json_path = ".status.change"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 53").message("a release's name has at most 53 characters")
)]
#[serde(rename_all = "camelCase")]
pub struct ModuleReleaseSpec {
    /// The module that the release is made of, from one source. Others, such as packages in OCI
    /// registries, may be added beside these.
    pub module: ModuleSource,

    /// Values, over the module's own and over those of `valuesFrom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub values: Option<Map<String, Value>>,

    /// Values in ConfigMaps and Secrets; later ones win over earlier ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub values_from: Vec<ValuesSource>,

    /// The optional components to have; without it, those that the release has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<String>>,

    /// How often the release is looked at although nothing seems to have changed.
    #[serde(default = "default_interval")]
    #[schemars(schema_with = "duration_10m")]
    pub interval: String,

    /// The longest time between attempts after failures. The first are closer together.
    #[serde(default = "default_retry_interval")]
    #[schemars(schema_with = "duration_2m")]
    pub retry_interval: String,

    /// How long one attempt waits for what has to be ready.
    #[serde(default = "default_timeout")]
    #[schemars(schema_with = "duration_5m")]
    pub timeout: String,

    /// Remove what the module no longer renders. Otherwise it is kept.
    #[serde(default = "yes")]
    pub prune: bool,

    /// What becomes of objects that somebody else has changed or deleted.
    #[serde(default)]
    pub drift_policy: DriftPolicy,

    /// Count the release as ready only when its objects are.
    #[serde(default)]
    pub wait: bool,

    /// Go back to the change before when an apply fails or is not ready in time.
    #[serde(default)]
    pub atomic: bool,

    /// Leave the release alone. Others may write it meanwhile.
    #[serde(default)]
    pub suspend: bool,

    /// The service account of this namespace that everything is read and written as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// Resources that have to be ready before this release is applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,

    /// Existing objects that no release tracks and that may be taken over: `KIND/NAME`,
    /// `helm/RELEASE`, or `*` for all that Helm does not own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopt: Vec<String>,

    /// Take over fields that other managers own, also on objects that are new to the release.
    #[serde(default)]
    pub force_conflicts: bool,

    /// Which guarded kinds may be removed.
    #[serde(default)]
    pub guards: LiftedGuards,

    /// How many changes the release's record keeps.
    #[serde(default = "default_max_history")]
    #[schemars(range(min = 1, max = 100))]
    pub max_history: u32,

    /// What becomes of the release's objects when this resource is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// Where a module comes from.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.reference), has(self.configMap), has(self.secret)].filter(given, given).size() == 1").message("exactly one of reference, configMap and secret has to be given"))]
pub struct ModuleSource {
    /// A CUE module in a registry, such as `example.com/web@v1.2.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,

    /// A ConfigMap whose keys are files: a module if there is a `module.yaml`, else manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ObjectReference>,

    /// A Secret, read in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<ObjectReference>,
}

/// An object by its name.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Its namespace, if that is another one. Refused unless the controller allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Values in a ConfigMap or Secret.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ValuesSource {
    /// Which of the two.
    pub kind: ValuesKind,

    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,

    /// The key that holds the values, as YAML, JSON or CUE by its ending.
    #[serde(default = "default_values_key")]
    pub key: String,

    /// It need not be there.
    #[serde(default)]
    pub optional: bool,
}

/// What holds values.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValuesKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

/// Another `ModuleRelease`.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Its namespace, if that is another one. Refused unless the controller allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// What becomes of drift.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum DriftPolicy {
    /// It is corrected.
    #[default]
    Correct,
    /// It is told in the condition `Drifted`, and left.
    Report,
    /// It is left.
    Ignore,
}

/// What becomes of a release whose resource is deleted.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum DeletionPolicy {
    /// It is deleted; what guards hold is kept.
    #[default]
    Delete,
    /// Its objects and its record stay, managed by nobody.
    Orphan,
}

/// Which guarded kinds may be removed.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct LiftedGuards {
    /// Namespaces.
    #[serde(default)]
    pub namespaces: bool,
    /// PersistentVolumeClaims.
    #[serde(default)]
    pub persistent_volume_claims: bool,
    /// PersistentVolumes.
    #[serde(default)]
    pub persistent_volumes: bool,
    /// CustomResourceDefinitions.
    #[serde(default)]
    pub custom_resource_definitions: bool,
}

/// How a release stands.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ModuleReleaseStatus {
    /// The generation of the resource that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `Ready`, `Reconciling`, `Stalled` and `Drifted`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,

    /// The id of the release, fixed when it is first reconciled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_id: Option<String>,

    /// The module of the current change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleStatus>,

    /// The current change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,

    /// The digest of its manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// How many objects there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<ObjectCounts>,

    /// The last attempt that changed something or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<LastAttempt>,

    /// Objects that are still to be cleaned up, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,

    /// Objects that were left standing on purpose, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

/// A module, as far as it is known.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ModuleStatus {
    /// Its path.
    pub path: String,
    /// Its version, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// How many objects a release has.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ObjectCounts {
    /// In the current change.
    pub objects: u32,
    /// Still to be cleaned up.
    pub pending: u32,
    /// Left standing on purpose.
    pub kept: u32,
}

/// One attempt.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LastAttempt {
    /// When it ended.
    pub time: String,
    /// The change that was applied, or was to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// How it ended: the reason of the condition `Ready`.
    pub result: String,
}

/// One aspect of how a release stands.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which one.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word out of a fixed list.
    pub reason: String,
    /// Why, for people.
    #[serde(default)]
    pub message: String,
    /// The generation of the resource that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the status became what it is.
    pub last_transition_time: String,
}

impl ModuleReleaseStatus {
    /// A condition by its type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.kind == kind)
    }
}

/// The definition that a cluster needs to know the resource: the file that installs it is
/// checked against it.
#[cfg(test)]
pub(crate) fn definition() -> CustomResourceDefinition {
    ModuleRelease::crd()
}

fn free_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

fn duration(default: &str) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$",
        "default": default,
    })
}

fn duration_10m(_: &mut SchemaGenerator) -> Schema {
    duration("10m")
}

fn duration_2m(_: &mut SchemaGenerator) -> Schema {
    duration("2m")
}

fn duration_5m(_: &mut SchemaGenerator) -> Schema {
    duration("5m")
}

fn default_interval() -> String {
    "10m".to_owned()
}

fn default_retry_interval() -> String {
    "2m".to_owned()
}

fn default_timeout() -> String {
    "5m".to_owned()
}

fn default_values_key() -> String {
    "values.yaml".to_owned()
}

fn default_max_history() -> u32 {
    10
}

fn yes() -> bool {
    true
}
