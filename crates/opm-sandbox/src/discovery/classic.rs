//! Discovery, one document per group version.

use serde_json::{Map, Value, json};

use crate::kinds::{Registry, Resource, Subresource, api_version};

pub(super) fn core() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
    })
}

pub(super) fn groups(registry: &Registry) -> Value {
    let groups = registry.groups().into_iter().filter(|(g, _)| !g.is_empty());
    let groups: Vec<_> = groups
        .map(|(group, versions)| group_entry(&group, &versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

pub(super) fn group(registry: &Registry, name: &str) -> Value {
    let all = registry.groups();
    let versions = all
        .iter()
        .find(|(g, _)| g == name)
        .map(|(_, v)| v.clone())
        .unwrap_or_default();
    let mut entry = group_entry(name, &versions);
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    entry
}

fn group_entry(group: &str, versions: &[String]) -> Value {
    let versions: Vec<_> = versions
        .iter()
        .map(|v| json!({"groupVersion": api_version(group, v), "version": v}))
        .collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Value {
    let served = registry
        .resources
        .iter()
        .filter(|r| r.group == group && r.version == version);
    let mut entries = Vec::new();
    for resource in served {
        entries.push(entry(resource));
        entries.extend(resource.subresources.iter().map(|s| sub_entry(resource, s)));
    }
    if Registry::is_builtin_group(group) {
        entries.sort_by_key(|e| e["name"].as_str().unwrap_or_default().to_string());
    }
    json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": api_version(group, version), "resources": entries
    })
}

fn entry(resource: &Resource) -> Value {
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

fn sub_entry(resource: &Resource, sub: &Subresource) -> Value {
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
