//! An object as text, line by line, each with the field managers that own it.
//!
//! The server keeps who owns which field in `metadata.managedFields`. A line belongs to every
//! manager that owns it, or something above it as a whole. What a Secret holds is masked before
//! anything is made of it, and the managed fields themselves are left out: they are what the
//! owners are read from.

use serde_json::{Map, Value};

use crate::history::masked_object;
use crate::identity::GroupKind;
use crate::ids::ReleaseId;
use crate::labels::{FIELD_MANAGER, shared_field_manager};

/// One entry of `managedFields`: Apply and Update under one name are two managers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldManager {
    /// Its name.
    pub name: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The subresource that it wrote through; empty for the object itself.
    pub subresource: String,
    /// When it last wrote.
    pub time: Option<String>,
    /// Whether it is the release's own.
    pub ours: bool,
}

/// One line of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldLine {
    /// How deep it stands.
    pub depth: usize,
    /// The name of the field; `-` for an item of a list.
    pub key: String,
    /// Its value as JSON; none where more lines follow below it.
    pub value: Option<String>,
    /// Who owns it, by their places among the managers.
    pub owners: Vec<usize>,
}

/// An object, line by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnedObject {
    /// Everybody who owns something of it.
    pub managers: Vec<FieldManager>,
    /// Its lines, as YAML would have them.
    pub lines: Vec<FieldLine>,
}

impl OwnedObject {
    /// A live object of a release, or of what lies below it.
    pub fn of(kind: &GroupKind, object: &Map<String, Value>, release: &ReleaseId) -> Self {
        let entries = object.get("metadata").and_then(|m| m.get("managedFields"));
        let entries = entries.and_then(Value::as_array).into_iter().flatten();
        let entries: Vec<&Value> = entries.collect();
        let shared = shared_field_manager(release);
        let text = |entry: &Value, field: &str| entry.get(field)?.as_str().map(str::to_owned);
        let managers = entries.iter().map(|entry| {
            let name = text(entry, "manager").unwrap_or_default();
            FieldManager {
                ours: name == FIELD_MANAGER || name == shared,
                name,
                operation: text(entry, "operation").unwrap_or_default(),
                subresource: text(entry, "subresource").unwrap_or_default(),
                time: text(entry, "time"),
            }
        });
        let trees = entries.iter().enumerate();
        let trees = trees.filter_map(|(at, entry)| Some(part(at, entry.get("fieldsV1")?)));
        let mut lines = Lines(Vec::new());
        let mut shown = masked_object(kind, object.clone());
        if let Some(Value::Object(metadata)) = shown.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        lines.fields(0, &shown, &trees.collect::<Vec<_>>());
        Self {
            managers: managers.collect(),
            lines: lines.0,
        }
    }

    /// An object that nobody owns anything of yet: what was applied.
    pub fn unowned(kind: &GroupKind, object: Map<String, Value>) -> Self {
        let mut lines = Lines(Vec::new());
        lines.fields(0, &masked_object(kind, object), &[]);
        Self {
            managers: Vec::new(),
            lines: lines.0,
        }
    }
}

/// What a manager owns at a place; none of a tree means everything there.
type OwnedPart<'a> = (usize, Option<&'a Map<String, Value>>);

fn part(manager: usize, tree: &Value) -> OwnedPart<'_> {
    let below = tree.as_object().filter(|tree| !tree.is_empty());
    (manager, below)
}

/// What is owned of one field or item.
fn below<'a>(owned: &[OwnedPart<'a>], is_it: impl Fn(&str) -> bool) -> Vec<OwnedPart<'a>> {
    let parts = owned.iter().filter_map(|(manager, tree)| match tree {
        None => Some((*manager, None)),
        Some(tree) => {
            let (_, found) = tree.iter().find(|(key, _)| is_it(key))?;
            Some(part(*manager, found))
        }
    });
    parts.collect()
}

/// Whether the key of a list's item in a tree of owned fields means this item.
fn is_item(key: &str, index: usize, item: &Value) -> bool {
    match key.split_once(':') {
        Some(("k", keys)) => {
            let keys: Option<Map<String, Value>> = serde_json::from_str(keys).ok();
            keys.is_some_and(|keys| keys.iter().all(|(key, value)| item.get(key) == Some(value)))
        }
        Some(("v", value)) => serde_json::from_str(value).ok().as_ref() == Some(item),
        Some(("i", at)) => at.parse() == Ok(index),
        _ => false,
    }
}

