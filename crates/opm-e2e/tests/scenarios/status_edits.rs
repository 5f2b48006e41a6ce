//! What is drift and what is not, over many kinds and over generated edits.

use std::collections::BTreeMap;

use opm_e2e::{Dice, World, scenarios};
use serde_json::{Value, json};

use crate::status_drift::{edit, fields, web};

scenarios! {
    nothing_of_many_kinds_has_drifted_right_after_an_apply,
    generated_edits_are_told_exactly,
}

/// Objects of many kinds, written the way people write them: with defaults left out, zero values
/// and empty fields put in, and quantities in other words than the server's.
fn many_kinds(w: &World) -> Vec<Value> {
    let role = w.name("drift");
    let group = w.group();
    let pod = json!({"containers": [{"name": "main", "image": "example.com/main:1",
        "command": ["run"], "env": [{"name": "A", "value": "1"}, {"name": "EMPTY", "value": ""},
            {"name": "FROM", "valueFrom": {"configMapKeyRef": {"name": "plain", "key": "k", "optional": true}}}],
        "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"cpu": "1000m"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "initialDelaySeconds": 0},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch", "readOnly": false}],
        "securityContext": {}}],
        "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "config", "configMap": {"name": "plain", "defaultMode": 420}}],
        "tolerations": [{"operator": "Exists"}], "securityContext": {"runAsUser": 0},
        "hostNetwork": false, "nodeSelector": {}});
    let template = |app: &str| json!({"metadata": {"labels": {"app": app}, "creationTimestamp": null}, "spec": pod});
    let selector = |app: &str| json!({"matchLabels": {"app": app}});
    let made = |api: &str, kind: &str, name: &str, rest: Value| {
        let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "annotations": {}, "creationTimestamp": null}});
        object
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        object
    };
    let mut once = template("once");
    once["spec"]["restartPolicy"] = json!("Never");
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"], "resourceNames": []}]);
    vec![
        made(
            "v1",
            "ConfigMap",
            "plain",
            json!({"data": {"k": "v", "empty": ""}, "binaryData": {"b": "AAE="}, "immutable": false}),
        ),
        made(
            "v1",
            "Secret",
            "hidden",
            json!({"stringData": {"p": "q"}, "type": "Opaque"}),
        ),
        made(
            "v1",
            "ServiceAccount",
            "sa",
            json!({"automountServiceAccountToken": false}),
        ),
        made(
            "v1",
            "Service",
            "svc",
            json!({"spec": {"selector": {"app": "web"}, "type": "ClusterIP",
            "ports": [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "dns", "port": 53, "protocol": "UDP"}]}}),
        ),
        made(
            "v1",
            "PersistentVolumeClaim",
            "claim",
            json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1024Mi"}}}}),
        ),
        made(
            "v1",
            "LimitRange",
            "limits",
            json!({"spec": {"limits": [{"type": "Container", "default": {"cpu": "2000m"}}]}}),
        ),
        made(
            "v1",
            "ResourceQuota",
            "quota",
            json!({"spec": {"hard": {"pods": "1k", "requests.cpu": "100000m"}}}),
        ),
        made(
            "apps/v1",
            "Deployment",
            "web",
            json!({"spec": {"replicas": 0, "paused": false, "minReadySeconds": 0,
            "selector": selector("web"), "template": template("web"), "strategy": {"rollingUpdate": {"maxSurge": 1}}}}),
        ),
        made(
            "apps/v1",
            "StatefulSet",
            "db",
            json!({"spec": {"serviceName": "svc", "replicas": 0, "selector": selector("db"), "template": template("db"),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}),
        ),
        made(
            "apps/v1",
            "DaemonSet",
            "agent",
            json!({"spec": {"selector": selector("agent"), "template": template("agent"), "updateStrategy": {}}}),
        ),
        made(
            "batch/v1",
            "Job",
            "once",
            json!({"spec": {"backoffLimit": 0, "suspend": false, "template": once}}),
        ),
        made(
            "batch/v1",
            "CronJob",
            "often",
            json!({"spec": {"schedule": "*/5 * * * *", "suspend": true, "jobTemplate": {"spec": {"template": once}}}}),
        ),
        made(
            "networking.k8s.io/v1",
            "Ingress",
            "in",
            json!({"spec": {"rules": [{"host": "example.com", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "svc", "port": {"number": 80}}}}]}}]}}),
        ),
        made(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "closed",
            json!({"spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": []}}),
        ),
        made(
            "policy/v1",
            "PodDisruptionBudget",
            "budget",
            json!({"spec": {"minAvailable": "50%", "selector": selector("web")}}),
        ),
        made(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "scaler",
            json!({"spec": {"minReplicas": 1, "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "0.5"}}}]}}),
        ),
        made(
            "rbac.authorization.k8s.io/v1",
            "Role",
            "reader",
            json!({"rules": rules}),
        ),
        made(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "readers",
            json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": w.ns}]}),
        ),
        made(
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            &role,
            json!({"rules": rules}),
        ),
        opm_e2e::objects::custom_kind(&group, "Widget"),
        opm_e2e::objects::custom(&group, "Widget", "custom"),
    ]
}

async fn nothing_of_many_kinds_has_drifted_right_after_an_apply(w: World) {
    let module = web(&many_kinds(&w));
    w.apply(&module, &[]).await.ok();
    for round in 0..2 {
        let shown = w
            .opm(&["mod", "status", "web", "-o", "json"])
            .await
            .ok()
            .json();
        let components = shown["components"].as_array().unwrap().clone();
        let all = components
            .iter()
            .flat_map(|c| c["resources"].as_array().unwrap());
        let drifted: Vec<&Value> = all.filter(|r| r["drifted"] == true).collect();
        assert_eq!(drifted, Vec::<&Value>::new());
        if round == 0 {
            // Once more when the controllers have been at work.
            w.until("a controller has seen it", || async {
                let live = w.get("Deployment/web").await.unwrap();
                live["status"]["observedGeneration"].as_u64() >= Some(1)
            })
            .await;
        }
    }
    w.delete("web", &["--force-prune-pvcs", "--prune-crds"])
        .await
        .ok();
}

/// Who owns a key after edits, and whether that is drift, by the rules alone.
fn expected(applied: &str, live: Option<&str>, last: &str) -> Option<Option<String>> {
    match live {
        None => Some(None),
        Some(value) if value == applied => None,
        Some(_) => Some(Some(last.to_owned())),
    }
}

async fn generated_edits_are_told_exactly(w: World) {
    let keys = ["a", "b.c", "d", "e-f", "g"];
    let data = |n: u64| -> Value {
        keys.iter()
            .map(|k| ((*k).to_owned(), json!(format!("{k}{n}"))))
            .collect()
    };
    let map = |n: u64| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{n}")}, "data": data(n)});
    let count = if opm_e2e::full() { 200 } else { 24 };
    let maps: Vec<Value> = (0..count).map(map).collect();
    w.apply(&web(&maps), &[]).await.ok();

    let mut dice = Dice::new(20_261_115);
    let mut told_wanted = BTreeMap::new();
    for n in 0..count {
        let mut live: BTreeMap<&str, (Option<String>, &str)> = keys
            .iter()
            .map(|k| (*k, (Some(format!("{k}{n}")), "opm")))
            .collect();
        for _ in 0..dice.roll(4) {
            let manager = ["kubectl-edit", "intruder", "operator"][dice.roll(3) as usize];
            let key = keys[dice.roll(5) as usize];
            let value = match dice.roll(4) {
                0 => Value::Null,
                1 => json!(format!("{key}{n}")),
                2 => json!(""),
                _ => json!(format!("edited {}", dice.roll(3))),
            };
            edit(
                &w,
                &format!("ConfigMap/m{n}"),
                manager,
                json!({"data": {key: value, "added": "x"}}),
            )
            .await;
            let now = value.as_str().map(str::to_owned);
            let (was, owner) = live[key].clone();
            // Who writes what is there already takes nothing.
            let owner = if was == now { owner } else { manager };
            live.insert(key, (now, owner));
        }
        for (key, (value, owner)) in live {
            if let Some(by) = expected(&format!("{key}{n}"), value.as_deref(), owner) {
                let field = match key.contains('.') {
                    true => format!("data[{key:?}]"),
                    false => format!("data.{key}"),
                };
                told_wanted.insert((format!("m{n}"), field), by);
            }
        }
    }
    let shown = w
        .opm(&["mod", "status", "web", "-o", "json"])
        .await
        .ok()
        .json();
    let mut told = BTreeMap::new();
    for resource in shown["components"][0]["resources"].as_array().unwrap() {
        for (field, by) in fields(resource) {
            told.insert((resource["name"].as_str().unwrap().to_owned(), field), by);
        }
    }
    assert!(told_wanted.len() > 10, "the dice were kind");
    assert_eq!(told, told_wanted);
}
