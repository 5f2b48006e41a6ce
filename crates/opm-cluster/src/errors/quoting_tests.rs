//! Answers that quote what must not be told.

use serde_json::json;

use super::tests::{cause, read, status};
use super::*;

/// A value that must not come out, in every text about a Secret that may quote it.
#[test]
fn nothing_of_a_secret_comes_through() {
    let canary = "c4n4ry-v4lue";
    let quoted = format!(r#"Invalid value: "{canary}": field is immutable"#);
    let table = vec![
        (
            status(
                422,
                "Invalid",
                &format!(r#"Secret "s" is invalid: data[k]: {quoted}"#),
                cause("FieldValueInvalid", "data[k]", &quoted),
            ),
            vec!["data[k]", "field is immutable", "Invalid"],
        ),
        (
            status(
                500,
                "",
                &format!(
                    "failed to create typed patch object (n/s; /v1, Kind=Secret): .data.k: expected string, got &value.valueUnstructured{{Value:{canary}}}"
                ),
                json!({}),
            ),
            vec![".data.k", "expected string"],
        ),
        (
            status(
                500,
                "",
                &format!(
                    "failed to convert new object (n/s; /v1, Kind=Secret) to smd typed: illegal base64 data at input byte 4: {canary}"
                ),
                json!({}),
            ),
            vec!["illegal base64 data"],
        ),
        (
            status(
                403,
                "Forbidden",
                &format!(
                    r#"admission webhook "guard.example.org" denied the request: password {canary} is weak"#
                ),
                json!({}),
            ),
            vec!["guard.example.org", "denied the request"],
        ),
        (
            status(
                422,
                "Invalid",
                &format!(
                    r#"secrets "s" is forbidden: ValidatingAdmissionPolicy 'weak' with binding 'b' denied request: {canary}"#
                ),
                json!({}),
            ),
            vec!["'weak'", "denied request"],
        ),
        (
            status(
                400,
                "BadRequest",
                &format!("error decoding YAML: {canary}"),
                json!({}),
            ),
            vec!["BadRequest"],
        ),
        (
            (502, format!("upstream said {canary}").into_bytes()),
            vec!["502"],
        ),
        (
            status(503, "ServiceUnavailable", canary, json!({})),
            vec!["ServiceUnavailable"],
        ),
    ];
    for (answer, expected) in &table {
        let error = read(answer, "secrets");
        let all = format!("{error:?}");
        assert!(!all.contains(canary), "{all}");
        for word in expected {
            assert!(error.message.contains(word), "{word} in {}", error.message);
        }
    }
    let rbac = r#"secrets "s" is forbidden: User "eve" cannot get resource "secrets" in API group "" in the namespace "n""#;
    let error = read(&status(403, "Forbidden", rbac, json!({})), "secrets");
    assert_eq!(error.message, rbac, "what quotes nothing is kept");
}

#[test]
fn a_known_value_is_taken_out_of_other_kinds_too() {
    let mut known = KnownValues::default();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"k": "c4n4ry"}});
    known.learn(secret.as_object().unwrap());
    let said = r#"Invalid value: "c4n4ry": must be a number"#;
    let answer = status(
        422,
        "Invalid",
        said,
        cause("FieldValueInvalid", "spec.x", said),
    );
    let asked = RequestedResource {
        name: None,
        plural: "deployments",
        secret: false,
    };
    let error = classify(answer.0, &answer.1, asked, &known);
    assert!(!format!("{error:?}").contains("c4n4ry"));
    assert!(error.message.contains("must be a number"));
}
