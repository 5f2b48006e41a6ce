//! Real answers of kube-apiserver 1.34, and what is made of them.

use serde_json::{Value, json};

use super::*;

pub(super) type Said = (u16, Vec<u8>);

pub(super) fn status(code: u16, reason: &str, message: &str, details: Value) -> Said {
    let mut body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "code": code,
    });
    body["details"] = details;
    if !reason.is_empty() {
        body["reason"] = json!(reason);
    }
    (code, body.to_string().into_bytes())
}

pub(super) fn read(answer: &Said, plural: &str) -> ApiError {
    let asked = RequestedResource {
        name: None,
        plural,
        secret: plural == "secrets",
    };
    classify(answer.0, &answer.1, asked, &KnownValues::default())
}

pub(super) fn cause(reason: &str, field: &str, message: &str) -> Value {
    json!({"causes": [{"reason": reason, "field": field, "message": message}]})
}

#[test]
fn each_answer_is_told_apart() {
    let plain = |code: u16, text: &str| (code, text.as_bytes().to_vec());
    let table: Vec<(&str, Said, ApiErrorKind)> = vec![
        (
            "configmaps",
            plain(404, "404 page not found\n"),
            ApiErrorKind::KindNotServed,
        ),
        (
            "nonsenses",
            status(
                404,
                "NotFound",
                "the server could not find the requested resource",
                json!({}),
            ),
            ApiErrorKind::KindNotServed,
        ),
        (
            "configmaps",
            status(
                404,
                "NotFound",
                r#"configmaps "x" not found"#,
                json!({"name": "x", "kind": "configmaps"}),
            ),
            ApiErrorKind::NotFound,
        ),
        (
            "configmaps",
            status(
                404,
                "NotFound",
                r#"namespaces "x" not found"#,
                json!({"name": "x", "kind": "namespaces"}),
            ),
            ApiErrorKind::NamespaceMissing,
        ),
        (
            "namespaces",
            status(
                404,
                "NotFound",
                r#"namespaces "x" not found"#,
                json!({"name": "x", "kind": "namespaces"}),
            ),
            ApiErrorKind::NotFound,
        ),
        (
            "configmaps",
            status(
                403,
                "Forbidden",
                r#"configmaps "x" is forbidden: unable to create new content in namespace n because it is being terminated"#,
                cause(
                    "NamespaceTerminating",
                    "metadata.namespace",
                    "namespace n is being terminated",
                ),
            ),
            ApiErrorKind::NamespaceTerminating,
        ),
        (
            "things",
            status(
                403,
                "Forbidden",
                "create not allowed while custom resource definition is terminating",
                json!({}),
            ),
            ApiErrorKind::Denied,
        ),
        (
            "configmaps",
            status(
                403,
                "Forbidden",
                r#"configmaps "x" is forbidden: User "eve" cannot patch resource "configmaps" in API group "" in the namespace "n""#,
                json!({"name": "x", "kind": "configmaps"}),
            ),
            ApiErrorKind::Forbidden,
        ),
        (
            "clusterroles",
            status(
                403,
                "Forbidden",
                r#"clusterroles.rbac.authorization.k8s.io "x" is forbidden: user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held"#,
                json!({}),
            ),
            ApiErrorKind::Forbidden,
        ),
        (
            "configmaps",
            status(401, "Unauthorized", "Unauthorized", json!({})),
            ApiErrorKind::Forbidden,
        ),
        (
            "pods",
            status(
                403,
                "Forbidden",
                r#"pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#,
                json!({}),
            ),
            ApiErrorKind::Denied,
        ),
        (
            "pods",
            status(
                403,
                "Forbidden",
                r#"pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged"#,
                json!({}),
            ),
            ApiErrorKind::Denied,
        ),
        (
            "pods",
            status(
                403,
                "Forbidden",
                r#"pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 2"#,
                json!({}),
            ),
            ApiErrorKind::Denied,
        ),
        (
            "configmaps",
            status(
                403,
                "",
                r#"admission webhook "x.example.org" denied the request: no"#,
                json!({}),
            ),
            ApiErrorKind::Denied,
        ),
        (
            "configmaps",
            status(
                400,
                "BadRequest",
                r#"admission webhook "x.example.org" denied the request: no"#,
                json!({}),
            ),
            ApiErrorKind::Denied,
        ),
        (
            "configmaps",
            status(
                422,
                "Invalid",
                r#"configmaps "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"#,
                json!({}),
            ),
            ApiErrorKind::Denied,
        ),
        (
            "configmaps",
            status(
                409,
                "Conflict",
                r#"Operation cannot be fulfilled on configmaps "x": the object has been modified; please apply your changes to the latest version and try again"#,
                json!({"name": "x", "kind": "configmaps"}),
            ),
            ApiErrorKind::Stale,
        ),
        (
            "configmaps",
            status(
                409,
                "AlreadyExists",
                r#"configmaps "x" already exists"#,
                json!({}),
            ),
            ApiErrorKind::AlreadyExists,
        ),
        (
            "configmaps",
            status(
                409,
                "Conflict",
                r#"Apply failed with 1 conflict: conflict with "opm": .data.x"#,
                cause("FieldManagerConflict", ".data.x", r#"conflict with "opm""#),
            ),
            ApiErrorKind::FieldConflict,
        ),
        (
            "configmaps",
            status(
                422,
                "Invalid",
                r#"ConfigMap "x" is invalid: metadata.uid: Invalid value: "a": field is immutable"#,
                cause(
                    "FieldValueInvalid",
                    "metadata.uid",
                    r#"Invalid value: "a": field is immutable"#,
                ),
            ),
            ApiErrorKind::Stale,
        ),
        (
            "deployments",
            status(
                422,
                "Invalid",
                r#"Deployment.apps "x" is invalid: spec.selector: Invalid value: {}: field is immutable"#,
                cause(
                    "FieldValueInvalid",
                    "spec.selector",
                    "Invalid value: {}: field is immutable",
                ),
            ),
            ApiErrorKind::Invalid,
        ),
        (
            "configmaps",
            status(
                413,
                "RequestEntityTooLarge",
                "Request entity too large: limit is 3145728",
                json!({}),
            ),
            ApiErrorKind::TooLarge,
        ),
        (
            "configmaps",
            status(
                422,
                "Invalid",
                r#"ConfigMap "x" is invalid: []: Too long: may not be more than 1048576 bytes"#,
                cause(
                    "FieldValueTooLong",
                    "[]",
                    "Too long: may not be more than 1048576 bytes",
                ),
            ),
            ApiErrorKind::TooLarge,
        ),
        (
            "configmaps",
            status(
                422,
                "Invalid",
                r#"ConfigMap "x" is invalid: metadata.labels: Too long: may not be more than 63 bytes"#,
                cause(
                    "FieldValueTooLong",
                    "metadata.labels",
                    "Too long: may not be more than 63 bytes",
                ),
            ),
            ApiErrorKind::Invalid,
        ),
        (
            "configmaps",
            status(500, "", "etcdserver: request is too large", json!({})),
            ApiErrorKind::TooLarge,
        ),
        (
            "deployments",
            status(
                500,
                "",
                "failed to create typed patch object (ns/name; apps/v1, Kind=Deployment): .foo: field not declared in schema",
                json!({}),
            ),
            ApiErrorKind::Rejected,
        ),
        (
            "configmaps",
            status(
                500,
                "InternalError",
                r#"Internal error occurred: failed calling webhook "x": connection refused"#,
                json!({}),
            ),
            ApiErrorKind::NotUpYet,
        ),
        (
            "configmaps",
            status(
                504,
                "Timeout",
                "Timeout: request did not complete within requested timeout",
                json!({}),
            ),
            ApiErrorKind::Unreachable,
        ),
        (
            "configmaps",
            status(
                500,
                "ServerTimeout",
                "The operation could not be completed",
                json!({}),
            ),
            ApiErrorKind::Unreachable,
        ),
        (
            "configmaps",
            status(429, "TooManyRequests", "too many requests", json!({})),
            ApiErrorKind::Unreachable,
        ),
        (
            "configmaps",
            plain(502, "<html>bad gateway</html>"),
            ApiErrorKind::Unreachable,
        ),
        (
            "configmaps",
            status(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format",
                json!({}),
            ),
            ApiErrorKind::Rejected,
        ),
    ];
    for (plural, answer, expected) in &table {
        let error = read(answer, plural);
        assert_eq!(error.kind, *expected, "{error:?}");
        assert_eq!(error.status, Some(answer.0));
        assert!(!error.message.is_empty());
    }
}

#[test]
fn a_conflict_names_fields_and_managers() {
    let message =
        "Apply failed with 2 conflicts: conflicts with \"kubectl\" using v1:\n- .data.x\n- .data.y";
    let listed = json!({"causes": [
        {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using v1", "field": ".data.x"},
        {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using v1", "field": ".data.y"},
    ]});
    for details in [listed, json!({})] {
        let error = read(&status(409, "Conflict", message, details), "configmaps");
        assert_eq!(error.kind, ApiErrorKind::FieldConflict);
        let found: Vec<_> = error
            .causes
            .iter()
            .map(|cause| (cause.manager().unwrap(), cause.field.as_str()))
            .collect();
        assert_eq!(found, [("kubectl", ".data.x"), ("kubectl", ".data.y")]);
    }
    let one = r#"Apply failed with 1 conflict: conflict with "kube-controller-manager" with subresource "scale" using apps/v1: .spec.replicas"#;
    let error = read(&status(409, "Conflict", one, json!({})), "deployments");
    assert_eq!(error.causes[0].manager(), Some("kube-controller-manager"));
    assert_eq!(error.causes[0].field, ".spec.replicas");
    let list = r#"Apply failed with 1 conflict: conflict with "a": .spec.template.spec.containers[name="c"].image"#;
    let error = read(&status(409, "Conflict", list, json!({})), "deployments");
    assert_eq!(
        error.causes[0].field,
        r#".spec.template.spec.containers[name="c"].image"#
    );
}

#[test]
fn long_messages_keep_what_decides() {
    let value = "x".repeat(9000);
    let said = format!("Invalid value: {value}: field is immutable");
    let answer = status(
        422,
        "Invalid",
        &format!(r#"Job.batch "j" is invalid: spec.template: {said}"#),
        cause("FieldValueInvalid", "spec.template", &said),
    );
    let error = read(&answer, "jobs");
    assert!(error.message.len() < 1200 && error.message.starts_with("Job.batch"));
    assert!(error.causes[0].message.ends_with("field is immutable"));
    assert!(error.causes[0].message.len() < 1200);
}
