//! Both forms of discovery, and what is made of groups that do not answer.

use serde_json::json;

use super::*;

fn aggregated(value: &Value) -> ServedKinds {
    let Ok(Document::Aggregated(list)) = document(value.to_string().as_bytes()) else {
        panic!("not recognised as aggregated");
    };
    let mut found = ServedKinds::default();
    add_aggregated(&mut found, list);
    found
}

#[test]
fn the_first_version_that_has_a_kind_is_preferred() {
    let resource = |kind: &str, plural: &str, verbs: &[&str]| {
        json!({"resource": plural, "responseKind": {"group": "", "version": "", "kind": kind},
               "scope": "Namespaced", "verbs": verbs})
    };
    let found = aggregated(&json!({"kind": "APIGroupDiscoveryList", "items": [
        {"metadata": {"name": "autoscaling"}, "versions": [
            {"version": "v2", "freshness": "Current", "resources": [
                resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", &["get", "list", "delete"])]},
            {"version": "v1", "freshness": "Current", "resources": [
                resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", &["get"]),
                resource("OnlyOld", "onlyolds", &["create"])]},
        ]},
    ]}));
    let hpa = &found.kinds[&GroupKind::new("autoscaling", "HorizontalPodAutoscaler")];
    assert_eq!(hpa.preferred, "v2");
    assert_eq!(hpa.versions, ["v2", "v1"]);
    assert!(hpa.listable && hpa.deletable && hpa.scope == Scope::Namespaced);
    let old = &found.kinds[&GroupKind::new("autoscaling", "OnlyOld")];
    assert_eq!(old.preferred, "v1");
    assert!(!old.listable && !old.deletable);
}

#[test]
fn a_group_whose_server_is_down_is_silent_not_empty() {
    let found = aggregated(&json!({"kind": "APIGroupDiscoveryList", "items": [
        {"metadata": {"name": "metrics.k8s.io"}, "versions": [
            {"version": "v1beta1", "freshness": "Stale"}]},
    ]}));
    let metrics = GroupKind::new("metrics.k8s.io", "PodMetrics");
    let resolved = resolve(&found, &metrics);
    assert!(matches!(resolved, ResolvedKind::Silent(_)));
    assert_eq!(
        not_reachable(&metrics, &resolved).kind,
        ApiErrorKind::Unreachable
    );
    let other = GroupKind::new("example.org", "Thing");
    assert_eq!(resolve(&found, &other), ResolvedKind::NotServed);
}

#[test]
fn the_classic_form_asks_for_preferred_versions_first() {
    let groups = json!({"kind": "APIGroupList", "groups": [
        {"name": "apps", "versions": [{"version": "v1beta1"}, {"version": "v1"}],
         "preferredVersion": {"version": "v1"}},
    ]});
    let Ok(Document::Classic(versions)) = document(groups.to_string().as_bytes()) else {
        panic!("not recognised as classic");
    };
    let paths: Vec<_> = versions.iter().map(|v| v.path().unwrap()).collect();
    assert_eq!(paths, ["/apis/apps/v1", "/apis/apps/v1beta1"]);
    let core = json!({"kind": "APIVersions", "versions": ["v1"]});
    let Ok(Document::Classic(versions)) = document(core.to_string().as_bytes()) else {
        panic!("not recognised as classic");
    };
    assert_eq!(versions[0].path().unwrap(), "/api/v1");
    let list = json!({"kind": "APIResourceList", "resources": [
        {"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["get"]},
        {"name": "pods/eviction", "kind": "Eviction", "namespaced": true, "verbs": ["create"]},
    ]});
    let resources = resource_list(list.to_string().as_bytes()).unwrap();
    assert_eq!(resources.len(), 1, "subresources are no kinds of their own");
}

#[test]
fn what_is_no_discovery_does_not_say_that_nothing_exists() {
    for body in ["", "{}", "[]", "<html>", r#"{"kind": "Status"}"#, "null"] {
        assert!(document(body.as_bytes()).is_err(), "{body}");
        assert!(resource_list(body.as_bytes()).is_err(), "{body}");
    }
    let nothing = ServedKinds::default();
    assert!(says_what_every_server_serves(&nothing).is_err());
    let outside = GroupVersion {
        group: "..".into(),
        version: "v1".into(),
    };
    assert!(outside.path().is_err());
}
