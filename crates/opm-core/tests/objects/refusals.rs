//! What the server's refusals mean: an immutable field, or anything else.

use opm_core::api_error::{ApiError, ApiErrorKind, Cause};
use opm_core::immutable::immutable_fields;
use serde_json::{Value, json};

const INVALID: &str = "FieldValueInvalid";
const FORBIDDEN: &str = "FieldValueForbidden";

fn cause(reason: &str, field: &str, message: &str) -> Cause {
    Cause {
        reason: reason.to_owned(),
        field: field.to_owned(),
        message: message.to_owned(),
    }
}

fn verdict(code: u16, reason: &str, causes: &[Cause], desired: &Value) -> Option<Vec<String>> {
    let error = ApiError {
        status: Some(code),
        reason: reason.to_owned(),
        causes: causes.to_vec(),
        ..ApiError::local(ApiErrorKind::Invalid, "")
    };
    immutable_fields(&error, desired.as_object().unwrap())
}

#[test]
fn the_servers_ways_to_say_that_a_field_is_immutable() {
    let kilobytes = format!(
        "Invalid value: {{\"spec\":\"{}\"}}: field is immutable",
        "x".repeat(8000)
    );
    let table = [
        (
            INVALID,
            "spec.selector",
            "Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable",
        ),
        (INVALID, "spec.template", kilobytes.as_str()),
        (
            INVALID,
            "spec.completions",
            "Invalid value: 2: field is immutable",
        ),
        (
            INVALID,
            "spec.completionMode",
            "Invalid value: \"Indexed\": field is immutable",
        ),
        (
            INVALID,
            "type",
            "Invalid value: \"kubernetes.io/tls\": field is immutable",
        ),
        (
            INVALID,
            "spec.scope",
            "Invalid value: \"Cluster\": field is immutable",
        ),
        (
            INVALID,
            "spec.names.plural",
            "Invalid value: \"bars\": field is immutable",
        ),
        (
            INVALID,
            "volumeBindingMode",
            "Invalid value: \"Immediate\": field is immutable",
        ),
        (
            INVALID,
            "spec.volumeMode",
            "Invalid value: \"Block\": field is immutable",
        ),
        (
            INVALID,
            "spec.controller",
            "Invalid value: \"b\": field is immutable",
        ),
        (
            FORBIDDEN,
            "data",
            "Forbidden: field is immutable when `immutable` is set",
        ),
        (
            FORBIDDEN,
            "immutable",
            "Forbidden: field is immutable when `immutable` is set",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
        (
            INVALID,
            "spec.clusterIPs[0]",
            "Invalid value: [\"10.0.0.9\"]: may not change once set",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -1,3 +1,3 @@\n",
        ),
        (
            FORBIDDEN,
            "spec.persistentvolumesource",
            "Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -1 +1 @@\n",
        ),
        (
            INVALID,
            "roleRef",
            "Invalid value: {\"name\":\"b\"}: cannot change roleRef",
        ),
        (
            FORBIDDEN,
            "provisioner",
            "Forbidden: updates to provisioner are forbidden.",
        ),
        (
            FORBIDDEN,
            "parameters",
            "Forbidden: updates to parameters are forbidden.",
        ),
        (
            FORBIDDEN,
            "reclaimPolicy",
            "updates to reclaimPolicy are forbidden.",
        ),
        (
            FORBIDDEN,
            "value",
            "Forbidden: may not be changed in an update.",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"b\": failed rule: self == oldSelf",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"b\": Value is immutable",
        ),
    ];
    for (reason, field, message) in table {
        let causes = [cause(reason, field, message)];
        assert_eq!(
            verdict(422, "Invalid", &causes, &json!({})),
            Some(vec![field.to_owned()]),
            "{message:.200}"
        );
        assert_eq!(verdict(409, "Conflict", &causes, &json!({})), None);
        assert_eq!(verdict(422, "Forbidden", &causes, &json!({})), None);
        assert_eq!(verdict(400, "Invalid", &causes, &json!({})), None);
    }
}

#[test]
fn look_alikes_are_not_taken_for_it() {
    let table = [
        (
            INVALID,
            "metadata.uid",
            "Invalid value: \"x\": field is immutable",
        ),
        (
            INVALID,
            "metadata.creationTimestamp",
            "Invalid value: null: field is immutable",
        ),
        (
            INVALID,
            "metadata.labels",
            "Invalid value: \"field is immutable\": a valid label must be an empty string or consist of alphanumeric characters",
        ),
        (
            INVALID,
            "spec.ports[0].name",
            "Invalid value: \"field is immutable\": must contain only alphanumeric characters (a-z, 0-9) and hyphens (-)",
        ),
        (
            INVALID,
            "spec.replicas",
            "Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            INVALID,
            "spec.template.metadata.labels",
            "Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
        ),
        ("FieldValueRequired", "spec.selector", "Required value"),
        (
            "FieldValueRequired",
            "spec.selector",
            "Required value: field is immutable",
        ),
        (
            "FieldValueNotSupported",
            "spec.type",
            "Unsupported value: \"X\": supported values: \"ClusterIP\"",
        ),
        (
            "FieldValueDuplicate",
            "spec.ports[1]",
            "Duplicate value: \"field is immutable\"",
        ),
        (
            "FieldValueTypeInvalid",
            "spec.host",
            "Invalid value: \"field is immutable\": must be of type integer",
        ),
        (
            FORBIDDEN,
            "spec.replicas",
            "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        ),
        (
            FORBIDDEN,
            "spec.resources.requests.storage",
            "Forbidden: field can not be less than status.capacity",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: exceeded quota, which field is immutable",
        ),
        (
            FORBIDDEN,
            "parameters",
            "Forbidden: updates to provisioner are forbidden.",
        ),
        (
            INVALID,
            "subjects",
            "Invalid value: \"b\": cannot change roleRef",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"b\": must not be the author's text",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"x\": failed rule: self == oldSelf || self > 1",
        ),
    ];
    for (reason, field, message) in table {
        let causes = [cause(reason, field, message)];
        assert_eq!(
            verdict(422, "Invalid", &causes, &json!({})),
            None,
            "{reason} {field}: {message}"
        );
    }
    assert_eq!(verdict(422, "Invalid", &[], &json!({})), None);
}

#[test]
fn one_ordinary_cause_makes_the_refusal_ordinary() {
    let immutable = cause(
        INVALID,
        "spec.selector",
        "Invalid value: {}: field is immutable",
    );
    let ordinary = cause(
        INVALID,
        "spec.replicas",
        "Invalid value: -1: must be greater than or equal to 0",
    );
    assert_eq!(
        verdict(422, "Invalid", &[immutable, ordinary], &json!({})),
        None
    );
}

#[test]
fn a_selector_mismatch_is_harmless_only_if_the_new_object_matches_itself() {
    let causes = [
        cause(
            INVALID,
            "spec.template.metadata.labels",
            "Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
        ),
        cause(
            INVALID,
            "spec.selector",
            "Invalid value: {}: field is immutable",
        ),
    ];
    let workload = |selector: Value| json!({"spec": {"selector": selector, "template": {"metadata": {"labels": {"app": "b", "x": "y"}}}}});
    let fits = Some(vec!["spec.selector".to_owned()]);
    let table = [
        (workload(json!({"matchLabels": {"app": "b"}})), fits.clone()),
        (
            workload(json!({"matchLabels": {"app": "b"}, "matchExpressions": []})),
            fits,
        ),
        (workload(json!({"matchLabels": {"app": "a"}})), None),
        (
            workload(
                json!({"matchLabels": {"app": "b"}, "matchExpressions": [{"key": "z", "operator": "Exists"}]}),
            ),
            None,
        ),
        (workload(json!({})), None),
        (json!({}), None),
    ];
    for (desired, expected) in table {
        assert_eq!(
            verdict(422, "Invalid", &causes, &desired),
            expected,
            "{desired}"
        );
    }
    assert_eq!(
        verdict(
            422,
            "Invalid",
            &causes[..1],
            &workload(json!({"matchLabels": {"app": "b"}}))
        ),
        None
    );
}

/// One answer of a real server: what it said, what was sent, and which fields were immutable, if
/// that was the only reason.
#[derive(serde::Deserialize)]
struct Answer {
    name: String,
    immutable: Option<Vec<String>>,
    code: u16,
    reason: String,
    causes: Vec<AnsweredCause>,
    desired: Value,
}

#[derive(serde::Deserialize)]
struct AnsweredCause {
    reason: String,
    field: String,
    message: String,
}

#[test]
fn the_answers_of_a_real_server() {
    let answers: Vec<Answer> =
        serde_json::from_str(include_str!("../golden/refusals.json")).unwrap();
    assert!(answers.len() > 40);
    for answer in answers {
        let causes: Vec<Cause> = answer
            .causes
            .iter()
            .map(
                |AnsweredCause {
                     reason,
                     field,
                     message,
                 }| cause(reason, field, message),
            )
            .collect();
        let found = verdict(answer.code, &answer.reason, &causes, &answer.desired);
        assert_eq!(found, answer.immutable, "{}", answer.name);
    }
}
