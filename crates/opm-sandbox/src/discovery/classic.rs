//! Discovery, one document per group version.

use serde_json::{Map, Value, json};

use crate::kinds::{GroupInfo, Registry, ResourceInfo, Subresource, api_version, is_builtin_group};

pub(super) fn core() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
    })
}

pub(super) fn groups(registry: &Registry) -> Value {
    let groups = registry.groups().iter().filter(|g| !g.name.is_empty());
    let groups: Vec<_> = groups.map(group_entry).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

pub(super) fn group(registry: &Registry, name: &str) -> Value {
    let Some(group) = registry.group(name) else {
        return Value::Null;
    };
    let mut entry = group_entry(group);
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    entry
}

fn group_entry(group: &GroupInfo) -> Value {
    let versions: Vec<_> = group
        .versions
        .iter()
        .map(|v| json!({"groupVersion": api_version(&group.name, &v.name), "version": v.name}))
        .collect();
    json!({"name": group.name, "versions": versions, "preferredVersion": versions.first()})
}

pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Value {
    let served = registry.version(group, version);
    let served = served.into_iter().flat_map(|v| &v.resources);
    let mut entries = Vec::new();
    for resource in served {
        entries.push(entry(resource));
        entries.extend(resource.subresources.iter().map(|s| sub_entry(resource, s)));
    }
    if is_builtin_group(group) {
        entries.sort_by_key(|e| e["name"].as_str().unwrap_or_default().to_string());
    }
    json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": api_version(group, version), "resources": entries
    })
}

fn entry(resource: &ResourceInfo) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), json!(resource.plural));
    out.insert("singularName".into(), json!(resource.singular));
    out.insert("namespaced".into(), json!(resource.namespaced));
    out.insert("kind".into(), json!(resource.kind));
    out.insert("verbs".into(), json!(resource.verbs));
    if !resource.short_names.is_empty() {
        out.insert("shortNames".into(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        out.insert("categories".into(), json!(resource.categories));
    }
    if let Some(hash) = &resource.storage_hash {
        out.insert("storageVersionHash".into(), json!(hash));
    }
    Value::Object(out)
}

fn sub_entry(resource: &ResourceInfo, sub: &Subresource) -> Value {
    let mut out = json!({
        "name": format!("{}/{}", resource.plural, sub.name), "singularName": "",
        "namespaced": resource.namespaced, "kind": sub.kind, "verbs": sub.verbs
    });
    if (&sub.group, &sub.version) != (&resource.group, &resource.version) {
        out["group"] = json!(sub.group);
        out["version"] = json!(sub.version);
    }
    out
}
