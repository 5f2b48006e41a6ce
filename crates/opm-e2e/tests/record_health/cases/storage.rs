//! Claims, volumes, definitions and namespaces.

use serde_json::{Value, json};

use super::condition;
use crate::stage::{Case, Stage, Step, Subject};

pub(crate) fn cases(stage: &Stage) -> Vec<Case> {
    [
        claims_and_volumes(stage),
        definitions(stage),
        namespaces(stage),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn claims_and_volumes(stage: &Stage) -> Vec<Case> {
    let (ns, volumes) = (&stage.ns, "/api/v1/persistentvolumes");
    let claims = format!("/api/v1/namespaces/{ns}/persistentvolumeclaims");
    let claim = |name: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                "resources": {"requests": {"storage": "1Gi"}}}})
    };
    let volume = |name: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("{ns}-{name}")},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/nowhere"},
                "claimRef": {"namespace": ns, "name": name}}})
    };
    let (claimed, kept) = (
        |name: &str| format!("{claims}/{name}"),
        |name: &str| format!("{volumes}/{ns}-{name}"),
    );
    let bound = |o: &Value| o["status"]["phase"] == "Bound";
    let unbound = "it is not bound to a volume yet";
    vec![
        Case::created("claim-created", &claims, claim("fresh")).is("Progressing", unbound),
        Case::of("claim-pending", &claims, claim("pending"))
            .until(|c| c["status"]["phase"] == "Pending")
            .is("Progressing", unbound),
        Case::of("claim-bound", &claims, claim("bound"))
            .before(volumes, volume("bound"))
            .until(bound),
        Case::of("claim-lost", &claims, claim("lost"))
            .before(volumes, volume("lost"))
            .then(Step::Await(claimed("lost"), bound))
            .then(Step::Delete(kept("lost")))
            .then(Step::Merge(
                kept("lost"),
                json!({"metadata": {"finalizers": null}}),
            ))
            .until(|c| c["status"]["phase"] == "Lost")
            .is("Failed", "its volume is lost"),
        Case::of("volume-available", volumes, volume("available"))
            .until(|v| v["status"]["phase"] == "Available"),
        Case {
            subject: Subject::Path(kept("bound")),
            until: bound,
            make: Vec::new(),
            ..Case::of("volume-bound", volumes, volume("bound"))
        },
        Case {
            subject: Subject::Path(kept("released")),
            until: |v| v["status"]["phase"] == "Released",
            ..Case::of("volume-released", &claims, claim("released"))
                .before(volumes, volume("released"))
                .then(Step::Await(claimed("released"), bound))
                .then(Step::Delete(claimed("released")))
                .is("Degraded", "its claim is gone, and it was not given back")
        },
    ]
}

/// The definition of a kind with a status of its own.
pub(crate) fn definition(group: &str, kind: &str, plural: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}]}})
}

fn definitions(stage: &Stage) -> Vec<Case> {
    let at = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let group = format!("{}.example.com", stage.ns);
    let first = format!("{at}/doodads.{group}");
    vec![
        Case::created(
            "definition-created",
            at,
            definition(&group, "Gadget", "gadgets"),
        )
        .is("Progressing", "it is not established yet"),
        Case::of(
            "definition-established",
            at,
            definition(&group, "Doodad", "doodads"),
        )
        .until(|d| condition(d, "Established")["status"] == "True"),
        Case {
            make: Vec::new(),
            ..Case::of(
                "definition-refused",
                at,
                definition(&group, "Doodad", "doodahs"),
            )
        }
        .then(Step::Await(first, |d| {
            condition(d, "Established")["status"] == "True"
        }))
        .then(Step::Create(
            at.to_owned(),
            definition(&group, "Doodad", "doodahs"),
        ))
        .until(|d| condition(d, "NamesAccepted")["status"] == "False")
        .is(
            "Failed",
            "ListKindConflict: \"DoodadList\" is already in use",
        ),
    ]
}

fn namespaces(stage: &Stage) -> Vec<Case> {
    let name = format!("{}-going", stage.ns);
    let inside = format!("/api/v1/namespaces/{name}/configmaps");
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let path = format!("/api/v1/namespaces/{name}");
    vec![
        Case {
            subject: Subject::Path("/api/v1/namespaces/default".to_owned()),
            make: Vec::new(),
            ..Case::of("namespace-active", "/api/v1/namespaces", namespace.clone())
        },
        Case::of("namespace-terminating", "/api/v1/namespaces", namespace)
            .then(Step::Create(inside, held))
            .then(Step::Delete(path))
            .until(|n| condition(n, "NamespaceFinalizersRemaining")["status"] == "True")
            .is("Progressing", "it is being deleted"),
    ]
}
