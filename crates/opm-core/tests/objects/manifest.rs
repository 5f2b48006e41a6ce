//! What is an object and what is not, one line each.

use opm_core::identity::{GroupKind, Identity, ObjectSelector};
use opm_core::manifest::{MAX_DEPTH, Manifest};
use serde_json::{Value, json};

fn refusal(value: Value) -> String {
    Manifest::parse(value).unwrap_err().to_string()
}

#[test]
fn what_is_no_object_says_why() {
    let table = [
        (json!(null), "a manifest must be a mapping, not null"),
        (json!([]), "a manifest must be a mapping, not a list"),
        (json!("x"), "a manifest must be a mapping, not a string"),
        (json!({}), "an object: `apiVersion` is missing"),
        (
            json!({"kind": "ConfigMap"}),
            "a ConfigMap: `apiVersion` is missing",
        ),
        (json!({"apiVersion": "v1"}), "an object: `kind` is missing"),
        (
            json!({"apiVersion": "", "kind": "A"}),
            "a A: `apiVersion` is missing",
        ),
        (
            json!({"apiVersion": 1, "kind": "A"}),
            "a A: `apiVersion` must be a string, not a number",
        ),
        (
            json!({"apiVersion": "v1", "kind": ["A"]}),
            "an object: `kind` must be a string, not a list",
        ),
        (
            json!({"apiVersion": "v1", "kind": "../x"}),
            "a ../x: `kind` is not valid: it must be one word of letters and digits",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod"}),
            "a Pod: `metadata` is missing",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": "x"}),
            "a Pod: `metadata` must be a mapping, not a string",
        ),
        (
            json!({"apiVersion": "v1", "kind": "List", "items": []}),
            "a List is not an object: its items must be given one by one",
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": []}),
            "a ConfigMapList is not an object: its items must be given one by one",
        ),
    ];
    for (given, expected) in table {
        assert_eq!(refusal(given.clone()), expected, "{given}");
    }
}

#[test]
fn api_versions_have_the_shape_of_a_version_or_a_group_and_a_version() {
    for given in ["v1", "apps/v1", "a.b-c.d/v1beta1", "example.com/v2"] {
        let parsed =
            Manifest::parse(json!({"apiVersion": given, "kind": "A", "metadata": {"name": "x"}}))
                .unwrap();
        assert_eq!(parsed.api_version(), given);
    }
    let wrong = [
        "/v1",
        "apps/",
        "apps/v1/x",
        "Apps/v1",
        "apps/V1",
        "a..b/v1",
        ".a/v1",
        "a /v1",
        "..",
        "a/..",
        "-a/v1",
        "v1?x=y",
        "v1#",
    ];
    for given in wrong {
        assert_eq!(
            refusal(json!({"apiVersion": given, "kind": "A", "metadata": {"name": "x"}})),
            "A/x: `apiVersion` is not valid: it must look like `v1` or `apps/v1`",
            "{given}"
        );
    }
}

