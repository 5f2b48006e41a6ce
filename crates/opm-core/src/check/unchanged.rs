//! Whether an apply changed anything, read off an object's metadata before and after it.

use serde_json::{Map, Value};

use crate::diff::diff;
use crate::identity::GroupKind;

/// What a person may have set in the metadata of an object.
const SET_BY_PEOPLE: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Whether an apply changed nothing.
///
/// The version moves also when a controller writes a status in between. Where the server counts
/// generations of the specification, these decide. Elsewhere an apply of the very manifest that
/// was applied last (`same_manifest`) has changed nothing if nobody's managed fields moved: the
/// server stores some objects anew at their first no-op, and a hand that had edited a field
/// would have had to take it over first.
pub fn is_unchanged(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    same_manifest: bool,
) -> bool {
    let of = |object: &Map<String, Value>, field: &str| {
        let metadata = object.get("metadata");
        metadata.and_then(|metadata| metadata.get(field)).cloned()
    };
    let same = |field: &str| of(before, field) == of(after, field);
    if same("resourceVersion") {
        return true;
    }
    if !SET_BY_PEOPLE.into_iter().all(same) {
        return false;
    }
    match of(after, "generation") {
        Some(_) => same("generation"),
        None => same_manifest && same_appliers(before, after),
    }
}

/// Whether what was applied, by whom and when, is the same. A status that a controller writes is
/// an Update, and says nothing about it.
fn same_appliers(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    let appliers = |object: &Map<String, Value>| -> Option<Vec<Value>> {
        let entries = object.get("metadata")?.get("managedFields")?.as_array()?;
        let applied = entries.iter().filter(|entry| entry["operation"] == "Apply");
        Some(applied.cloned().collect())
    };
    appliers(before).is_some_and(|appliers| !appliers.is_empty())
        && appliers(before) == appliers(after)
}

/// Whether a pretended apply would change nothing; whole objects are compared. Where the server
/// counts no generations, a change of who manages which field moves the version as well, though
/// nobody sees it.
pub fn would_be_unchanged(
    kind: &GroupKind,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> bool {
    let managed = |object: &Map<String, Value>| {
        let entries = object.get("metadata")?.get("managedFields")?.as_array()?;
        let fields = entries.iter().map(|entry| {
            let of = |name: &str| entry.get(name).cloned().unwrap_or_default();
            (of("manager"), of("operation"), of("fieldsV1"))
        });
        Some(fields.collect::<Vec<_>>())
    };
    let counted = after
        .get("metadata")
        .is_some_and(|metadata| metadata.get("generation").is_some());
    diff(kind, before, after).is_empty() && (counted || managed(before) == managed(after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(metadata: &Value) -> Map<String, Value> {
        json!({ "metadata": metadata })
            .as_object()
            .cloned()
            .unwrap_or_default()
    }

    #[test]
    fn what_counts_as_unchanged() {
        let opm = |time: &str| json!([{"manager": "opm", "operation": "Apply", "time": time}]);
        let with_status = json!([{"manager": "opm", "operation": "Apply", "time": "1"},
            {"manager": "kcm", "operation": "Update", "subresource": "status"}]);
        let cases = [
            // before, after, same manifest, unchanged
            (
                "nothing moved",
                json!({"resourceVersion": "1"}),
                json!({"resourceVersion": "1"}),
                false,
                true,
            ),
            (
                "a status was written",
                json!({"resourceVersion": "1", "generation": 3}),
                json!({"resourceVersion": "2", "generation": 3}),
                false,
                true,
            ),
            (
                "the specification moved",
                json!({"resourceVersion": "1", "generation": 3}),
                json!({"resourceVersion": "2", "generation": 4}),
                true,
                false,
            ),
            (
                "a label moved",
                json!({"resourceVersion": "1", "generation": 3}),
                json!({"resourceVersion": "2", "generation": 3, "labels": {"a": "b"}}),
                true,
                false,
            ),
            (
                "stored anew",
                json!({"resourceVersion": "1", "managedFields": opm("1")}),
                json!({"resourceVersion": "2", "managedFields": opm("1")}),
                true,
                true,
            ),
            (
                "stored anew, and a status",
                json!({"resourceVersion": "1", "managedFields": opm("1")}),
                json!({"resourceVersion": "2", "managedFields": with_status}),
                true,
                true,
            ),
            (
                "another manifest in the same second",
                json!({"resourceVersion": "1", "managedFields": opm("1")}),
                json!({"resourceVersion": "2", "managedFields": opm("1")}),
                false,
                false,
            ),
            (
                "the apply took effect",
                json!({"resourceVersion": "1", "managedFields": opm("1")}),
                json!({"resourceVersion": "2", "managedFields": opm("2")}),
                true,
                false,
            ),
            (
                "an annotation moved",
                json!({"resourceVersion": "1", "managedFields": opm("1")}),
                json!({"resourceVersion": "2", "managedFields": opm("1"), "annotations": {"a": "b"}}),
                true,
                false,
            ),
            (
                "nobody is known to have applied it",
                json!({"resourceVersion": "1"}),
                json!({"resourceVersion": "2"}),
                true,
                false,
            ),
        ];
        for (what, before, after, same_manifest, expected) in cases {
            let found = is_unchanged(&object(&before), &object(&after), same_manifest);
            assert_eq!(found, expected, "{what}");
        }
    }
}
