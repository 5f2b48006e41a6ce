//! What is served: built-in resources from the generated table, and custom ones from their
//! definitions.

pub(crate) mod custom;
pub(crate) mod custom_validate;
pub(crate) mod defaults;
pub(crate) mod generate;
pub(crate) mod immutable;
pub(crate) mod metadata;
mod pod_rules;
pub(crate) mod strategy;
pub(crate) mod validate;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::apply::schema::{ANY, Builtin, Schema, TypeId};
use crate::store::Key;
use crate::work;
use custom::CustomVersion;

/// A schema that is either built in or belongs to one custom resource.
#[derive(Clone)]
pub(crate) enum SchemaRef {
    Builtin(&'static Schema),
    Custom(Arc<Schema>),
}

impl Deref for SchemaRef {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            SchemaRef::Builtin(schema) => schema,
            SchemaRef::Custom(schema) => schema,
        }
    }
}

pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) verbs: Vec<String>,
}

/// What discovery says about one resource in one version.
pub(crate) struct ResourceInfo {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) verbs: Vec<String>,
    pub(crate) storage_hash: Option<String>,
    pub(crate) subresources: Vec<Subresource>,
    /// Every `apiVersion` that the same objects are served in.
    pub(crate) served: Vec<String>,
    /// What tells one definition's content from another's; none for built-in resources.
    pub(crate) definition: Option<String>,
}

/// One resource in one version, with its types.
pub(crate) struct Resource {
    pub(crate) info: Arc<ResourceInfo>,
    pub(crate) schema: SchemaRef,
    pub(crate) ty: TypeId,
    pub(crate) custom: Option<CustomVersion>,
}

impl Deref for Resource {
    type Target = ResourceInfo;

    fn deref(&self) -> &ResourceInfo {
        &self.info
    }
}

impl ResourceInfo {
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    pub(crate) fn key(&self, namespace: &str, name: &str) -> Key {
        Key {
            group: self.group.clone(),
            resource: self.plural.clone(),
            namespace: namespace.to_string(),
            name: name.to_string(),
        }
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    /// As `%v` of a Go GroupVersionKind: `apps/v1, Kind=Deployment`.
    pub(crate) fn gvk(&self) -> String {
        format!("{}/{}, Kind={}", self.group, self.version, self.kind)
    }

    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_string()
    } else {
        format!("{group}/{version}")
    }
}

/// What discovery tells: everything that is served at one moment, by group and version.
pub(crate) struct Registry {
    /// In the order in which groups are announced, versions in Kubernetes' own.
    groups: Vec<GroupInfo>,
}

/// One API group.
pub(crate) struct GroupInfo {
    pub(crate) name: String,
    pub(crate) versions: Vec<VersionInfo>,
}

/// The resources of one version of a group.
pub(crate) struct VersionInfo {
    pub(crate) name: String,
    pub(crate) resources: Vec<Arc<ResourceInfo>>,
}

impl Registry {
    pub(crate) fn with(custom: Vec<Arc<ResourceInfo>>) -> Registry {
        let mut groups: Vec<GroupInfo> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let all = builtin().iter().map(|r| r.info.clone()).chain(custom);
        for resource in all {
            work::step(1);
            let at = *places.entry(resource.group.clone()).or_insert_with(|| {
                groups.push(GroupInfo {
                    name: resource.group.clone(),
                    versions: Vec::new(),
                });
                groups.len() - 1
            });
            let versions = &mut groups[at].versions;
            match versions.iter_mut().find(|v| v.name == resource.version) {
                Some(version) => version.resources.push(resource),
                None => versions.push(VersionInfo {
                    name: resource.version.clone(),
                    resources: vec![resource],
                }),
            }
        }
        for group in &mut groups {
            let rank = |v: &VersionInfo| std::cmp::Reverse(version_rank(&v.name));
            group.versions.sort_by_key(rank);
        }
        Registry { groups }
    }

    pub(crate) fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    pub(crate) fn group(&self, name: &str) -> Option<&GroupInfo> {
        self.groups.iter().find(|g| g.name == name)
    }