#[test]
fn metadata_that_cannot_be_says_why() {
    let long = "n".repeat(254);
    let table = [
        (json!({}), "a Pod: `metadata.name` is missing"),
        (json!({"name": ""}), "a Pod: `metadata.name` is missing"),
        (json!({"name": null}), "a Pod: `metadata.name` is missing"),
        (
            json!({"name": 123}),
            "a Pod: `metadata.name` must be a string, not a number",
        ),
        (
            json!({"name": true}),
            "a Pod: `metadata.name` must be a string, not a boolean",
        ),
        (
            json!({"generateName": "job-"}),
            "Pod/job-: `metadata.generateName` cannot be used, because a release tracks its \
             objects by name; give it a `metadata.name`",
        ),
        (
            json!({"name": ".."}),
            "Pod/..: `metadata.name` is not valid: it must not be '.' or '..'",
        ),
        (
            json!({"name": "."}),
            "Pod/.: `metadata.name` is not valid: it must not be '.' or '..'",
        ),
        (
            json!({"name": "a/b"}),
            "Pod/a/b: `metadata.name` is not valid: it must not contain '/' or '%'",
        ),
        (
            json!({"name": "a%b"}),
            "Pod/a%b: `metadata.name` is not valid: it must not contain '/' or '%'",
        ),
        (
            json!({"name": "a\nb"}),
            "Pod/a\\nb: `metadata.name` is not valid: it must not contain spaces or control characters",
        ),
        (
            json!({"name": "x\u{1b}[2J", "namespace": 1}),
            "Pod/x\\u{1b}[2J: `metadata.name` is not valid: it must not contain spaces or control characters",
        ),
        (
            json!({"name": "x", "namespace": 1}),
            "Pod/x: `metadata.namespace` must be a string, not a number",
        ),
        (
            json!({"name": "x", "namespace": "../y"}),
            "Pod/x: `metadata.namespace` is not valid: only lower-case letters, digits and '-' are allowed",
        ),
        (
            json!({"name": "x", "labels": []}),
            "Pod/x: `metadata.labels` must be a mapping, not a list",
        ),
        (
            json!({"name": "x", "labels": {"a": "b", "on": true}}),
            "Pod/x: `metadata.labels[\"on\"]` must be a string, not a boolean",
        ),
        (
            json!({"name": "x", "annotations": {"port": 80}}),
            "Pod/x: `metadata.annotations[\"port\"]` must be a string, not a number",
        ),
    ];
    for (metadata, expected) in table {
        let given = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
        assert_eq!(refusal(given.clone()), expected, "{given}");
    }
    let given = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": long}});
    assert!(refusal(given).ends_with("it must have at most 253 characters"));
}

#[test]
fn an_object_is_read_and_otherwise_left_alone() {
    let given = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {
            "name": "system:reader", "namespace": "games", "generateName": "ignored-",
            "labels": {"a": "b"}, "annotations": null, "creationTimestamp": null,
        },
        "rules": [{"verbs": ["get"]}],
    });
    let role = Manifest::parse(given.clone()).unwrap();
    let expected = Identity::new(
        GroupKind::new("rbac.authorization.k8s.io", "Role"),
        Some("games"),
        "system:reader",
    );
    assert_eq!(role.identity(), &expected);
    assert_eq!(role.version(), "v1");
    assert_eq!(role.label("a"), Some("b"));
    assert_eq!((role.label("b"), role.annotation("a")), (None, None));
    assert_eq!(role.into_value(), given);
}

#[test]
fn an_empty_namespace_is_none() {
    for namespace in [json!(""), json!(null)] {
        let given = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "namespace": namespace}});
        assert_eq!(Manifest::parse(given).unwrap().identity().namespace, None);
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| {
        let inner = (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        let mut given = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}});
        given["spec"] = inner;
        given
    };
    assert!(Manifest::parse(nested(MAX_DEPTH - 1)).is_ok());
    assert_eq!(
        refusal(nested(MAX_DEPTH)),
        "A/x: it is nested more than 100 levels deep"
    );
    assert!(Manifest::parse(nested(2000)).is_err());
}

#[test]
fn messages_stay_short_whatever_is_given() {
    let huge = "x".repeat(1_000_000);
    let given = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "labels": {huge.clone(): 1}}});
    assert!(refusal(given).len() < 400);
    let given = json!({"apiVersion": "v1", "kind": huge, "metadata": {"name": "x"}});
    assert!(refusal(given).len() < 400);
}

#[test]
fn selectors_name_objects_as_people_do() {
    let web = Identity::new(GroupKind::new("", "Service"), Some("games"), "web");
    let knative = Identity::new(
        GroupKind::new("serving.knative.dev", "Service"),
        Some("games"),
        "web",
    );
    let table = [
        ("Service/web", true, true),
        ("service/web", true, true),
        ("Service.serving.knative.dev/web", false, true),
        ("Service/Web", false, false),
        ("ConfigMap/web", false, false),
    ];
    for (text, core, custom) in table {
        let selector: ObjectSelector = text.parse().unwrap();
        assert_eq!(
            (selector.matches(&web), selector.matches(&knative)),
            (core, custom),
            "{text}"
        );
        assert_eq!(selector.to_string(), text);
    }
    for wrong in [
        "",
        "web",
        "/web",
        "Service/",
        "Service./web",
        ".apps/web",
        "Service/a/b",
    ] {
        let error = wrong.parse::<ObjectSelector>().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{wrong:?} does not name an object: write KIND/NAME, such as Service/web")
        );
    }
}
