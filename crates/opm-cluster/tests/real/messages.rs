//! What the server really says when it refuses, and what is made of it; canaries in Secrets.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use opm_engine::ports::{ApiError, ApiErrorKind, Cluster as _, Permit, Precondition};
use opm_testkit::{Leftover, Rights, eventually};
use serde_json::{Value, json};

use crate::{Object, Setup, deletion, id, object, on_a_server, patient, uid};

const CANARY: &str = "c4n4ry-in-a-secret";

async fn refusal(test: &Setup, value: Value) -> ApiError {
    test.create(&object(value)).await.unwrap_err()
}

/// How the server refuses to create an object by now. One that it takes is removed again.
async fn refused(test: &Setup, map: &Object) -> Option<ApiError> {
    let sent = match test.create(map).await {
        Ok(sent) => sent,
        Err(error) => return Some(error),
    };
    let (identity, uid) = (test.map_id("x"), uid(&sent.object));
    let delete = deletion(&identity, &uid);
    test.client.delete(delete, Permit::default()).await.unwrap();
    None
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let test = on_a_server!("refusals");
    let metadata = json!({"name": "x", "namespace": test.ns()});
    let map = |more: Value| {
        let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        map.as_object_mut().unwrap().extend(object(more));
        map
    };
    let elsewhere = json!({"metadata": {"name": "x", "namespace": "no-such-namespace"}});
    let big = "x".repeat(1_100_000);
    let huge = "x".repeat(4_000_000);
    for (value, kind, status) in [
        (map(elsewhere), ApiErrorKind::NamespaceMissing, 404),
        (
            map(json!({"data": {"k": big}})),
            ApiErrorKind::TooLarge,
            422,
        ),
        (
            map(json!({"data": {"k": huge}})),
            ApiErrorKind::TooLarge,
            413,
        ),
        (
            map(json!({"data": {"bad key": "v"}})),
            ApiErrorKind::Invalid,
            422,
        ),
        (map(json!({"data": {"k": 7}})), ApiErrorKind::Rejected, 500),
        (map(json!({"nonsense": {}})), ApiErrorKind::Rejected, 500),
        (
            map(json!({"apiVersion": "v9"})),
            ApiErrorKind::KindNotServed,
            404,
        ),
        (
            map(json!({"metadata": {"name": "x", "namespace": test.ns(), "managedFields": [{}]}})),
            ApiErrorKind::Rejected,
            400,
        ),
        (
            map(
                json!({"metadata": {"name": "x", "namespace": test.ns(), "labels": {"l": "x".repeat(64)}}}),
            ),
            ApiErrorKind::Invalid,
            422,
        ),
    ] {
        let error = refusal(&test, value).await;
        assert_eq!(
            (error.kind, error.status),
            (kind, Some(status)),
            "{error:?}"
        );
        assert!(error.message.len() < 2000, "{}", error.message.len());
    }
    assert!(test.live_map("x").await.is_none());
}

#[tokio::test]
async fn an_immutable_field_is_named() {
    let test = on_a_server!("immutable");
    let deployment = |label: &str| {
        object(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "x", "namespace": test.ns()},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": label}},
                "template": {"metadata": {"labels": {"app": label}},
                    "spec": {"containers": [{"name": "c", "image": "none"}]}}}}))
    };
    let sent = test.create(&deployment("a")).await.unwrap();
    let mode = Precondition::Exists {
        uid: uid(&sent.object),
    };
    let error = test.apply(&deployment("b"), mode).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Invalid);
    let cause = error
        .causes
        .iter()
        .find(|cause| cause.field == "spec.selector");
    let cause = cause.unwrap();
    assert_eq!(cause.reason, "FieldValueInvalid");
    assert!(cause.message.ends_with("field is immutable"), "{cause:?}");
}

#[tokio::test]
async fn a_terminating_namespace_takes_nothing_new() {
    let test = on_a_server!("terminating");
    let name = format!("{}-t", test.ns());
    let namespace = object(json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name}}));
    let sent = test.create(&namespace).await.unwrap();
    let held = object(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "namespace": name, "finalizers": ["example.org/hold"]}}));
    test.create(&held).await.unwrap();
    let identity = id("", "Namespace", None, &name);
    let uid = uid(&sent.object);
    test.client
        .delete(deletion(&identity, &uid), Permit::default())
        .await
        .unwrap();
    let new = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "new", "namespace": name}});
    let error = refusal(&test, new).await;
    assert_eq!(error.kind, ApiErrorKind::NamespaceTerminating, "{error:?}");
    let again = test
        .client
        .delete(deletion(&identity, &uid), Permit::default())
        .await;
    assert_eq!(again.unwrap(), opm_engine::ports::DeleteOutcome::Accepted);
    let path = format!("/api/v1/namespaces/{name}/configmaps/held");
    let patch = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(br#"{"metadata":{"finalizers":null}}"#.to_vec())
        .unwrap();
    let _: Value = test.namespace.client().request(patch).await.unwrap();
}

