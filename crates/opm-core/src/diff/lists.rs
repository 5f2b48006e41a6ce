//! Lists: which items of two lists are the same item.

use std::collections::BTreeSet;

use serde_json::Value;

/// How the items of two lists belong together.
pub(super) enum ItemMatch {
    /// As one value: the list has no order of its own worth telling apart.
    Whole,
    /// By position.
    Index,
    /// By what is written in brackets for each item, old and new.
    Keys(Vec<String>, Vec<String>),
}

/// How to match the items of a list in the field `name`.
pub(super) fn match_items(name: &str, old: &[Value], new: &[Value]) -> ItemMatch {
    let mappings = old.iter().chain(new).all(Value::is_object);
    if !mappings || name == "tolerations" {
        return ItemMatch::Whole;
    }
    candidates(name)
        .iter()
        .find_map(|keys| Some(ItemMatch::Keys(labels(keys, old)?, labels(keys, new)?)))
        .unwrap_or(ItemMatch::Index)
}

/// The merge keys that the items of a list may have, by the name of its field. A default stands
/// in for what is left out, as it does on the server.
fn candidates(name: &str) -> &'static [&'static [(&'static str, Option<&'static str>)]] {
    match name {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets"
        | "resourceClaims"
        | "schedulingGates"
        | "secrets"
        | "webhooks"
        | "versions" => &[&[("name", None)]],
        "ports" => &[
            &[("containerPort", None), ("protocol", Some("TCP"))],
            &[("port", None), ("protocol", Some("TCP"))],
        ],
        "volumeMounts" => &[&[("mountPath", None)]],
        "volumeDevices" => &[&[("devicePath", None)]],
        "hostAliases" => &[&[("ip", None)]],
        "ownerReferences" => &[&[("uid", None)]],
        "conditions" => &[&[("type", None)]],
        "topologySpreadConstraints" => &[&[("topologyKey", None), ("whenUnsatisfiable", None)]],
        _ => &[],
    }
}

/// What is written in brackets for each item, unless an item has no such key or shares it.
fn labels(keys: &[(&str, Option<&str>)], items: &[Value]) -> Option<Vec<String>> {
    let part = |item: &Value, (key, default): &(&str, Option<&str>)| match (item.get(key), default)
    {
        (Some(value @ (Value::String(_) | Value::Number(_))), _) => Some(format!("{key}={value}")),
        (None, Some(default)) => Some(format!("{key}={default:?}")),
        _ => None,
    };
    let label = |item: &Value| {
        let parts: Option<Vec<String>> = keys.iter().map(|key| part(item, key)).collect();
        parts.map(|parts| parts.join(","))
    };
    let labels: Option<Vec<String>> = items.iter().map(label).collect();
    labels.filter(|labels| labels.iter().collect::<BTreeSet<_>>().len() == labels.len())
}
