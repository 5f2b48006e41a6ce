//! More than one controller: they share the work, and neither the death of one nor its sleep nor its
//! clock does any harm.

use std::collections::{BTreeMap, BTreeSet};

use opm_e2e::objects::{config_map, secret, service};
use opm_e2e::{Fault, Module, Moment, RequestFilter, World, scenarios};
use opm_testkit::HANG;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::flows::Bystanders;

scenarios! {
    two_controllers_do_each_others_work_once,
    replicas_share_the_work_and_a_dead_ones_part_moves_on,
    a_paused_replica_does_no_harm_when_it_wakes,
    clocks_that_are_wrong_lose_nothing,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

fn spec() -> Value {
    json!({"module": {"configMap": {"name": "source"}}})
}

/// Who holds a shard, by the Leases.
async fn holders(w: &World) -> Vec<String> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", w.ns);
    let list = w.api.get(&path).await.unwrap();
    let leases = list["items"].as_array().cloned().unwrap_or_default();
    let shard = |one: &&Value| one["metadata"]["name"].as_str().unwrap().contains("shard");
    let held = leases.iter().filter(shard);
    let held = held.filter_map(|one| one["spec"]["holderIdentity"].as_str());
    held.map(str::to_owned).collect()
}

async fn replicas_share_the_work_and_a_dead_ones_part_moves_on(w: World) {
    w.define_resource().await;
    for n in 0..8 {
        let files = json!({"a.yaml": config_map(&format!("c{n}"), "1").to_string()});
        w.put_files(&format!("source{n}"), files).await;
        let spec = json!({"module": {"configMap": {"name": format!("source{n}")}}});
        w.put_release(&format!("r{n}"), spec).await;
    }
    let flags = [
        "--shards",
        "4",
        "--lease-namespace",
        w.ns.as_str(),
        "--lease-time",
        "3s",
    ];
    let (one, other) = (w.start_controller(&flags), w.start_controller(&flags));
    w.until("each has two of the four", || async {
        let held = holders(&w).await;
        let mut counts = BTreeMap::<String, usize>::new();
        held.into_iter()
            .for_each(|holder| *counts.entry(holder).or_default() += 1);
        counts.values().copied().collect::<Vec<_>>() == [2, 2]
    })
    .await;
    for n in 0..8 {
        w.until_ready(&format!("r{n}")).await;
    }
    // As kill -9 does.
    drop(other);
    for n in 0..8 {
        let files = json!({"a.yaml": config_map(&format!("c{n}"), "2").to_string()});
        w.put_files(&format!("source{n}"), files).await;
    }
    for n in 0..8 {
        w.until_value(&format!("ConfigMap/c{n}"), "/data/k", json!("2"))
            .await;
    }
    w.until("one has all four", || async {
        let held: BTreeSet<String> = holders(&w).await.into_iter().collect();
        held.len() == 1
    })
    .await;
    one.interrupt();
    one.end().await;
    assert_eq!(
        holders(&w).await,
        Vec::<String>::new(),
        "others need not wait"
    );
}

async fn two_controllers_do_each_others_work_once(w: World) {
    w.define_resource().await;
    w.put_module("source", &web(&[config_map("a", "1"), service("web")]))
        .await;
    let (one, other) = (w.start_controller(&[]), w.start_controller(&[]));
    w.put_release("web", spec()).await;
    w.until_ready("web").await;
    for value in ["2", "3"] {
        w.put_module("source", &web(&[config_map("a", value), service("web")]))
            .await;
        w.until_value("ConfigMap/a", "/data/k", json!(value)).await;
    }
    w.until("each change is recorded", || async {
        w.record("web").await.index().len() == 3
    })
    .await;
    // What they are doing at the moment is done, and nobody holds the lock.
    for controller in [one, other] {
        controller.interrupt();
        controller.end().await;
    }
    w.holds_exactly("web", &["ConfigMap/a", "Service/web"])
        .await;
    assert_eq!(w.record("web").await.index().len(), 3, "each change once");
    let _third = w.start_controller(&[]);
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
}