#[tokio::test]
async fn quota_is_a_denial_and_rights_are_not() {
    let test = on_a_server!("quota");
    let quota = object(json!({"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": test.ns()},
        "spec": {"hard": {"count/configmaps": "0"}}}));
    test.create(&quota).await.unwrap();
    let map = test.map("x", json!({}));
    let error = eventually("the quota holds", async || {
        refused(&test, &map)
            .await
            .filter(|error| error.message.contains("exceeded quota"))
    })
    .await;
    assert_eq!(
        (error.kind, error.status),
        (ApiErrorKind::Denied, Some(403))
    );
    let nobody = patient(
        test.namespace
            .user("nobody", &Rights::none())
            .await
            .client()
            .await,
    );
    let error = crate::apply(&nobody, &map, Precondition::Absent, false)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.status),
        (ApiErrorKind::Forbidden, Some(403))
    );
    assert!(error.message.contains("cannot patch resource"), "{error}");
}

fn secret(test: &Setup, more: Value) -> Object {
    let mut secret = object(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "namespace": test.ns()}}));
    secret.extend(object(more));
    secret
}

#[tokio::test]
async fn no_refusal_quotes_a_secret() {
    let test = on_a_server!("canaries");
    let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, CANARY);
    for value in [
        json!({"data": {"k": CANARY}}),
        json!({"data": {"k": [CANARY]}}),
        json!({"data": {"bad key": base64}}),
        json!({"stringData": {"k": {"deep": CANARY}}}),
        json!({"stringData": CANARY}),
        json!({"type": "kubernetes.io/tls", "stringData": {"tls.crt": CANARY}}),
        json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": CANARY}}),
        json!({"data": {"k": base64}, "nonsense": CANARY}),
        json!({"metadata": {"name": "s", "namespace": test.ns(), "labels": {"l": format!("{CANARY}!")}}, "stringData": {"k": CANARY}}),
    ] {
        let secret = secret(&test, value.clone());
        let error = match test.create(&secret).await {
            Ok(_) => panic!("accepted {value}"),
            Err(error) => error,
        };
        let all = format!("{error:?} {error}");
        assert!(
            !all.contains(CANARY) && !all.contains(&base64),
            "{value}: {all}"
        );
        assert!(!error.message.is_empty());
    }
    // An immutable Secret names the key that may not change.
    let fixed = |value: &str| {
        secret(
            &test,
            json!({"immutable": true, "stringData": {"k": value}}),
        )
    };
    let sent = test.create(&fixed("before-canary")).await.unwrap();
    let mode = Precondition::Exists {
        uid: uid(&sent.object),
    };
    let error = test.apply(&fixed(CANARY), mode).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Invalid);
    assert!(error.message.contains("field is immutable"), "{error}");
    assert_eq!(error.causes[0].field, "data");
    assert!(!format!("{error:?}").contains("canary"));
}

/// Policies write their own texts, and may quote what they judge.
#[tokio::test]
async fn a_policy_that_quotes_is_not_repeated() {
    let test = on_a_server!("policy");
    let name = format!("{}-policy", test.ns());
    test.namespace
        .remove_after(Leftover::object::<ValidatingAdmissionPolicyBinding>(
            None, &name,
        ));
    test.namespace
        .remove_after(Leftover::object::<ValidatingAdmissionPolicy>(None, &name));
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["secrets", "configmaps"]}]},
            "validations": [{"expression": "!has(object.data) || !('bad' in object.data)",
                "messageExpression": "'value is ' + string(object.data['bad'])"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": test.ns()}}}},
    });
    for value in [policy, binding] {
        test.create(&object(value)).await.unwrap();
    }
    let map = test.map("x", json!({"bad": "plain-text"}));
    let error = eventually("the policy comes into force", async || {
        refused(&test, &map).await
    })
    .await;
    assert_eq!(error.kind, ApiErrorKind::Denied, "{error:?}");
    assert!(
        error.message.contains("value is plain-text"),
        "others are quoted: {error}"
    );
    let secret = secret(&test, json!({"stringData": {"bad": CANARY}}));
    let error = test.create(&secret).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Denied, "{error:?}");
    assert!(error.message.contains(&name), "{error}");
    assert!(!format!("{error:?}").contains("c4n4ry"), "{error:?}");
    // The same value in another kind, once it is known to be a Secret's.
    let error = test
        .create(&test.map("y", json!({"bad": CANARY})))
        .await
        .unwrap_err();
    assert!(!format!("{error:?}").contains("c4n4ry"), "{error:?}");
}
