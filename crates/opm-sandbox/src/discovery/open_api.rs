//! `/openapi/v3`: an index whose hashes change when a schema does, and per group version just
//! enough of a document for kubectl to see that field validation is understood.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::kinds::{Registry, Resource, VersionInfo, api_version};
use crate::sandbox::Served;
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
    for group in registry.groups() {
        for version in &group.versions {
            let path = path_of(&group.name, &version.name);
            let url = format!("/openapi/v3/{path}?hash={}", hash(version));
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// A token for everything that decides how objects of a group version are read and merged.
fn hash(version: &VersionInfo) -> String {
    static BUILTIN: OnceLock<Vec<u8>> = OnceLock::new();
    let builtin = || Sha256::digest(include_bytes!("../../data/schema.json")).to_vec();
    let mut digest = Sha256::new();
    for resource in &version.resources {
        digest.update(resource.plural.as_bytes());
        match &resource.definition {
            Some(definition) => digest.update(definition.as_bytes()),
            None => digest.update(BUILTIN.get_or_init(builtin)),
        }
    }
    digest
        .finalize()
        .iter()
        .map(|b| format!("{b:02X}"))
        .collect()
}

pub(super) fn document(served: &Served<'_>, path: &str) -> Result<Reply, ApiError> {
    let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => (String::new(), (*version).to_string()),
        ["apis", group, version] => ((*group).to_string(), (*version).to_string()),
        _ => return Err(ApiError::page_not_found()),
    };
    let registry = served.registry()?;
    let Some(announced) = registry.version(&group, &version) else {
        return Err(ApiError::page_not_found());
    };
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for info in &announced.resources {
        let Some(resource) = served.find(&group, &version, &info.plural)? else {
            continue;
        };
        let (path, item) = path_item(&resource);
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
