//! Reports as documents: the shapes that scripts depend on, whoever serves them.

use std::time::Duration;

use opm_engine::request::{
    ApplyRequest, HistoryRequest, ListRequest, RepairRequest, StatusRequest,
};
use serde::Serialize;
use serde_json::Value;

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, claim, config, module, namespace, release, workload};

fn document(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap()
}

/// That a document has these keys and no others; `?` marks those that may be missing.
fn assert_keys(document: &Value, expected: &[&str]) {
    let mut missing: Vec<&str> = expected
        .iter()
        .copied()
        .filter(|key| !key.ends_with('?'))
        .collect();
    for key in document.as_object().unwrap().keys() {
        let optional = format!("{key}?");
        assert!(
            expected.contains(&key.as_str()) || expected.contains(&optional.as_str()),
            "{key} in {document:#}"
        );
        missing.retain(|expected| expected != key);
    }
    assert!(missing.is_empty(), "{missing:?} in {document:#}");
}

const RELEASE: &[&str] = &["name", "namespace", "releaseId"];
const ENTRY: &[&str] = &["group", "kind", "namespace", "name", "v", "component"];
const TRACKED: &[&str] = &["why", "change", "since", "reason?"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    [ENTRY, more].concat()
}

/// A release that keeps a claim, and the apply that made it so.
async fn lab_with_release() -> (Lab, ApplyRequest) {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let objects = config("a", "1") + &claim("data");
    let first = module("app", &[("main", &objects)]);
    done(lab.apply(apply(first, "games"), &nobody))
        .await
        .unwrap();
    let objects = config("a", "2") + &workload("web");
    let mut second = apply(module("app", &[("main", &objects)]), "games");
    second.options.wait = true;
    (lab, second)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report() {
    let (lab, second) = lab_with_release().await;
    let report = done(lab.apply(second, &Visitor::default())).await.unwrap();
    let report = document(&report);
    assert_keys(
        &report,
        &[
            "release",
            "changeId",
            "manifestDigest",
            "firstApply",
            "dryRun",
            "resources",
            "pending",
            "kept",
            "warnings",
        ],
    );
    assert_keys(&report["release"], RELEASE);
    for outcome in report["resources"].as_array().unwrap() {
        assert_keys(outcome, &with(&["action", "reason?"]));
    }
    assert_keys(&report["kept"][0], &with(TRACKED));
    assert_eq!(report["firstApply"], false);
    assert_eq!(report["kept"][0]["why"], "guard");
    assert!(
        report["changeId"]
            .as_str()
            .unwrap()
            .starts_with("change-sha1-")
    );
    assert!(
        report["manifestDigest"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference() {
    let (lab, second) = lab_with_release().await;
    let shown = done(lab.diff(second, &Visitor::default())).await.unwrap();
    let shown = document(&shown);
    assert_keys(
        &shown,
        &[
            "release",
            "changeId",
            "manifestDigest",
            "currentChangeId",
            "differences",
            "resources",
            "transferred",
            "pending",
            "kept",
            "orphans",
            "warnings",
        ],
    );
    assert_eq!(shown["differences"], true);
    let resources = shown["resources"].as_array().unwrap();
    for one in resources {
        assert_keys(one, &with(&["action", "reason?", "changes"]));
    }
    let configured = resources.iter().find(|one| one["action"] == "configured");
    assert_keys(
        &configured.unwrap()["changes"][0],
        &["path", "before", "after", "masked?"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_a_listing_and_a_history() {
    let (lab, second) = lab_with_release().await;
    let nobody = Visitor::default();
    done(lab.apply(second, &nobody)).await.unwrap();
    let request = StatusRequest {
        release: release("app"),
        namespace: namespace("games"),
        scan: false,
    };
    let status = document(&done(lab.status(request, &nobody)).await.unwrap());
    assert_keys(
        &status,
        &[
            "release",
            "module",
            "changeId",
            "lastTransitionTime",
            "lastDeployment",
            "health",
            "source",
            "components",
            "transferred",
            "pending",
            "kept",
            "orphans",
            "lock",
            "warnings",
        ],
    );
    assert_keys(&status["module"], &["path", "name", "local"]);
    assert_eq!(
        (&status["health"], &status["source"]),
        (&"Ready".into(), &"inventory".into())
    );
    assert_eq!(status["lock"], Value::Null);
    let component = &status["components"][0];
    assert_keys(component, &["name", "health", "resources"]);
    assert_keys(
        &component["resources"][0],
        &with(&["health", "message", "drifted", "drift"]),
    );
    assert_keys(&status["kept"][0], &with(&[TRACKED, &["exists"]].concat()));

    let request = ListRequest {
        namespace: Some(namespace("games")),
        home: namespace("default"),
        health: true,
        deleted: false,
    };
    let listing = document(&done(lab.list(request, &nobody)).await.unwrap());
    assert_keys(&listing, &["releases", "unseen"]);
    assert_keys(
        &listing["releases"][0],
        &[
            "name",
            "namespace",
            "releaseId",
            "module",
            "changeId",
            "objects",
            "pending",
            "kept",
            "lastTransitionTime",
            "lastResult",
            "note?",
            "health?",
            "ready?",
            "drifted?",
        ],
    );

    let request = HistoryRequest {
        release: release("app"),
        namespace: namespace("games"),
    };
    let history = document(&done(lab.history(request, &nobody)).await.unwrap());
    assert_keys(&history, &["release", "changes", "log"]);
    let changes = history["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 2);
    assert_eq!(
        (&changes[0]["current"], &changes[1]["current"]),
        (&true.into(), &false.into())
    );
    assert_keys(
        &changes[0],
        &[
            "id",
            "module",
            "timestamp",
            "manifestDigest",
            "objects",
            "current",
            "rollback",
            "reason",
            "parent",
            "components",
            "features",
        ],
    );
    assert_keys(
        &history["log"][0],
        &[
            "id",
            "command",
            "time",
            "seconds",
            "number",
            "who",
            "from",
            "opm",
            "message",
            "change",
            "module",
            "values",
            "components",
            "result",
            "reason",
            "counts",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_and_a_repair() {
    let (lab, second) = lab_with_release().await;
    let other = ApplyRequest {
        name: opm_core::name::ReleaseName::new("other").unwrap(),
        ..second
    };
    let failure = done(lab.apply(other, &Visitor::default())).await;
    let failure = document(&failure.unwrap_err());
    assert_keys(&failure, &["kind", "message", "hints", "objects"]);
    assert_eq!(failure["kind"], "refused");
    assert_keys(
        &failure["objects"][0],
        &["group", "kind", "namespace", "name", "reason"],
    );
    assert!(failure["hints"][0].is_string());

    let request = RepairRequest {
        release: release("app"),
        namespace: namespace("games"),
        dry_run: true,
        lock_timeout: Duration::ZERO,
    };
    let found = document(
        &done(lab.repair(request, &Visitor::default()))
            .await
            .unwrap(),
    );
    assert_keys(
        &found,
        &[
            "release",
            "dryRun",
            "needed",
            "secret",
            "findings",
            "changes",
            "lost",
            "current",
            "undetermined",
            "objects",
            "foreign",
            "pending",
            "kept",
            "warnings",
        ],
    );
    assert_eq!(
        (&found["needed"], &found["secret"]),
        (&false.into(), &"whole".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events() {
    let (lab, second) = lab_with_release().await;
    let (visitor, mut events) = Visitor::watching();
    done(lab.apply(second, &visitor)).await.unwrap();
    let mut words = Vec::new();
    loop {
        let event = document(&events.until(|_| true).await);
        let word = event["event"].as_str().unwrap().to_owned();
        words.push(word.clone());
        if word == "recorded" {
            break;
        }
    }
    // How it goes on, for who looks at it.
    let (progress, mut words): (Vec<_>, Vec<_>) = words
        .into_iter()
        .partition(|word| ["phase", "sent", "health"].contains(&word.as_str()));
    assert!(progress.len() > 2, "{progress:?}");
    words.dedup();
    assert_eq!(words, ["planned", "begun", "object", "recorded"]);
}
