//! What the decisions of an apply cost for 10,000 objects: candidate, digest, plan and check.
//!
//! The objects are of realistic size and mix. The record holds all of them but a tenth, plus a
//! tenth that went stale, and every one is there, as a cluster would answer.

#![allow(clippy::print_stdout, reason = "a benchmark reports what it measured")]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use opm_core::candidate::{Candidate, Selection};
use opm_core::check::{self, Adopt, CheckContext, LiveObject, Observed};
use opm_core::diff::diff;
use opm_core::digest::ManifestDigest;
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, ModuleName, ModulePath, NamespaceName, ReleaseName};
use opm_core::observation::Observation;
use opm_core::plan::{Plan, PlanOptions, plan};
use opm_core::record::{
    Body, Change, Content, Extra, HistorySlot, Inventory, Metadata, ModuleRef, Record,
    ReleaseState, Values,
};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::scope::Scopes;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const OBJECTS: usize = 10_000;
const ROUNDS: usize = 25;

fn main() -> Outcome<()> {
    let rendered = rendered()?;
    let candidate = candidate(rendered.clone())?;
    let manifests: Vec<Manifest> = candidate
        .objects
        .iter()
        .map(|o| o.manifest.clone())
        .collect();
    let shuffled: Vec<Manifest> = manifests.iter().rev().cloned().collect();
    let record = record(&candidate);
    let desired = candidate.desired();
    let planned = plan(&desired, Some(&record), PlanOptions::default())?;
    let observed = observed(&planned, &candidate);
    let occupants = HashMap::new();
    let checking = CheckContext {
        release: candidate.owner.id,
        adopt: Adopt::None,
        take_ownership: false,
        occupants: &occupants,
    };
    let checked =
        check::check(planned.clone(), &observed, &checking).map_err(|r| format!("{r:?}"))?;
    println!(
        "{OBJECTS} objects, {} to apply, {} to prune: median and best of {ROUNDS} rounds",
        checked.applies().count(),
        checked.stale.prune.len()
    );
    let digest = measured(|| (), |()| ManifestDigest::of(&shuffled));
    let plan = measured(
        || (),
        |()| plan(&desired, Some(&record), PlanOptions::default()),
    );
    let check = measured(
        || planned.clone(),
        |p| check::check(p, &observed, &checking),
    );
    report("digest", digest);
    report("plan", plan);
    report("check", check);
    report("all three", together([digest, plan, check]));
    report(
        "candidate (labels, hashes and digest)",
        measured(|| rendered.clone(), self::candidate),
    );
    report(
        "diff, nothing changed",
        measured(|| (), |()| unchanged(&manifests)),
    );
    Ok(())
}

/// What some work took. On a busy machine the best round is the one that says something.
#[derive(Clone, Copy)]
struct Time {
    median: Duration,
    best: Duration,
}

/// The time of `work`, without the time to make what it takes or to drop what it gives.
fn measured<I, O>(mut prepare: impl FnMut() -> I, mut work: impl FnMut(I) -> O) -> Time {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let input = black_box(prepare());
            let start = Instant::now();
            let output = work(input);
            let elapsed = start.elapsed();
            black_box(&output);
            elapsed
        })
        .collect();
    times.sort();
    Time {
        median: times[ROUNDS / 2],
        best: times[0],
    }
}

fn report(what: &str, time: Time) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{what:<40} {:>8.2} ms {:>8.2} ms",
        ms(time.median),
        ms(time.best)
    );
}

fn together(times: [Time; 3]) -> Time {
    Time {
        median: times.iter().map(|time| time.median).sum(),
        best: times.iter().map(|time| time.best).sum(),
    }
}

fn unchanged(manifests: &[Manifest]) -> usize {
    let changes = |m: &Manifest| diff(&m.identity().group_kind, &m.object(), &m.object()).len();
    manifests.iter().map(changes).sum()
}

fn rendered() -> Outcome<Rendered> {
    let module = Module {
        path: ModulePath::new("example.com/bench@v0")?,
        version: Some("1.0.0".to_owned()),
        ..Module::local(ModuleName::new("bench")?)
    };
    let mut components = Vec::new();
    for (index, name) in ["db", "app", "edge", "jobs"].into_iter().enumerate() {
        let manifests: Result<Vec<Manifest>, _> = (index..OBJECTS)
            .step_by(4)
            .map(|number| Manifest::parse(object(number)))
            .collect();
        let after = if name == "app" {
            vec![ComponentName::new("db")?]
        } else {
            Vec::new()
        };
        components.push(Component {
            after,
            ..Component::new(ComponentName::new(name)?, manifests?)
        });
    }
    Ok(Rendered::new(module, components))
}

