//! Discovery, everything in one document.

use serde_json::{Map, Value, json};

use crate::kinds::{Registry, ResourceInfo, VersionInfo};
use crate::wire::call::Call;
use crate::wire::reply::{Payload, Reply};

const MEDIA_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Whether the client can read it; the older beta form is not offered.
pub(super) fn wanted(call: &Call) -> bool {
    call.accept.split(',').any(|part| {
        let has = |piece: &str| part.split(';').any(|p| p.trim() == piece);
        has("application/json")
            && has("g=apidiscovery.k8s.io")
            && has("v=v2")
            && has("as=APIGroupDiscoveryList")
    })
}

pub(super) fn core(registry: &Registry) -> Reply {
    reply(registry, |group| group.is_empty())
}

pub(super) fn groups(registry: &Registry) -> Reply {
    reply(registry, |group| !group.is_empty())
}

fn reply(registry: &Registry, wanted: impl Fn(&str) -> bool) -> Reply {
    let groups = registry.groups().iter().filter(|g| wanted(&g.name));
    let items: Vec<_> = groups
        .map(|group| {
            let mut metadata = Map::new();
            if !group.name.is_empty() {
                metadata.insert("name".into(), json!(group.name));
            }
            metadata.insert("creationTimestamp".into(), Value::Null);
            let versions: Vec<_> = group.versions.iter().map(version).collect();
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": items
    });
    Reply {
        code: 200,
        payload: Payload::JsonAs(document, MEDIA_TYPE),
        warnings: Vec::new(),
    }
}

fn version(version: &VersionInfo) -> Value {
    let resources: Vec<_> = version.resources.iter().map(|r| resource(r)).collect();
    json!({"version": version.name, "resources": resources, "freshness": "Current"})
}

fn resource(resource: &ResourceInfo) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    let mut out = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": scope,
        "singularResource": resource.singular,
        "verbs": resource.verbs
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(resource.categories);
    }
    let subresources: Vec<_> = resource
        .subresources
        .iter()
        .map(|s| {
            json!({
                "subresource": s.name,
                "responseKind": kind(&s.group, &s.version, &s.kind),
                "verbs": s.verbs
            })
        })
        .collect();
    if !subresources.is_empty() {
        out["subresources"] = json!(subresources);
    }
    out
}
