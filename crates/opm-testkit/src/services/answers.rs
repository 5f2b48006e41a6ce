//! What a Service answers: every webhook agrees, every conversion changes the version only, and
//! every aggregated API is there and empty.

use http::StatusCode;
use serde_json::{Value, json};

/// The answer to a request for a path, with what was sent as its body.
pub(super) fn answer(path: &str, asked: &Value) -> (StatusCode, Value) {
    match asked["kind"].as_str() {
        Some("AdmissionReview") => (StatusCode::OK, admitted(asked)),
        Some("ConversionReview") => (StatusCode::OK, converted(asked)),
        _ => match group_version(path) {
            Some(group_version) => (StatusCode::OK, no_resources(&group_version)),
            None => (StatusCode::NOT_FOUND, json!({})),
        },
    }
}

fn admitted(asked: &Value) -> Value {
    json!({
        "apiVersion": asked["apiVersion"],
        "kind": "AdmissionReview",
        "response": { "uid": asked["request"]["uid"], "allowed": true },
    })
}

fn converted(asked: &Value) -> Value {
    let request = &asked["request"];
    let mut objects = request["objects"].as_array().cloned().unwrap_or_default();
    for object in &mut objects {
        object["apiVersion"] = request["desiredAPIVersion"].clone();
    }
    json!({
        "apiVersion": asked["apiVersion"],
        "kind": "ConversionReview",
        "response": {
            "uid": request["uid"],
            "result": { "status": "Success" },
            "convertedObjects": objects,
        },
    })
}

/// `group/version` of `/apis/group/version`.
fn group_version(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/apis/")?;
    (rest.split('/').filter(|part| !part.is_empty()).count() == 2).then(|| rest.to_owned())
}

fn no_resources(group_version: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": group_version,
        "resources": [],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{StatusCode, answer};

    #[test]
    fn a_review_is_answered_in_its_own_version() {
        let asked = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "u"}});
        let (status, said) = answer("/validate", &asked);
        assert_eq!(status, StatusCode::OK);
        assert_eq!(said["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(said["response"], json!({"uid": "u", "allowed": true}));
    }

    #[test]
    fn a_conversion_changes_the_version_only() {
        let asked = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "u", "desiredAPIVersion": "g/v2",
                "objects": [{"apiVersion": "g/v1", "kind": "A", "spec": {"x": 1}}]}});
        let (_, said) = answer("/convert", &asked);
        let expected = json!([{"apiVersion": "g/v2", "kind": "A", "spec": {"x": 1}}]);
        assert_eq!(said["response"]["convertedObjects"], expected);
    }

    #[test]
    fn an_aggregated_api_is_there_and_empty() {
        let (status, said) = answer("/apis/metrics.k8s.io/v1beta1", &json!(null));
        assert_eq!(status, StatusCode::OK);
        assert_eq!(said["groupVersion"], "metrics.k8s.io/v1beta1");
        for elsewhere in ["/apis", "/apis/", "/openapi/v2", "/apis/a/b/c"] {
            let (status, _) = answer(elsewhere, &json!(null));
            assert_eq!(status, StatusCode::NOT_FOUND, "{elsewhere}");
        }
    }
}
