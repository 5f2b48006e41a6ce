//! Whether an apply changed anything: judged by what is this release's of the object, before and
//! after. That the object moved on says nothing about that where controllers write as well.

use serde_json::{Map, Value};

use crate::drift::{changes_by_apply, wrote_nothing};
use crate::identity::GroupKind;
use crate::ids::ReleaseId;
use crate::packed::PackedObject;

/// An object as it was before an apply.
#[derive(Debug, Clone, Copy)]
pub struct ObjectBefore<'a> {
    /// The object, or its metadata.
    pub object: &'a PackedObject,
    /// Whether it is the whole object.
    pub whole: bool,
}

/// Whether an apply changed nothing, or would change nothing. The metadata of before is enough where
/// the object was as this release applied it.
pub fn is_unchanged(
    kind: &GroupKind,
    before: ObjectBefore<'_>,
    after: &Map<String, Value>,
    release: &ReleaseId,
) -> bool {
    let object = before.object.unpack();
    match before.whole {
        true => changes_by_apply(kind, &object, after, release).is_empty(),
        false => wrote_nothing(kind, &object, after, release),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const REVISION: &str = "deployment.kubernetes.io/revision";

    fn release() -> ReleaseId {
        "0b5a0c1e-1111-5222-8333-444455556666".parse().unwrap()
    }

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    /// A Deployment that `opm` applied and the controller wrote to.
    fn deployment(image: &str, replicas: u64, revision: Option<&str>) -> Value {
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "generation": replicas, "resourceVersion": image,
                "managedFields": [
                    {"manager": "opm", "operation": "Apply", "apiVersion": "apps/v1", "time": image,
                        "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {
                            "k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:image": {}}}}}}}},
                    {"manager": "kubectl-scale", "operation": "Update", "subresource": "scale",
                        "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                ]},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [
                {"name": "c", "image": image}]}}},
            "status": {"replicas": replicas},
        });
        if let Some(revision) = revision {
            object["metadata"]["annotations"] = json!({REVISION: revision});
            let controller = json!({"manager": "kube-controller-manager", "operation": "Update",
                "apiVersion": "apps/v1", "fieldsV1": {"f:metadata": {"f:annotations": {
                    ".": {}, format!("f:{REVISION}"): {}}}}});
            object["metadata"]["managedFields"]
                .as_array_mut()
                .unwrap()
                .push(controller);
        }
        object
    }

    #[test]
    fn only_what_the_release_does_counts() {
        let plain = || deployment("a:1", 1, None);
        let mut defaulted = plain();
        defaulted["spec"]["paused"] = json!(false);
        let mut webhook = plain();
        webhook["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
        webhook["metadata"]["managedFields"]
            .as_array_mut()
            .unwrap()
            .push(json!({"manager": "opm", "operation": "Update", "fieldsV1":
                {"f:spec": {"f:template": {"f:spec": {"f:hostNetwork": {}}}}}}));
        let cases = [
            ("nothing moved", plain(), plain(), true),
            (
                "a controller counted a revision",
                plain(),
                deployment("a:1", 1, Some("1")),
                true,
            ),
            (
                "and the next",
                deployment("a:1", 1, Some("1")),
                deployment("a:1", 1, Some("2")),
                true,
            ),
            (
                "and took it off",
                deployment("a:1", 1, Some("1")),
                plain(),
                true,
            ),
            (
                "somebody scaled it meanwhile",
                plain(),
                deployment("a:1", 3, None),
                true,
            ),
            (
                "another image",
                plain(),
                deployment("a:2", 1, Some("2")),
                false,
            ),
            ("the server filled in a default", plain(), defaulted, false),
            ("a webhook added to the apply", plain(), webhook, false),
        ];
        let kind = GroupKind::new("apps", "Deployment");
        for (what, before, after, expected) in cases {
            let before = PackedObject::new(&map(&before));
            let seen = ObjectBefore {
                object: &before,
                whole: true,
            };
            let found = is_unchanged(&kind, seen, &map(&after), &release());
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn metadata_tells_where_the_object_was_as_applied() {
        let live = PackedObject::new(&map(&deployment("a:1", 1, Some("1"))));
        let release = &release();
        let kind = GroupKind::new("apps", "Deployment");
        let seen = ObjectBefore {
            object: &live,
            whole: false,
        };
        let mut after = deployment("a:1", 1, Some("1"));
        assert!(is_unchanged(&kind, seen, &map(&after), release));
        after["metadata"]["resourceVersion"] = json!("8");
        assert!(
            is_unchanged(&kind, seen, &map(&after), release),
            "no new generation: the server only wrote it once more"
        );
        let mut scaled = deployment("a:1", 9, Some("1"));
        assert!(
            !is_unchanged(&kind, seen, &map(&scaled), release),
            "nobody else moved it: a webhook has let go of a value"
        );
        scaled["metadata"]["managedFields"][1]["time"] = json!("later");
        assert!(
            is_unchanged(&kind, seen, &map(&scaled), release),
            "somebody scaled it meanwhile"
        );
        scaled["metadata"]["managedFields"][0]["time"] = json!("later");
        assert!(!is_unchanged(&kind, seen, &map(&scaled), release), "both");
        after["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:replicas"] = json!({});
        assert!(!is_unchanged(&kind, seen, &map(&after), release));
    }
}
