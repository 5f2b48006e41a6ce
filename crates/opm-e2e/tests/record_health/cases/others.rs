//! Services, Ingresses, autoscalers, budgets, API services, and kinds that say nothing.

use opm_testkit::workload::{Fate, deployment};
use serde_json::{Value, json};

use super::condition;
use crate::stage::{Case, Stage, Step, Subject};

pub(crate) fn cases(stage: &Stage) -> Vec<Case> {
    [
        services(stage),
        ingresses(stage),
        autoscalers(stage),
        budgets(stage),
        api_services(stage),
        silent(stage),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn services(stage: &Stage) -> Vec<Case> {
    let at = format!("/api/v1/namespaces/{}/services", stage.ns);
    let made = |name: &str, rest: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}});
        object["spec"]
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        object
    };
    let balanced = json!({"type": "LoadBalancer"});
    let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}});
    vec![
        Case::of("service", &at, made("v-plain", json!({}))),
        Case::of(
            "service-headless",
            &at,
            made("v-headless", json!({"clusterIP": "None"})),
        ),
        Case::of(
            "service-node-port",
            &at,
            made("v-node", json!({"type": "NodePort"})),
        ),
        Case::of(
            "service-external-name",
            &at,
            made(
                "v-external",
                json!({"type": "ExternalName", "externalName": "example.com"}),
            ),
        ),
        Case::of(
            "service-load-balancer-pending",
            &at,
            made("v-pending", balanced.clone()),
        )
        .is("Progressing", "its load balancer has no address yet"),
        Case::of("service-load-balancer", &at, made("v-balanced", balanced))
            .then(Step::Status(format!("{at}/v-balanced"), address)),
    ]
}

fn ingresses(stage: &Stage) -> Vec<Case> {
    let at = format!(
        "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
        stage.ns
    );
    let made = |name: &str| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name},
            "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}})
    };
    let address = json!({"loadBalancer": {"ingress": [{"hostname": "web.example.com"}]}});
    vec![
        Case::of("ingress-without-address", &at, made("i-none"))
            .is("Ready", "no controller has given it an address"),
        Case::of("ingress", &at, made("i-addressed"))
            .then(Step::Status(format!("{at}/i-addressed"), address)),
    ]
}

fn autoscalers(stage: &Stage) -> Vec<Case> {
    let at = format!(
        "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
        stage.ns
    );
    let deployments = format!("/apis/apps/v1/namespaces/{}/deployments", stage.ns);
    let made = |name: &str| {
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
            "spec": {"maxReplicas": 3, "minReplicas": 1,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}}]}})
    };
    vec![
        Case::created("autoscaler-created", &at, made("h-created"))
            .is("Progressing", "its controller has not seen it yet"),
        Case::of("autoscaler-without-metrics", &at, made("h-blind"))
            .before(&deployments, deployment("h-blind", 1, Fate::Ready))
            .until(|h| condition(h, "ScalingActive")["status"] == "False")
            .is("Degraded", "FailedGetResourceMetric: …"),
        Case::of("autoscaler-of-nothing", &at, made("h-lonely"))
            .until(|h| condition(h, "AbleToScale")["status"] == "False")
            .is("Degraded", "FailedGetScale: the HPA controller was unable to get the target's current scale: …"),
        Case::of("autoscaler-at-rest", &at, made("h-resting"))
            .before(&deployments, deployment("h-resting", 0, Fate::Ready))
            .until(|h| condition(h, "ScalingActive")["reason"] == "ScalingDisabled")
            .is("Ready", "ScalingDisabled: scaling is disabled since the replica count of the target is zero"),
    ]
}

fn budgets(stage: &Stage) -> Vec<Case> {
    let at = format!(
        "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
        stage.ns
    );
    let deployments = format!("/apis/apps/v1/namespaces/{}/deployments", stage.ns);
    let made = |name: &str| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}})
    };
    vec![
        Case::created("budget-created", &at, made("b-created"))
            .is("Progressing", "its controller has not seen it yet"),
        Case::of("budget-kept", &at, made("b-kept"))
            .before(&deployments, deployment("b-kept", 2, Fate::Ready))
            .until(|b| b["status"]["currentHealthy"] == 2),
        Case::of("budget-not-kept", &at, made("b-broken"))
            .before(&deployments, deployment("b-broken", 1, Fate::Pending))
            .until(|b| b["status"]["expectedPods"] == 1)
            .is("Degraded", "0 of 1 needed pods are healthy"),
        Case::of("budget-without-pods", &at, made("b-empty"))
            .until(|b| b["status"]["observedGeneration"] == 1)
            .is("Ready", "it covers no pods"),
    ]
}

fn api_services(stage: &Stage) -> Vec<Case> {
    let at = "/apis/apiregistration.k8s.io/v1/apiservices";
    let group = format!("{}.example.org", stage.ns);
    let absent = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1.{group}")},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10,
            "insecureSkipTLSVerify": true, "service": {"namespace": stage.ns, "name": "absent"}}});
    vec![
        Case {
            subject: Subject::Path(format!("{at}/v1.apps")),
            make: Vec::new(),
            ..Case::of("api-service-available", at, absent.clone())
        },
        Case::of("api-service-unavailable", at, absent)
            .until(|a| condition(a, "Available")["status"] == "False")
            .is(
                "Degraded",
                "ServiceNotFound: service/absent in \"…\" is not present",
            ),
    ]
}

/// Kinds that are ready as soon as they exist.
fn silent(stage: &Stage) -> Vec<Case> {
    let ns = &stage.ns;
    let map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let maps = format!("/api/v1/namespaces/{ns}/configmaps");
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
    let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n"},
        "spec": {"podSelector": {}}});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}});
    vec![
        Case::of("config-map", &maps, map("plain")),
        Case::of("config-map-terminating", &maps, held)
            .then(Step::Delete(format!("{maps}/held")))
            .until(|m| m["metadata"]["deletionTimestamp"].is_string())
            .is(
                "Progressing",
                "it is being deleted; finalizers hold it: example.com/hold",
            ),
        Case::of(
            "service-account",
            &format!("/api/v1/namespaces/{ns}/serviceaccounts"),
            account,
        ),
        Case::of(
            "network-policy",
            &format!("/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies"),
            policy,
        ),
        Case::of(
            "role",
            &format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"),
            role,
        ),
    ]
}
