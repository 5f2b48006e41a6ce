//! Custom resources: what a CustomResourceDefinition says about the resources it brings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Resource, ResourceInfo, SchemaRef, Subresource, api_version};
use crate::apply::crd_schema;
use crate::limits;

/// What routing and discovery need of an established definition. It is stored beside the
/// definition, whose schemas are read only when one of its objects is asked for.
#[derive(Serialize, Deserialize)]
pub(crate) struct DefinitionSummary {
    /// A digest of everything that the definition says.
    digest: String,
    group: String,
    plural: String,
    singular: String,
    kind: String,
    namespaced: bool,
    short_names: Vec<String>,
    categories: Vec<String>,
    versions: Vec<VersionSummary>,
}

#[derive(Serialize, Deserialize)]
struct VersionSummary {
    name: String,
    status: bool,
    scale: bool,
}

/// One version's own parts.
pub(crate) struct CustomVersion {
    pub(crate) open_api: Option<Value>,
    pub(crate) scale: Option<Value>,
    pub(crate) has_status: bool,
}

const VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

impl DefinitionSummary {
    /// `None` until the definition is established: until then nothing is served.
    pub(crate) fn of(object: &Value) -> Option<DefinitionSummary> {
        let conditions = object["status"]["conditions"].as_array()?;
        let holds = |c: &&Value| c["type"] == "Established" && c["status"] == "True";
        conditions.iter().find(holds)?;
        Self::declared(object)
    }

    /// What a definition says, established or not.
    pub(crate) fn declared(object: &Value) -> Option<DefinitionSummary> {
        let (spec, names) = (&object["spec"], &object["spec"]["names"]);
        let text = |v: &Value| v.as_str().map(str::to_string);
        let kind = text(&names["kind"])?;
        let versions = spec["versions"].as_array()?.iter();
        let versions = versions.filter(|v| v["served"] == true).filter_map(|v| {
            let has = |name| v["subresources"].get(name).is_some();
            Some(VersionSummary {
                name: text(&v["name"])?,
                status: has("status"),
                scale: has("scale"),
            })
        });
        let digest = Sha256::digest(spec.to_string());
        Some(DefinitionSummary {
            digest: digest.iter().map(|b| format!("{b:02X}")).collect(),
            group: text(&spec["group"])?,
            plural: text(&names["plural"])?,
            singular: text(&names["singular"]).unwrap_or_else(|| kind.to_lowercase()),
            namespaced: spec["scope"] == "Namespaced",
            short_names: super::texts(names, "shortNames"),
            categories: super::texts(names, "categories"),
            versions: versions.collect(),
            kind,
        })
    }

    /// What is served of it, a resource for each version.
    pub(crate) fn resources(self) -> impl Iterator<Item = ResourceInfo> {
        let served = self.versions.iter();
        let served: Vec<_> = served.map(|v| api_version(&self.group, &v.name)).collect();
        let strings = |v: &[&str]| v.iter().map(ToString::to_string).collect::<Vec<_>>();
        let versions = self.versions.into_iter();
        versions.map(move |version| {
            let sub = |name: &str, kind: &str, group: &str, version: &str| Subresource {
                name: name.into(),
                kind: kind.into(),
                group: group.into(),
                version: version.into(),
                verbs: strings(&["get", "patch", "update"]),
            };
            let status = sub("status", &self.kind, &self.group, &version.name);
            let scale = sub("scale", "Scale", "autoscaling", "v1");
            let subresources = [(version.status, status), (version.scale, scale)];
            let subresources = subresources.into_iter().filter(|(has, _)| *has);
            ResourceInfo {
                group: self.group.clone(),
                plural: self.plural.clone(),
                singular: self.singular.clone(),
                kind: self.kind.clone(),
                namespaced: self.namespaced,
                short_names: self.short_names.clone(),
                categories: self.categories.clone(),
                verbs: strings(VERBS),
                storage_hash: None,
                subresources: subresources.map(|(_, s)| s).collect(),
                served: served.clone(),
                definition: Some(self.digest.clone()),
                version: version.name,
            }
        })
    }
}

