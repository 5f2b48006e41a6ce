//! Discovery: both forms agree, new kinds are found, a group whose server is down is silent.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use opm_core::identity::GroupKind;
use opm_core::scope::Scope;
use opm_engine::ports::{ApiErrorKind, Cluster as _, Detail, Observation, Permit};
use opm_testkit::{Leftover, until};
use serde_json::{Value, json};

use crate::faults::{Fault, RequestLog, faulty};
use crate::{Setup, deletion, id, object, on_a_server, patient, uid};

#[tokio::test]
async fn three_requests_and_the_classic_form_says_the_same() {
    let test = on_a_server!("served");
    let counting = RequestLog::over(test.namespace.client());
    let client = patient(counting.client());
    let served = client.served().await.unwrap();
    let mut seen = counting.seen();
    seen.sort();
    assert_eq!(seen, ["/api", "/apis", "/openapi/v3"]);
    let deployment = &served.kinds[&GroupKind::new("apps", "Deployment")];
    assert_eq!(deployment.preferred, "v1");
    assert_eq!(deployment.plural, "deployments");
    assert_eq!(deployment.scope, Scope::Namespaced);
    assert!(deployment.listable && deployment.deletable);
    let hpa = &served.kinds[&GroupKind::new("autoscaling", "HorizontalPodAutoscaler")];
    assert_eq!(hpa.versions, ["v2", "v1"]);
    let review = &served.kinds[&GroupKind::new("authentication.k8s.io", "TokenReview")];
    assert!(!review.listable && review.scope == Scope::Cluster);

    let real = test.namespace.client();
    let classic = patient(faulty(real, |_| Fault::PassWithoutAccept));
    let classic = classic.served().await.unwrap();
    for (kind, found) in &served.kinds {
        // Other tests' definitions come and go meanwhile.
        if !kind.group.contains("example.org") {
            assert_eq!(classic.kinds.get(kind), Some(found), "{kind}");
        }
    }
}

#[tokio::test]
async fn who_we_are_and_what_we_are_warned_of() {
    let test = on_a_server!("user");
    assert!(test.client.user().await.is_some());
    let admin = test.namespace.admin().await;
    let client = patient(admin.client().await);
    assert_eq!(client.user().await.as_deref(), Some(admin.name()));
    let endpoints = object(json!({"apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": "x", "namespace": test.ns()}}));
    crate::apply(
        &client,
        &endpoints,
        opm_engine::ports::Precondition::Absent,
        false,
    )
    .await
    .unwrap();
    let warnings = client.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("deprecated"));
    client
        .look(&[id("", "Endpoints", Some(test.ns()), "x")], Detail::Whole)
        .await;
    assert!(client.take_warnings().is_empty(), "each only once");
}

fn definition(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}]},
    })
}

async fn define(test: &Setup, group: &str) -> String {
    let definition = object(definition(group));
    let name = format!("things.{group}");
    test.namespace
        .remove_after(Leftover::object::<CustomResourceDefinition>(None, &name));
    let sent = test.create(&definition).await.unwrap();
    uid(&sent.object)
}

#[tokio::test]
async fn a_kind_that_comes_and_goes() {
    let test = on_a_server!("crd");
    let group = format!("{}.example.org", test.ns());
    let kind = GroupKind::new(group.as_str(), "Thing");
    let wanted = id(&group, "Thing", Some(test.ns()), "x");
    let look = async || {
        test.client
            .look(std::slice::from_ref(&wanted), Detail::Whole)
            .await
    };
    assert!(
        matches!(look().await[&wanted], Observation::Absent),
        "not served: absent"
    );
    let thing = object(json!({"apiVersion": format!("{group}/v1"), "kind": "Thing",
        "metadata": {"name": "x", "namespace": test.ns()}}));
    let error = test.create(&thing).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::KindNotServed);
    let definition = define(&test, &group).await;
    until("serving the kind", async || {
        test.client
            .served()
            .await
            .unwrap()
            .kinds
            .contains_key(&kind)
    })
    .await;
    until("creating one", async || test.create(&thing).await.is_ok()).await;
    assert!(matches!(look().await[&wanted], Observation::Present(_)));
    // Removed again: the client's cache still knows the kind, the server does not.
    let crd = id(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        None,
        &format!("things.{group}"),
    );
    test.client
        .delete(deletion(&crd, &definition), Permit::default())
        .await
        .unwrap();
    until("the kind's end", async || {
        matches!(look().await[&wanted], Observation::Absent)
    })
    .await;
    until("the group's end", async || {
        !test
            .client
            .served()
            .await
            .unwrap()
            .kinds
            .contains_key(&kind)
    })
    .await;
}

#[tokio::test]
async fn a_group_whose_server_is_down_is_silent() {
    let test = on_a_server!("silent");
    let group = format!("{}.example.org", test.ns());
    let name = format!("v1.{group}");
    test.namespace
        .remove_after(Leftover::object::<APIService>(None, &name));
    let service = object(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": name},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 10,
            "versionPriority": 10, "insecureSkipTLSVerify": true,
            "service": {"name": "nobody", "namespace": test.ns()}},
    }));
    test.create(&service).await.unwrap();
    until("the silence", async || {
        test.client
            .served()
            .await
            .unwrap()
            .silent_groups
            .contains_key(&group)
    })
    .await;
    let served = test.client.served().await.unwrap();
    assert!(
        served
            .kinds
            .contains_key(&GroupKind::new("apps", "Deployment"))
    );
    let there = id(&group, "Thing", Some(test.ns()), "x");
    let looks = test
        .client
        .look(std::slice::from_ref(&there), Detail::Metadata)
        .await;
    let Observation::Failed(error) = &looks[&there] else {
        panic!("{looks:?}");
    };
    assert_eq!(error.kind, ApiErrorKind::Unreachable, "never absent");
    let error = test
        .client
        .delete(deletion(&there, "u"), Permit::default())
        .await;
    assert_eq!(
        error.unwrap_err().kind,
        ApiErrorKind::Unreachable,
        "never gone"
    );
    let real = test.namespace.client();
    let classic = patient(faulty(real, |_| Fault::PassWithoutAccept));
    let classic = classic.served().await.unwrap();
    assert!(
        classic.silent_groups.contains_key(&group),
        "{:?}",
        classic.silent_groups
    );
}
