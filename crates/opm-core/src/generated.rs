//! Leaves that a chart makes up anew at each rendering: passwords, certificates, what is computed
//! from them. What was applied once stays, unless somebody wants it otherwise.
//!
//! Which leaves these are is found by rendering twice; nothing here knows what they mean.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::manifest::Manifest;
use crate::name::NamespaceName;
use crate::rendered::Rendered;

/// The places, as JSON pointers, at which two renderings of one object differ.
pub fn differing_leaves(one: &Map<String, Value>, other: &Map<String, Value>) -> Vec<String> {
    let mut leaves = Vec::new();
    fields(one, other, "", &mut leaves);
    leaves
}

fn fields(
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    path: &str,
    leaves: &mut Vec<String>,
) {
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (one.get(key), other.get(key)) {
            (Some(one), Some(other)) => values(one, other, path, leaves),
            _ => leaves.push(path),
        }
    }
}

fn values(one: &Value, other: &Value, path: String, leaves: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => fields(one, other, &path, leaves),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                values(one, other, format!("{path}/{at}"), leaves);
            }
        }
        (one, other) if one == other => {}
        _ => leaves.push(path),
    }
}

impl Rendered {
    /// Whether a chart made something up.
    pub fn has_generated(&self) -> bool {
        let mut manifests = self.components.iter().flat_map(|one| &one.manifests);
        manifests.any(|one| !one.generated().is_empty())
    }

    /// Puts what was applied before in the place of what was made up anew. `former` is a change as
    /// it was applied, of a release in this namespace.
    pub fn keep_generated(&mut self, former: &Self, namespace: &NamespaceName) {
        let applied: Vec<&Manifest> = former
            .components
            .iter()
            .flat_map(|one| &one.manifests)
            .collect();
        let manifests = self
            .components
            .iter_mut()
            .flat_map(|one| &mut one.manifests);
        for manifest in manifests.filter(|one| !one.generated().is_empty()) {
            let mut applied = applied.iter();
            if let Some(former) = applied.find(|one| is_same(manifest, one, namespace)) {
                let former = former.object();
                for leaf in manifest.generated().to_vec() {
                    keep(manifest.object_mut(), &former, &leaf);
                }
            }
        }
    }
}

/// Whether an object was applied as this one: what is rendered without a namespace was applied
/// into its own home, else into the release's, or into none.
fn is_same(rendered: &Manifest, applied: &Manifest, namespace: &NamespaceName) -> bool {
    let (ours, theirs) = (rendered.identity(), applied.identity());
    let placed = match (&ours.namespace, &theirs.namespace) {
        (None, Some(applied)) => applied == rendered.home().unwrap_or(namespace).as_str(),
        (ours, theirs) => ours == theirs,
    };
    ours.group_kind == theirs.group_kind && ours.name == theirs.name && placed
}

fn keep(object: &mut Map<String, Value>, former: &Map<String, Value>, leaf: &str) {
    // What a Secret says as text was applied as data.
    if let Some(key) = leaf.strip_prefix("/stringData/") {
        let key = key.replace("~1", "/").replace("~0", "~");
        let Some(value) = former.get("data").and_then(|data| data.get(&key)) else {
            return;
        };
        if let Some(Value::Object(texts)) = object.get_mut("stringData") {
            texts.remove(&key);
        }
        let data = object
            .entry("data")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(data) = data {
            data.insert(key, value.clone());
        }
        return;
    }
    let Some((first, rest)) = leaf.get(1..).map(|path| match path.split_once('/') {
        Some((first, rest)) => (first, format!("/{rest}")),
        None => (path, String::new()),
    }) else {
        return;
    };
    let first = first.replace("~1", "/").replace("~0", "~");
    let value = former.get(&first).and_then(|value| value.pointer(&rest));
    let place = object
        .get_mut(&first)
        .and_then(|value| value.pointer_mut(&rest));
    if let (Some(value), Some(place)) = (value, place) {
        *place = value.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::name::{ComponentName, ModuleName};
    use crate::rendered::{Component, Module};

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn leaves_are_found_where_renderings_differ() {
        let one = object(&json!({"data": {"a": "1", "b/c": "x"}, "list": [{"k": 1}, 2], "n": [1]}));
        let other = object(
            &json!({"data": {"a": "2", "b/c": "x", "new": 1}, "list": [{"k": 3}, 2], "n": []}),
        );
        assert_eq!(
            differing_leaves(&one, &other),
            ["/data/a", "/data/new", "/list/0/k", "/n"]
        );
        assert!(differing_leaves(&one, &one).is_empty());
    }

    fn rendered(manifest: Manifest) -> Rendered {
        let name = ModuleName::new("shop").unwrap();
        Rendered::new(
            Module::local(name),
            vec![Component::new(
                ComponentName::new("app").unwrap(),
                vec![manifest],
            )],
        )
    }

    #[test]
    fn what_was_applied_stays_and_the_rest_is_new() {
        let namespace = NamespaceName::new("games").unwrap();
        let secret = |value: Value| Manifest::parse(value).unwrap();
        let new = secret(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "key", "annotations": {"sum/of": "new"}},
            "data": {"user": "bmV3", "made": "bmV3"}, "stringData": {"text": "new", "said": "new"}}));
        let leaves = [
            "/metadata/annotations/sum~1of",
            "/data/made",
            "/stringData/text",
            "/data/gone",
        ];
        let mut new = rendered(new.with_generated(leaves.map(str::to_owned).to_vec()));
        assert!(new.has_generated());
        let former = rendered(secret(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "key", "namespace": "games", "annotations": {"sum/of": "old"}},
            "data": {"user": "b2xk", "made": "b2xk", "text": "b2xkdGV4dA==", "said": "b2xk"}})));
        new.keep_generated(&former, &namespace);
        let kept = new.components[0].manifests[0].object();
        assert_eq!(kept["metadata"]["annotations"]["sum/of"], "old");
        assert_eq!(
            kept["data"],
            json!({"user": "bmV3", "made": "b2xk", "text": "b2xkdGV4dA=="})
        );
        assert_eq!(kept["stringData"], json!({"said": "new"}));

        let elsewhere = rendered(secret(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "key", "namespace": "other"}, "data": {"made": "b3RoZXI="}})));
        new.keep_generated(&elsewhere, &namespace);
        assert_eq!(
            new.components[0].manifests[0].object()["data"]["made"],
            "b2xk"
        );
    }
}