/// The resource with its types, from the definition itself.
pub(crate) fn resource(info: Arc<ResourceInfo>, definition: &Value) -> Resource {
    let versions = definition["spec"]["versions"].as_array();
    let version = versions
        .into_iter()
        .flatten()
        .find(|v| v["name"] == info.version.as_str())
        .unwrap_or(&Value::Null);
    let open_api = version["schema"].get("openAPIV3Schema").cloned();
    let (schema, ty) = crd_schema::from_definition(open_api.as_ref());
    Resource {
        schema: SchemaRef::Custom(Arc::new(schema)),
        ty,
        custom: Some(CustomVersion {
            has_status: version["subresources"].get("status").is_some(),
            scale: version["subresources"].get("scale").cloned(),
            open_api,
        }),
        info,
    }
}

/// Removes what the schema does not declare, at the root and below.
pub(crate) fn prune(open_api: Option<&Value>, object: &mut Value) {
    let Some(schema) = open_api else { return };
    if let Value::Object(map) = object {
        let keep = |key: &str| matches!(key, "apiVersion" | "kind" | "metadata");
        prune_map(schema, map, &keep);
    }
}

fn prune_map(schema: &Value, map: &mut Map<String, Value>, keep: &dyn Fn(&str) -> bool) {
    let properties = schema["properties"].as_object();
    let preserve = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let additional = schema.get("additionalProperties");
    let embedded = schema["x-kubernetes-embedded-resource"] == true;
    map.retain(|key, _| {
        preserve
            || keep(key)
            || additional.is_some_and(|a| *a != json!(false))
            || properties.is_some_and(|p| p.contains_key(key))
            || (embedded && matches!(key.as_str(), "apiVersion" | "kind" | "metadata"))
    });
    for (key, value) in map.iter_mut().filter(|(key, _)| !keep(key)) {
        match (properties.and_then(|p| p.get(key)), additional) {
            (Some(below), _) => prune_value(below, value),
            (None, Some(below)) if below.is_object() => prune_value(below, value),
            _ => {}
        }
    }
}

fn prune_value(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => prune_map(schema, map, &|_| false),
        Value::Array(items) => {
            for item in items {
                prune_value(&schema["items"], item);
            }
        }
        _ => {}
    }
}

/// Fills in the schema's defaults, as far as there is room for them. False when there is not.
pub(crate) fn set_defaults(schema: &Value, value: &mut Value, room: &mut usize) -> bool {
    match value {
        Value::Object(map) => {
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = property.get("default") {
                    let null =
                        map.get(key).is_some_and(Value::is_null) && property["nullable"] != true;
                    if null || !map.contains_key(key) {
                        let Some(left) = room.checked_sub(limits::size(default)) else {
                            return false;
                        };
                        *room = left;
                        map.insert(key.clone(), default.clone());
                    }
                }
                if let Some(below) = map.get_mut(key)
                    && !set_defaults(property, below, room)
                {
                    return false;
                }
            }
            match schema.get("additionalProperties").filter(|a| a.is_object()) {
                Some(additional) => map.values_mut().all(|v| set_defaults(additional, v, room)),
                None => true,
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .all(|i| set_defaults(&schema["items"], i, room)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_that_multiply_find_no_room() {
        let schema = json!({"properties": {"l": {"items": {"properties":
            {"d": {"default": "x".repeat(1000)}}}}}});
        let object = |items: usize| json!({"l": vec![json!({}); items]});
        let mut room = 100_000;
        let mut few = object(50);
        assert!(set_defaults(&schema, &mut few, &mut room));
        assert_eq!(few["l"][49]["d"].as_str().map(str::len), Some(1000));
        assert!(!set_defaults(&schema, &mut object(60), &mut room));
    }
}