    pub(crate) fn version(&self, group: &str, version: &str) -> Option<&VersionInfo> {
        let group = self.group(group)?;
        group.versions.iter().find(|v| v.name == version)
    }
}

pub(crate) fn is_builtin_group(group: &str) -> bool {
    builtin().iter().any(|r| r.group == group)
}

/// The built-in resource of a group, in one version or in whichever comes first.
pub(crate) fn find_builtin(
    group: &str,
    version: Option<&str>,
    plural: &str,
) -> Option<&'static Arc<Resource>> {
    builtin()
        .iter()
        .find(|r| r.plural == plural && r.group == group && version.is_none_or(|v| r.version == v))
}

/// Kubernetes' order of versions: stable before beta before alpha, higher before lower.
fn version_rank(version: &str) -> (u8, u32, u32) {
    let digits = |s: &str| {
        s.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
    };
    let rest = version.strip_prefix('v').unwrap_or_default();
    let major = digits(rest);
    let tail = &rest[major.len()..];
    let number = major.parse().unwrap_or(0);
    match tail {
        "" if number > 0 => (3, number, 0),
        t if t.starts_with("beta") => (2, number, t[4..].parse().unwrap_or(0)),
        t if t.starts_with("alpha") => (1, number, t[5..].parse().unwrap_or(0)),
        _ => (0, number, 0),
    }
}

/// Served by the real server, but not stored here: reviews, and kinds that need conversion.
const LEFT_OUT: &[(&str, &str)] = &[
    ("v1", "bindings"),
    ("v1", "componentstatuses"),
    ("autoscaling/v1", "horizontalpodautoscalers"),
];

pub(crate) fn builtin() -> &'static [Arc<Resource>] {
    static TABLE: OnceLock<Vec<Arc<Resource>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lists: Vec<Value> =
            serde_json::from_str(include_str!("../../data/resources.json")).unwrap_or_default();
        lists
            .iter()
            .flat_map(builtin_resources)
            .map(Arc::new)
            .collect()
    })
}

fn builtin_resources(list: &Value) -> Vec<Resource> {
    let gv = list["groupVersion"].as_str().unwrap_or_default();
    let (group, version) = gv.split_once('/').unwrap_or(("", gv));
    let entries = list["resources"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let name = |e: &Value| e["name"].as_str().unwrap_or_default().to_string();
    let table = Builtin::get();
    let mut out = Vec::new();
    for entry in entries.iter().filter(|e| !name(e).contains('/')) {
        let plural = name(entry);
        if LEFT_OUT.contains(&(gv, plural.as_str())) {
            continue;
        }
        let kind = text(entry, "kind");
        let prefix = format!("{plural}/");
        let subresources = entries.iter().filter_map(|e| {
            let full = name(e);
            let short = full.strip_prefix(&prefix)?;
            matches!(short, "status" | "scale" | "finalize").then(|| Subresource {
                name: short.to_string(),
                kind: text(e, "kind"),
                group: e["group"].as_str().unwrap_or(group).to_string(),
                version: e["version"].as_str().unwrap_or(version).to_string(),
                verbs: texts(e, "verbs"),
            })
        });
        let info = ResourceInfo {
            group: group.to_string(),
            version: version.to_string(),
            singular: text(entry, "singularName"),
            namespaced: entry["namespaced"] == true,
            short_names: texts(entry, "shortNames"),
            categories: texts(entry, "categories"),
            verbs: texts(entry, "verbs"),
            storage_hash: entry["storageVersionHash"].as_str().map(str::to_string),
            subresources: subresources.collect(),
            served: vec![gv.to_string()],
            definition: None,
            plural,
            kind,
        };
        out.push(Resource {
            schema: SchemaRef::Builtin(&table.schema),
            ty: table.kind(gv, &info.kind).unwrap_or(ANY),
            custom: None,
            info: Arc::new(info),
        });
    }
    out
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_string()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = value[key].as_array().into_iter().flatten();
    items
        .filter_map(|v| v.as_str().map(str::to_string))
        .collect()
}
