//! kill −9 right before and right after single requests of an apply and of a delete, and faults
//! instead of the kill: whatever was done by then, the next run ends in the right state. A sample
//! in the ordinary run, every request in the full one.

use opm_e2e::objects::{config_map, deployment, secret, service};
use std::time::Duration;

use opm_e2e::{Fault, Killed, Module, Moment, World, scenarios};

scenarios! {
    killed_first_apply,
    killed_upgrade_with_rename,
    killed_delete,
    disturbed_upgrade_with_rename,
}

/// How many requests of a run are tried when not all of them are.
const SAMPLE: usize = 4;

/// A module of eight objects in four kinds, all but one named after `stem`.
fn module(release: &str, stem: &str) -> Module {
    let name = |kind: &str| format!("{release}-{stem}-{kind}");
    Module::new(release).component(
        "app",
        &[
            config_map(&format!("{release}-stays"), stem),
            config_map(&name("one"), "1"),
            config_map(&name("two"), "2"),
            secret(&name("key"), "hunter2"),
            secret(&name("token"), "hunter3"),
            service(&name("web")),
            service(&name("db")),
            deployment(&name("web")),
        ],
    )
}

fn objects(release: &str, stem: &str) -> Vec<String> {
    let named = [
        ("ConfigMap", "one"),
        ("ConfigMap", "two"),
        ("Deployment", "web"),
        ("Secret", "key"),
        ("Secret", "token"),
        ("Service", "db"),
        ("Service", "web"),
    ];
    let mut all: Vec<String> = named
        .iter()
        .map(|(kind, name)| format!("{kind}/{release}-{stem}-{name}"))
        .collect();
    all.push(format!("ConfigMap/{release}-stays"));
    all
}

async fn holds(w: &World, release: &str, stem: &str) {
    let objects = objects(release, stem);
    w.holds_exactly(
        release,
        &objects.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
}

/// What somebody does after the kill; each must end clean.
async fn recover(w: &World, release: &str, how: usize, before: Option<&str>, after: &str) {
    match (how % 3, before) {
        (0, _) => {
            w.apply(&module(release, after), &[]).await.ok();
            holds(w, release, after).await;
        }
        (1, Some(before)) => {
            w.apply(&module(release, before), &[]).await.ok();
            holds(w, release, before).await;
        }
        _ => {
            w.delete(release, &["--ignore-not-found"]).await.ok();
            assert_eq!(
                w.settled_live(release).await,
                Vec::<String>::new(),
                "{release}"
            );
            assert!(w.find_record(release).await.is_none(), "{release}");
            w.has_no_stray_records(release).await;
        }
    }
}

/// The points of a run of `requests` requests at which to kill.
fn points(requests: usize) -> Vec<(usize, Moment)> {
    let all = (1..=requests).flat_map(|n| [(n, Moment::Before), (n, Moment::After)]);
    let all: Vec<_> = all.collect();
    if opm_e2e::full() {
        return all;
    }
    // Spread over the run, another place for each moment.
    let step = (all.len() / SAMPLE).max(1) | 1;
    all.into_iter().step_by(step).collect()
}

async fn killed_first_apply(w: World) {
    let requests = w
        .requests_of(&["mod", "apply", &w.write(&module("probe", "v1"))])
        .await;
    for (index, (nth, moment)) in points(requests).into_iter().enumerate() {
        let release = format!("first{index}");
        let dir = w.write(&module(&release, "v1"));
        let ran = w.killed_at(nth, moment, &["mod", "apply", &dir]).await;
        assert_ne!(ran, Killed::Failed, "request {nth}, {moment:?}");
        recover(&w, &release, index, None, "v1").await;
    }
}

async fn killed_upgrade_with_rename(w: World) {
    w.apply(&module("probe", "v1"), &[]).await.ok();
    let requests = w
        .requests_of(&["mod", "apply", &w.write(&module("probe", "v2"))])
        .await;
    for (index, (nth, moment)) in points(requests).into_iter().enumerate() {
        let release = format!("upgrade{index}");
        w.apply(&module(&release, "v1"), &[]).await.ok();
        let dir = w.write(&module(&release, "v2"));
        let ran = w.killed_at(nth, moment, &["mod", "apply", &dir]).await;
        assert_ne!(ran, Killed::Failed, "request {nth}, {moment:?}");
        recover(&w, &release, index, Some("v1"), "v2").await;
    }
}

async fn killed_delete(w: World) {
    w.apply(&module("probe", "v1"), &[]).await.ok();
    let requests = w.requests_of(&["mod", "delete", "probe", "--yes"]).await;
    for (index, (nth, moment)) in points(requests).into_iter().enumerate() {
        let release = format!("delete{index}");
        w.apply(&module(&release, "v1"), &[]).await.ok();
        let ran = w
            .killed_at(nth, moment, &["mod", "delete", &release, "--yes"])
            .await;
        assert_ne!(ran, Killed::Failed, "request {nth}, {moment:?}");
        recover(&w, &release, index, Some("v1"), "v1").await;
    }
}

async fn disturbed_upgrade_with_rename(w: World) {
    w.apply(&module("probe", "v1"), &[]).await.ok();
    let requests = w
        .requests_of(&["mod", "apply", &w.write(&module("probe", "v2"))])
        .await;
    let faults = [
        Fault::conflict(),
        Fault::too_many_requests(1),
        Fault::internal_error(),
        Fault::error_without_reason(),
        Fault::unavailable(),
        Fault::forbidden(),
        Fault::Reset(Moment::Before),
        Fault::Reset(Moment::After),
        Fault::Stall(Moment::Before, Duration::from_millis(300)),
    ];
    let step = if opm_e2e::full() {
        1
    } else {
        requests.div_ceil(2)
    };
    for (index, fault) in faults.iter().enumerate() {
        for nth in (1 + index % step..=requests).step_by(step) {
            let release = format!("fault{index}x{nth}");
            w.apply(&module(&release, "v1"), &[]).await.ok();
            let dir = w.write(&module(&release, "v2"));
            let ran = w
                .disturbed_at(nth, fault.clone(), &["mod", "apply", &dir])
                .await;
            assert!(
                matches!(ran.code(), 0 | 1 | 2 | 3 | 4 | 7 | 8),
                "{fault:?} at {nth}: {ran}"
            );
            if ran.code() != 0 {
                recover(&w, &release, nth + index, Some("v1"), "v2").await;
            } else {
                holds(&w, &release, "v2").await;
            }
        }
    }
}
