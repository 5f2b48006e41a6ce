//! The scale subresource: replicas of a workload or custom resource as one small object.

use serde_json::{Map, Value, json};

use super::view;
use super::write::Writing;
use crate::kinds::Resource;
use crate::status::{ApiError, Cause};
use crate::wire::reply::Reply;

/// Where a resource keeps what its scale shows, as JSON pointers.
struct Paths {
    replicas: String,
    status: String,
    selector: Option<String>,
}

fn paths(resource: &Resource) -> Paths {
    let pointer = |v: &Value| v.as_str().map(|p| p.replace('.', "/"));
    match resource.custom.as_ref().and_then(|c| c.scale.as_ref()) {
        Some(scale) => Paths {
            replicas: pointer(&scale["specReplicasPath"]).unwrap_or_default(),
            status: pointer(&scale["statusReplicasPath"]).unwrap_or_default(),
            selector: pointer(&scale["labelSelectorPath"]),
        },
        None => Paths {
            replicas: "/spec/replicas".into(),
            status: "/status/replicas".into(),
            selector: None,
        },
    }
}

/// The Scale of an object.
pub(crate) fn read(resource: &Resource, object: &Value) -> Result<Value, ApiError> {
    let paths = paths(resource);
    if resource.custom.is_some() && object.pointer(&paths.replicas).is_none() {
        return Err(ApiError::internal(format!(
            "the spec replicas field {} does not exist",
            crate::apply::value::quoted(&paths.replicas.replace('/', "."))
        )));
    }
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    let meta = &object["metadata"];
    let mut metadata = Map::new();
    for key in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = meta.get(key) {
            metadata.insert(key.to_string(), value.clone());
        }
    }
    let mut status = json!({"replicas": number(&paths.status)});
    let selector = match &paths.selector {
        Some(path) => object
            .pointer(path)
            .and_then(Value::as_str)
            .map(str::to_string),
        None => Some(selector_text(&object["spec"]["selector"])),
    };
    if let Some(selector) = selector.filter(|s| !s.is_empty()) {
        status["selector"] = json!(selector);
    }
    let mut spec = Map::new();
    if number(&paths.replicas) != 0 {
        spec.insert("replicas".into(), json!(number(&paths.replicas)));
    }
    Ok(json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": metadata, "spec": spec, "status": status
    }))
}

fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let pairs: Vec<_> = labels
        .map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()))
        .collect();
    pairs.join(",")
}

/// Writes the replicas of a changed Scale back into its object.
pub(crate) fn put(
    writing: &Writing<'_>,
    old: &Value,
    scale: &Value,
    manager: &str,
) -> Result<Reply, ApiError> {
    let resource = writing.resource;
    let name = old["metadata"]["name"].as_str().unwrap_or_default();
    let version = scale["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default();
    if !version.is_empty() && old["metadata"]["resourceVersion"] != version {
        return Err(ApiError::modified(&resource.group, &resource.plural, name));
    }
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let detail = "must be greater than or equal to 0";
        let cause = Cause::invalid("spec.replicas", replicas.to_string(), detail);
        return Err(ApiError::invalid("autoscaling", "Scale", name, &[cause]));
    }
    let mut new = old.clone();
    let path = paths(resource).replicas;
    let (parent, last) = path.rsplit_once('/').unwrap_or_default();
    if let Some(Value::Object(map)) = new.pointer_mut(parent) {
        map.insert(last.to_string(), json!(replicas));
    }
    writing.update_managers(old, &mut new, manager);
    // The object changes as a whole: its generation moves, unlike after a status write.
    let main = Writing {
        subresource: "",
        ..*writing
    };
    let stored = main.update(old, new)?;
    Ok(Reply::ok(view::plain(read(resource, &stored)?)))
}