struct Lines(Vec<FieldLine>);

impl Lines {
    fn fields(&mut self, depth: usize, object: &Map<String, Value>, owned: &[OwnedPart<'_>]) {
        for (name, value) in object {
            let owned = below(owned, |key| key.strip_prefix("f:") == Some(name));
            self.line(depth, name, value, &owned);
        }
    }

    fn line(&mut self, depth: usize, key: &str, value: &Value, owned: &[OwnedPart<'_>]) {
        let is_parent = match value {
            Value::Object(fields) => !fields.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => false,
        };
        let owns = |(_, tree): &&OwnedPart<'_>| {
            !is_parent || tree.is_none_or(|tree| tree.contains_key("."))
        };
        self.0.push(FieldLine {
            depth,
            key: key.to_owned(),
            value: (!is_parent).then(|| value.to_string()),
            owners: owned.iter().filter(owns).map(|(at, _)| *at).collect(),
        });
        match value {
            Value::Object(fields) => self.fields(depth + 1, fields, owned),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let owned = below(owned, |key| is_item(key, index, item));
                    self.line(depth + 1, "-", item, &owned);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn(kind: &str, object: &Value) -> Vec<String> {
        let release = "7b1f2a4e-0d1a-5c55-9d5b-0c7a1c1f4c11".parse().unwrap();
        let object = object.as_object().unwrap();
        let owned = OwnedObject::of(&GroupKind::new("", kind), object, &release);
        let names = |line: &FieldLine| -> String {
            let names = line.owners.iter();
            let names: Vec<&str> = names.map(|at| owned.managers[*at].name.as_str()).collect();
            names.join("+")
        };
        let lines = owned.lines.iter().map(|line| {
            let value = line.value.as_deref().unwrap_or_default();
            let indent = " ".repeat(line.depth);
            format!("{indent}{}={value}|{}", line.key, names(line))
        });
        lines.collect()
    }

    #[test]
    fn every_line_names_who_owns_it_or_something_above_it() {
        let object = json!({
            "metadata": {"name": "web", "managedFields": [
                {"manager": "opm", "operation": "Apply", "fieldsV1": {"f:spec": {
                    "f:replicas": {},
                    "f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}},
                    "f:args": {}}}},
                {"manager": "somebody", "operation": "Update", "fieldsV1": {
                    "f:metadata": {"f:finalizers": {".": {}, "v:\"a/b\"": {}}},
                    "f:spec": {"f:replicas": {}, "f:ports": {"k:{\"port\":80}": {"f:name": {}}}}}},
                {"manager": "broken", "operation": "Update"},
            ], "finalizers": ["a/b", "c/d"]},
            "spec": {"replicas": 2, "args": ["x", {"deep": 1}],
                "ports": [{"port": 80, "name": "http"}, {"port": 81}], "empty": {}},
        });
        assert_eq!(
            drawn("Service", &object),
            [
                "metadata=|",
                " finalizers=|somebody",
                "  -=\"a/b\"|somebody",
                "  -=\"c/d\"|",
                " name=\"web\"|",
                "spec=|",
                " args=|opm",
                "  -=\"x\"|opm",
                "  -=|opm",
                "   deep=1|opm",
                " empty={}|",
                " ports=|",
                "  -=|opm",
                "   name=\"http\"|somebody",
                "   port=80|opm",
                "  -=|",
                "   port=81|",
                " replicas=2|opm+somebody",
            ]
        );
    }

    #[test]
    fn what_a_secret_holds_is_on_no_line() {
        let copy = "kubectl.kubernetes.io/last-applied-configuration";
        let object = json!({"data": {"password": "Y2FuYXJ5"}, "stringData": {"user": "canary"},
            "metadata": {"annotations": {copy: "{\"data\":{\"password\":\"Y2FuYXJ5\"}}"},
                "managedFields": [{"manager": "opm", "operation": "Apply",
                    "fieldsV1": {"f:data": {"f:password": {}}}}]}});
        let lines = drawn("Secret", &object);
        assert!(
            lines.contains(&" password=\"(masked)\"|opm".to_owned()),
            "{lines:?}"
        );
        let all = lines.join("\n");
        assert!(
            !all.contains("canary") && !all.contains("Y2FuYXJ5"),
            "{all}"
        );
    }
}