/// The first replica is stopped in the middle of an upgrade, as by a pause of its machine, when its
/// request has changed an object and before it hears of that. The other one takes its part, finishes
/// a newer upgrade, and then the first wakes up.
async fn a_paused_replica_does_no_harm_when_it_wakes(w: World) {
    let w = w.with_env("OPM_LOCK_TTL", "2s");
    w.define_resource().await;
    let bystanders = Bystanders::put(&w).await;
    let at = |value: &str| web(&[config_map("a", value), secret("key", value), service("web")]);
    w.put_module("source", &at("1")).await;
    w.put_release("web", spec()).await;
    let flags = [
        "--shards",
        "1",
        "--lease-namespace",
        w.ns.as_str(),
        "--lease-time",
        "2s",
    ];
    let first = w.start_relayed_controller(&flags).await;
    w.until_ready("web").await;
    let leader = holders(&w).await;
    let second = w.start_controller(&flags);

    let patch = RequestFilter::verb("patch").and_path("/configmaps/a");
    let sent = first.sent(&patch);
    first.on(patch.clone(), Fault::Stall(Moment::After, HANG));
    w.put_module("source", &at("2")).await;
    w.until("its request is on the way", || async {
        first.sent(&patch) > sent
    })
    .await;
    w.until_value("ConfigMap/a", "/data/k", json!("2")).await;
    first.running().signal(Signal::STOP);

    w.put_module("source", &at("3")).await;
    w.until("the other one has its part", || async {
        let now = holders(&w).await;
        !now.is_empty() && now != leader
    })
    .await;
    w.until_value("ConfigMap/a", "/data/k", json!("3")).await;
    w.until("it is recorded", || async {
        let objects = ["ConfigMap/a", "Secret/key", "Service/web"];
        w.is_recorded("web", &objects).await
    })
    .await;
    w.until_ready("web").await;
    let (before, record) = (first.requests().len(), w.raw_record("web").await);

    first.release();
    first.running().signal(Signal::CONT);
    let about_leases = || {
        let requests = first.requests().split_off(before);
        let leases = requests.iter().filter(|one| one.uri.contains("/leases"));
        leases.count()
    };
    w.until("it has looked who has its part", || async {
        about_leases() > 6
    })
    .await;
    let written = first.requests().split_off(before);
    let written = written.iter().filter(|one| {
        let reads = ["get", "list", "watch"].contains(&one.verb.as_str());
        !reads && !one.uri.contains("/leases")
    });
    let written: Vec<String> = written
        .map(|one| format!("{} {}", one.verb, one.uri))
        .collect();
    assert_eq!(written, Vec::<String>::new(), "nothing is its business");
    assert_eq!(w.raw_record("web").await, record);
    w.holds_exactly("web", &["ConfigMap/a", "Secret/key", "Service/web"])
        .await;
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "3");

    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
    bystanders.are_untouched(&w).await;
    second.interrupt();
    second.end().await.ends(130);
}

/// A controller dies in the middle, and the next one's clock is a day before or behind: a lock's age
/// is reckoned by the server's clock.
async fn clocks_that_are_wrong_lose_nothing(w: World) {
    let w = w.with_env("OPM_LOCK_TTL", "2s");
    w.define_resource().await;
    let bystanders = Bystanders::put(&w).await;
    let objects = ["ConfigMap/a", "Service/web"];
    let at = |value: &str| web(&[config_map("a", value), service("web")]);
    w.put_module("source", &at("0")).await;
    w.put_release("web", spec()).await;
    let (day, week) = ("86400", "-604800");
    for (n, (dies, finishes)) in [("0", day), (day, week), (week, day), (day, "0")]
        .iter()
        .enumerate()
    {
        opm_e2e::trying(&format!("{dies} s, then {finishes} s"));
        let value = (n + 1).to_string();
        w.put_module("source", &at(&value)).await;
        let w = &w;
        let patch = RequestFilter::verb("patch").and_path("/configmaps/a");
        let killed = w
            .start_controller_to_be_killed(&[("OPM_CLOCK_SHIFT", dies)], patch, Moment::After)
            .await;
        killed.until_killed().await;
        assert!(w.record("web").await.locked(), "it died with its lock");
        let running = w.start_controller_with(&[("OPM_CLOCK_SHIFT", finishes)], &[]);
        w.until_value("ConfigMap/a", "/data/k", json!(value)).await;
        w.until("it is recorded", || async {
            w.is_recorded("web", &objects).await
        })
        .await;
        w.until_ready("web").await;
        w.holds_exactly("web", &objects).await;
        running.interrupt();
        running.end().await.ends(130);
    }
    let running = w.start_controller_with(&[("OPM_CLOCK_SHIFT", week)], &[]);
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
    bystanders.are_untouched(&w).await;
    running.interrupt();
    running.end().await.ends(130);
}
