//! Which volume claims workloads mount, as far as their manifests tell.
//!
//! A claim that only one node, or one pod, may mount at a time cannot go from an old workload to
//! a new one while both are running: the new one would wait for the old one, and the old one for
//! the new one's readiness. Whether a claim could be mounted twice is not looked into.

use std::fmt;

use serde_json::{Map, Value};

use crate::identity::{GroupKind, Identity};

/// A claim, or a family of claims, that a workload mounts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// This one.
    Named(String),
    /// One for each pod of a StatefulSet: this, and a number behind it.
    Numbered(String),
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "PersistentVolumeClaim/{name}"),
            Self::Numbered(stem) => write!(f, "PersistentVolumeClaim/{stem}N"),
        }
    }
}

impl Claim {
    /// Whether both can mean the same claim.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(other))
            | (Self::Numbered(one), Self::Numbered(other)) => one == other,
            (Self::Named(name), Self::Numbered(stem))
            | (Self::Numbered(stem), Self::Named(name)) => {
                let number = name.strip_prefix(stem.as_str());
                number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            }
        }
    }
}

/// Whether objects of a kind run pods that may mount claims.
pub fn runs_pods(kind: &GroupKind) -> bool {
    pod_spec_path(kind).is_some()
}

fn pod_spec_path(kind: &GroupKind) -> Option<&'static [&'static str]> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => Some(&["spec"]),
        ("", "ReplicationController")
        | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job") => Some(&["spec", "template", "spec"]),
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => None,
    }
}

/// The claims that a workload, rendered or live, mounts.
pub fn claims(identity: &Identity, object: &Map<String, Value>) -> Vec<Claim> {
    let kind = &identity.group_kind;
    let Some(path) = pod_spec_path(kind) else {
        return Vec::new();
    };
    let mut claims = Vec::new();
    let pod = path
        .iter()
        .try_fold(None::<&Value>, |at, key| {
            let inner = match at {
                None => object.get(*key),
                Some(value) => value.get(*key),
            };
            inner.map(Some)
        })
        .flatten();
    for volume in list(pod, "volumes") {
        let claim = volume.get("persistentVolumeClaim");
        let named = claim.and_then(|claim| claim.get("claimName")?.as_str());
        claims.extend(named.map(|name| Claim::Named(name.to_owned())));
        // The claim of an ephemeral volume is named after the pod, and only a bare one is known.
        let ephemeral = volume.get("ephemeral").is_some() && kind.is("", "Pod");
        let name = volume.get("name").and_then(Value::as_str);
        if let (true, Some(name)) = (ephemeral, name) {
            claims.push(Claim::Named(format!("{}-{name}", identity.name)));
        }
    }
    if kind.is("apps", "StatefulSet") {
        for template in list(object.get("spec"), "volumeClaimTemplates") {
            let name = template
                .get("metadata")
                .and_then(|m| m.get("name")?.as_str());
            let stem = name.map(|name| format!("{name}-{}-", identity.name));
            claims.extend(stem.map(Claim::Numbered));
        }
    }
    claims
}

fn list<'a>(holder: Option<&'a Value>, field: &str) -> impl Iterator<Item = &'a Value> {
    let items = holder.and_then(|holder| holder.get(field)?.as_array());
    items.into_iter().flatten()
}

/// One claim that an old and a new workload both mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContestedClaim {
    /// The workload that is to go.
    pub old: Identity,
    /// The workload that is to be ready first.
    pub new: Identity,
    /// The claim, as the old one names it.
    pub claim: Claim,
}

/// The claims that workloads which are to go and workloads which are to be ready first both
/// mount.
pub fn contested<'a>(
    old: &[(&'a Identity, &'a Map<String, Value>)],
    new: &[(&'a Identity, &'a Map<String, Value>)],
) -> Vec<ContestedClaim> {
    let mut contested = Vec::new();
    for (old, old_object) in old {
        let held = claims(old, old_object);
        for (new, new_object) in new.iter().filter(|(new, _)| new.namespace == old.namespace) {
            let wanted = claims(new, new_object);
            let both = held
                .iter()
                .filter(|held| wanted.iter().any(|w| held.overlaps(w)));
            contested.extend(both.map(|claim| ContestedClaim {
                old: (*old).clone(),
                new: (*new).clone(),
                claim: claim.clone(),
            }));
        }
    }
    contested
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(claim: &str) -> Value {
        json!({"volumes": [{"name": "tmp", "emptyDir": {}},
            {"name": "data", "persistentVolumeClaim": {"claimName": claim}}]})
    }

    fn workload(
        group: &str,
        kind: &str,
        name: &str,
        spec: &Value,
    ) -> (Identity, Map<String, Value>) {
        let identity = Identity::new(GroupKind::new(group, kind), Some("n"), name);
        let object = json!({ "spec": spec });
        (identity, object.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn every_kind_that_runs_pods_tells_its_claims() {
        let template = |claim: &str| json!({"template": {"spec": pod(claim)}});
        let cron = json!({"jobTemplate": {"spec": template("d")}});
        for (group, kind, spec) in [
            ("", "Pod", pod("d")),
            ("apps", "Deployment", template("d")),
            ("apps", "StatefulSet", template("d")),
            ("apps", "DaemonSet", template("d")),
            ("apps", "ReplicaSet", template("d")),
            ("batch", "Job", template("d")),
            ("batch", "CronJob", cron),
        ] {
            let (identity, object) = workload(group, kind, "w", &spec);
            assert!(runs_pods(&identity.group_kind), "{kind}");
            assert_eq!(
                claims(&identity, &object),
                [Claim::Named("d".into())],
                "{kind}"
            );
        }
        let (identity, object) = workload("example.com", "Deployment", "w", &template("d"));
        assert!(claims(&identity, &object).is_empty(), "of another group");
        let (identity, object) = workload(
            "",
            "Pod",
            "w",
            &json!({"volumes": [{"name": "e", "ephemeral": {}}]}),
        );
        assert_eq!(claims(&identity, &object), [Claim::Named("w-e".into())]);
        let templates = json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}}]});
        let (identity, object) = workload("apps", "StatefulSet", "db", &templates);
        assert_eq!(
            claims(&identity, &object),
            [Claim::Numbered("data-db-".into())]
        );
    }

    #[test]
    fn which_claims_are_the_same() {
        let named = |name: &str| Claim::Named(name.into());
        let numbered = |stem: &str| Claim::Numbered(stem.into());
        for (one, other, same) in [
            (named("a"), named("a"), true),
            (named("a"), named("b"), false),
            (numbered("data-db-"), numbered("data-db-"), true),
            (numbered("data-db-"), numbered("data-web-"), false),
            (named("data-db-0"), numbered("data-db-"), true),
            (numbered("data-db-"), named("data-db-12"), true),
            (named("data-db-"), numbered("data-db-"), false),
            (named("data-db-x"), numbered("data-db-"), false),
        ] {
            assert_eq!(one.overlaps(&other), same, "{one} {other}");
        }
    }

    #[test]
    fn old_and_new_contest_a_claim_in_one_namespace_only() {
        let template = json!({"template": {"spec": pod("data")}});
        let (old, old_object) = workload("apps", "Deployment", "old", &template);
        let (new, new_object) = workload("apps", "Deployment", "new", &template);
        let mut elsewhere = new.clone();
        elsewhere.namespace = Some("other".into());
        let found = contested(
            &[(&old, &old_object)],
            &[(&new, &new_object), (&elsewhere, &new_object)],
        );
        let claim = Claim::Named("data".into());
        assert_eq!(found, [ContestedClaim { old, new, claim }]);
    }
}
