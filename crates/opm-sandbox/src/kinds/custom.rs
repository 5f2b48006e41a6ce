//! Custom resources: what a CustomResourceDefinition says about the resources it brings.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Resource, SchemaRef, Subresource, api_version};
use crate::apply::crd_schema;

/// An established definition.
pub(crate) struct Definition {
    resources: Vec<Arc<Resource>>,
}

/// One version's own parts.
pub(crate) struct CustomVersion {
    pub(crate) open_api: Option<Value>,
    pub(crate) scale: Option<Value>,
    pub(crate) has_status: bool,
}

impl Definition {
    /// `None` until the definition is established: until then nothing is served.
    pub(crate) fn read(object: &Value) -> Option<Arc<Definition>> {
        let conditions = object["status"]["conditions"].as_array()?;
        let holds = |c: &&Value| c["type"] == "Established" && c["status"] == "True";
        conditions.iter().find(holds)?;
        let spec = &object["spec"];
        let versions = spec["versions"].as_array()?;
        let served: Vec<_> = versions.iter().filter(|v| v["served"] == true).collect();
        let group = spec["group"].as_str()?;
        let all: Vec<_> = served
            .iter()
            .filter_map(|v| Some(api_version(group, v["name"].as_str()?)))
            .collect();
        let resources = served
            .iter()
            .filter_map(|v| resource(spec, v, &all))
            .map(Arc::new);
        Some(Arc::new(Definition {
            resources: resources.collect(),
        }))
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = Arc<Resource>> + '_ {
        self.resources.iter().cloned()
    }
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

fn resource(spec: &Value, version: &Value, served: &[String]) -> Option<Resource> {
    let names = &spec["names"];
    let text = |v: &Value| v.as_str().map(str::to_string);
    let (group, version_name) = (text(&spec["group"])?, text(&version["name"])?);
    let (plural, kind) = (text(&names["plural"])?, text(&names["kind"])?);
    let open_api = version["schema"].get("openAPIV3Schema").cloned();
    let (schema, ty) = crd_schema::from_definition(open_api.as_ref());
    let has_status = version["subresources"].get("status").is_some();
    let scale = version["subresources"].get("scale").cloned();
    let mut subresources = Vec::new();
    let verbs = |v: &[&str]| v.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut add = |name: &str, kind: &str, group: &str, version: &str| {
        subresources.push(Subresource {
            name: name.into(),
            kind: kind.into(),
            group: group.into(),
            version: version.into(),
            verbs: verbs(&["get", "patch", "update"]),
        });
    };
    if has_status {
        add("status", &kind, &group, &version_name);
    }
    if scale.is_some() {
        add("scale", "Scale", "autoscaling", "v1");
    }
    let list = |key: &str| super::texts(names, key);
    Some(Resource {
        singular: text(&names["singular"]).unwrap_or_else(|| kind.to_lowercase()),
        namespaced: spec["scope"] == "Namespaced",
        short_names: list("shortNames"),
        categories: list("categories"),
        verbs: verbs(VERBS),
        storage_hash: None,
        subresources,
        schema: SchemaRef::Custom(Arc::new(schema)),
        ty,
        custom: Some(Arc::new(CustomVersion {
            open_api,
            scale,
            has_status,
        })),
        served: served.to_vec(),
        group,
        version: version_name,
        plural,
        kind,
    })
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

/// Fills in the schema's defaults.
pub(crate) fn set_defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = property.get("default") {
                    let null =
                        map.get(key).is_some_and(Value::is_null) && property["nullable"] != true;
                    if null || !map.contains_key(key) {
                        map.insert(key.clone(), default.clone());
                    }
                }
                if let Some(below) = map.get_mut(key) {
                    set_defaults(property, below);
                }
            }
            if let Some(additional) = schema.get("additionalProperties").filter(|a| a.is_object()) {
                map.values_mut().for_each(|v| set_defaults(additional, v));
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|i| set_defaults(&schema["items"], i)),
        _ => {}
    }
}