fn object(number: usize) -> Value {
    let name = format!("object-{number:05}");
    match number % 5 {
        0 => json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{
                        "name": "main", "image": format!("registry.example.com/{name}:1.2.3"),
                        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
                        "env": [{"name": "LEVEL", "value": "info"}, {"name": "PORT", "value": "8080"}],
                        "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}},
                        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
                        "volumeMounts": [{"mountPath": "/etc/app", "name": "config"}],
                    }], "volumes": [{"name": "config", "configMap": {"name": name}}]},
                },
            },
        }),
        1 => json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": "http"}]},
        }),
        2 => json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {"password": "correct horse battery staple"},
        }),
        _ => json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"config.yaml": "a: 1\nb: <2>\n".repeat(40), "number": number.to_string()},
        }),
    }
}

fn candidate(rendered: Rendered) -> Outcome<Candidate> {
    let release = ReleaseName::new("bench")?;
    let namespace = NamespaceName::new("default")?;
    let selection = Selection::default();
    Ok(Candidate::new(
        rendered,
        release,
        namespace,
        &selection,
        Scopes::default(),
    )?)
}

/// All objects but a tenth, and a tenth that is rendered no more.
fn record(candidate: &Candidate) -> Record {
    let mut entries: Vec<Entry> = candidate.entries();
    for (index, entry) in entries.iter_mut().enumerate() {
        entry.uid = Some(format!("uid-{index}"));
    }
    let known = entries
        .into_iter()
        .enumerate()
        .filter(|(index, _)| index % 10 != 0);
    let gone = (0..OBJECTS / 10).map(|number| {
        let kind = GroupKind::new("", "ConfigMap");
        let identity = Identity::new(kind, Some("default"), format!("gone-{number:05}"));
        let entry = Entry::new(identity, "v1", "app");
        Entry {
            uid: Some(format!("gone-{number}")),
            ..entry
        }
    });
    let entries = known
        .map(|(_, entry)| entry)
        .chain(gone)
        .map(Into::into)
        .collect();
    let module = ModuleRef {
        path: candidate.module.path.to_string(),
        version: candidate.module.version.clone(),
        origin: None,
        name: candidate.module.name.to_string(),
        charts: Default::default(),
        extra: Extra::default(),
    };
    let change = Change {
        id: "change-sha1-00000000".to_owned(),
        module,
        values: Body::Here(Values(candidate.values.clone())),
        manifest_digest: candidate.digest.to_string(),
        timestamp: "2026-01-01T00:00:00Z".to_owned(),
        inventory: Body::Here(Inventory {
            entries,
            extra: Extra::default(),
        }),
        components: Some(Vec::new()),
        features: None,
        order: BTreeMap::new(),
        hooks: Vec::new(),
        set: Vec::new(),
        parent: None,
        record: None,
        extra: Extra::default(),
    };
    let metadata = Metadata {
        name: candidate.owner.release.to_string(),
        namespace: candidate.owner.namespace.to_string(),
        release_id: candidate.owner.id.to_string(),
        last_transition_time: Some(change.timestamp.clone()),
        state: ReleaseState::Live,
        extra: Extra::default(),
    };
    let mut record = Record::new(metadata, BTreeMap::new());
    let id = change.id.clone();
    record.history.push(HistorySlot {
        id,
        content: Content::Read(Box::new(change)),
    });
    record
}

/// What a cluster would answer: what is recorded is there, what is new is not.
fn observed(plan: &Plan, candidate: &Candidate) -> Observed {
    let live = |entry: &Entry, uid: &str| {
        let mut labels = serde_json::Map::new();
        for (key, value) in candidate.owner.labels(&candidate.components[0].name) {
            labels.insert(key, value.into());
        }
        let object = json!({"metadata": {
            "name": entry.identity.name, "uid": uid, "resourceVersion": "1", "labels": labels,
            "managedFields": [{"manager": "opm", "operation": "Apply"}],
        }});
        let object = object.as_object().cloned().unwrap_or_default();
        Observation::Present(LiveObject::read(&object, &candidate.owner.id))
    };
    let applied = plan.applies().map(|planned| {
        let entry = &planned.object.entry;
        let seen = planned
            .recorded_uid
            .as_deref()
            .map_or(Observation::Absent, |uid| live(entry, uid));
        (entry.identity.clone(), seen)
    });
    let stale = plan.stale.iter().map(|stale| {
        let uid = stale.entry.uid.as_deref().unwrap_or_default();
        (stale.entry.identity.clone(), live(&stale.entry, uid))
    });
    applied.chain(stale).collect()
}
