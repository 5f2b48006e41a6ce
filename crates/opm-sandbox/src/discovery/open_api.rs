//! `/openapi/v3`: an index whose hashes change when a schema does, and per group version just
//! enough of a document for kubectl to see that field validation is understood.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::kinds::{Registry, Resource, api_version};
use crate::status::ApiError;
use crate::wire::reply::Reply;

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

pub(super) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let path = path_of(&group, &version);
            let url = format!(
                "/openapi/v3/{path}?hash={}",
                hash(registry, &group, &version)
            );
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// A token for everything that decides how objects of a group version are read and merged.
fn hash(registry: &Registry, group: &str, version: &str) -> String {
    let mut digest = Sha256::new();
    let served = registry
        .resources
        .iter()
        .filter(|r| r.group == group && r.version == version);
    for resource in served {
        digest.update(resource.plural.as_bytes());
        match &resource.custom {
            Some(version) => {
                let schema = version
                    .open_api
                    .as_ref()
                    .map(Value::to_string)
                    .unwrap_or_default();
                digest.update(schema.as_bytes());
                digest.update([u8::from(version.has_status)]);
            }
            None => digest.update(include_bytes!("../../data/schema.json")),
        }
    }
    digest
        .finalize()
        .iter()
        .map(|b| format!("{b:02X}"))
        .collect()
}

pub(super) fn document(registry: &Registry, path: &str) -> Result<Reply, ApiError> {
    let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => (String::new(), (*version).to_string()),
        ["apis", group, version] => ((*group).to_string(), (*version).to_string()),
        _ => return Err(ApiError::page_not_found()),
    };
    let served: Vec<_> = registry
        .resources
        .iter()
        .filter(|r| r.group == group && r.version == version)
        .collect();
    if served.is_empty() {
        return Err(ApiError::page_not_found());
    }
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for resource in served {
        let (path, item) = path_item(resource);
        paths.insert(path, item);
        let gvk =
            json!([{"group": resource.group, "version": resource.version, "kind": resource.kind}]);
        let name = format!("{}.{}.{}", resource.group, resource.version, resource.kind);
        let schema = resource.custom.as_ref().and_then(|c| c.open_api.clone());
        let mut schema = schema.unwrap_or_else(|| json!({"type": "object"}));
        schema["x-kubernetes-group-version-kind"] = gvk;
        schemas.insert(name.trim_start_matches('.').to_string(), schema);
    }
    Ok(Reply::ok(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.34.4"},
        "paths": paths,
        "components": {"schemas": schemas}
    })))
}

fn path_item(resource: &Resource) -> (String, Value) {
    let namespaced = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let root = path_of(&resource.group, &resource.version);
    let path = format!("/{root}{namespaced}/{}/{{name}}", resource.plural);
    let gvk = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let operation = |action: &str| {
        json!({
            "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
            "responses": {"200": {"description": api_version(&resource.group, &resource.version)}}
        })
    };
    (
        path,
        json!({"patch": operation("patch"), "put": operation("put")}),
    )
}
