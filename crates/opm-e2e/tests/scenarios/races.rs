//! Several runs on one release at the same time: one writes, the others say who does, and what is
//! recorded is what is there. Holders that sleep past their time, clocks that are wrong, and
//! managed fields that somebody wiped.

use std::collections::BTreeSet;

use opm_e2e::objects::config_map;
use opm_e2e::{Fault, Module, Moment, OpmOutput, RequestFilter, World, api, scenarios};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::outcomes::{lock, waiting};

scenarios! {
    twenty_applies_at_once,
    applies_and_deletes_at_once,
    a_holder_that_slept_past_its_time_stops,
    a_wrong_clock_changes_nothing,
    a_lock_whose_managed_fields_were_wiped_still_holds,
    a_create_that_was_not_answered_may_still_land,
    what_another_release_takes_meanwhile_is_not_pruned,
}

/// One of many renders of the same release: an object that all have, and one of its own.
fn variant(n: usize) -> Module {
    let (own, value) = (format!("own-{n}"), n.to_string());
    let objects = [config_map("common", &value), config_map(&own, &value)];
    Module::new("web").component("app", &objects)
}

/// The release is exactly one of the variants, in the cluster and in its record.
async fn is_one_variant(w: &World) {
    let record = w.record("web").await;
    let live: BTreeSet<String> = w.live("web").await.into_iter().collect();
    assert_eq!(live, record.inventory(), "the cluster is what is recorded");
    assert_eq!(record.pending(), BTreeSet::new());
    assert!(!record.locked());
    let common = w.get("ConfigMap/common").await.unwrap();
    let value = common["data"].as_object().unwrap().values().next().unwrap();
    let own = format!("ConfigMap/own-{}", value.as_str().unwrap());
    assert_eq!(live, opm_e2e::set(["ConfigMap/common", &own]));
    w.has_no_stray_records("web").await;
}

async fn all_at_once(w: &World, commands: Vec<Vec<String>>) -> Vec<OpmOutput> {
    let runs = commands.iter().map(|command| {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        w.start_with(&[], &command)
    });
    let runs: Vec<_> = runs.collect();
    futures::future::join_all(runs.into_iter().map(|run| run.end())).await
}

/// Everybody succeeds, or says who was faster.
fn one_at_a_time(ran: &OpmOutput) {
    let text = ran.to_string();
    let named = text.contains("is locked by") && text.contains("(pid ");
    let named = named || text.contains("somebody else keeps writing the record");
    assert!(ran.code() == 0 || (ran.code() == 7 && named), "{ran}");
}

async fn twenty_applies_at_once(w: World) {
    let rounds = if opm_e2e::full() { 10 } else { 2 };
    let (mut done, mut locked) = (0, 0);
    for round in 0..rounds {
        let commands = (0..20).map(|n| {
            let parent = w.dir().join(format!("variant-{n}"));
            let dir = variant(100 * round + n).write(&parent);
            ["mod", "apply", &dir.display().to_string()]
                .map(str::to_owned)
                .to_vec()
        });
        let ran = all_at_once(&w, commands.collect()).await;
        ran.iter().for_each(one_at_a_time);
        let succeeded = ran.iter().filter(|ran| ran.code() == 0).count();
        assert!(succeeded > 0, "somebody must get through");
        done += succeeded;
        locked += ran.len() - succeeded;
        is_one_variant(&w).await;
    }
    let succeeded = w.record("web").await.results();
    let succeeded = succeeded.iter().filter(|r| *r == "succeeded").count();
    assert_eq!(succeeded, done.min(50), "the log has every run that began");
    opm_e2e::note(&format!(
        "{rounds} rounds of 20 applies: {done} succeeded one after the other, {locked} were \
         told who holds the lock"
    ));
}

async fn applies_and_deletes_at_once(w: World) {
    let rounds = if opm_e2e::full() { 20 } else { 3 };
    for round in 0..rounds {
        let dir = |n: usize| {
            let parent = w.dir().join(format!("variant-{n}"));
            variant(n).write(&parent).display().to_string()
        };
        let apply = |n| ["mod", "apply", &dir(n)].map(str::to_owned).to_vec();
        let delete = || {
            ["mod", "delete", &dir(9), "--yes", "--ignore-not-found"]
                .map(str::to_owned)
                .to_vec()
        };
        let commands = vec![apply(1), delete(), apply(2), delete()];
        all_at_once(&w, commands)
            .await
            .iter()
            .for_each(one_at_a_time);
        match w.find_record("web").await {
            Some(_) => is_one_variant(&w).await,
            None => {
                let live = w.settled_live("web").await;
                assert_eq!(live, Vec::<String>::new(), "round {round}");
                w.has_no_stray_records("web").await;
            }
        }
    }
    w.apply(&variant(3), &[]).await.ok();
    is_one_variant(&w).await;
}

async fn a_holder_that_slept_past_its_time_stops(w: World) {
    let short = [("OPM_LOCK_TTL", "2s")];
    let names: Vec<String> = (0..300).map(|n| format!("many-{n:03}")).collect();
    let objects: Vec<Value> = names.iter().map(|n| config_map(n, "1")).collect();
    let many = Module::new("web").component("app", &objects);
    let dir = many.write(&w.dir().join("many")).display().to_string();
    let run = w
        .start_relayed(&short, &["mod", "apply", &dir, "--concurrency", "1"])
        .await;
    let sleeper = run.running();
    w.until("it is in the middle", || w.exists("ConfigMap/many-005"))
        .await;
    sleeper.signal(Signal::STOP);
    let asleep = w.live("web").await.len();
    assert!(asleep < 300, "it fell asleep too late");
    w.until_lock_expires("web", "2s").await;
    w.apply_with(&short, &variant(1), &[]).await.ok();
    sleeper.signal(Signal::CONT);
    run.end().await.ends(7).says("lock");
    let late: Vec<String> = w.live("web").await;
    let late = late.iter().filter(|o| o.contains("/many-")).count();
    assert!(
        late <= 1,
        "{late} objects after it woke up, with one request at a time"
    );
    w.apply_with(&short, &variant(1), &[]).await.ok();
    is_one_variant(&w).await;
    opm_e2e::note(&format!(
        "a holder asleep after {asleep} of 300 objects: {late} late requests, cleaned up"
    ));
}

async fn a_wrong_clock_changes_nothing(w: World) {
    let (ahead, behind) = (("OPM_CLOCK_SHIFT", "600"), ("OPM_CLOCK_SHIFT", "-600"));
    for (n, wrong) in [ahead, behind].into_iter().enumerate() {
        w.apply_with(&[wrong], &variant(n), &[]).await.ok();
        is_one_variant(&w).await;
    }
    // Times in the record are the server's: all of them within this minute or two.
    let record = w.record("web").await;
    let server = record.secret["metadata"]["creationTimestamp"]
        .as_str()
        .unwrap();
    let logged = record.data["log"].as_array().unwrap().iter();
    for time in logged.map(|entry| entry["time"].as_str().unwrap()) {
        assert!(
            minutes(time).abs_diff(minutes(server)) <= 3,
            "{time} against {server}"
        );
    }
    // Whatever the clock says, somebody else's lock is fresh until the server's clock says
    // otherwise, and then it is not.
    let expired = ("OPM_LOCK_TTL", "1s");
    for (n, wrong) in [ahead, behind].into_iter().enumerate() {
        lock(&w).await;
        w.apply_with(&[wrong], &variant(7), &[])
            .await
            .ends(7)
            .says("deployer");
        w.until_lock_expires("web", "1s").await;
        w.apply_with(&[wrong, expired], &variant(n + 3), &[])
            .await
            .ok();
        is_one_variant(&w).await;
    }
    // A holder whose clock is wrong keeps its lock for as long as it works.
    let short = ("OPM_LOCK_TTL", "2s");
    let holders = if opm_e2e::full() {
        vec![ahead, behind]
    } else {
        vec![ahead]
    };
    for wrong in holders {
        let dir = w.write(&waiting());
        let holding = w.start_with(&[wrong, short], &["mod", "apply", &dir, "--timeout", "10m"]);
        w.until("Deployment/first exists", || w.exists("Deployment/first"))
            .await;
        // After three renewals the lock would have expired without them.
        w.until_lock_is_renewed("web", 4).await;
        w.apply_with(&[short], &variant(1), &[]).await.ends(7);
        holding.interrupt();
        holding.end().await.ends(130);
        w.apply(&variant(1), &[]).await.ok();
        is_one_variant(&w).await;
    }
}

/// The minute of the day that a timestamp names.
fn minutes(timestamp: &str) -> u32 {
    let (hour, minute) = (&timestamp[11..13], &timestamp[14..16]);
    hour.parse::<u32>().unwrap() * 60 + minute.parse::<u32>().unwrap()
}

async fn a_lock_whose_managed_fields_were_wiped_still_holds(w: World) {
    let short = [("OPM_LOCK_TTL", "2s")];
    let dir = w.write(&waiting());
    let holder = w.start_with(&short, &["mod", "apply", &dir, "--timeout", "10m"]);
    w.until("Deployment/first exists", || w.exists("Deployment/first"))
        .await;
    for _ in 0..2 {
        wipe_managed_fields(&w).await;
        w.apply_with(&short, &variant(1), &[])
            .await
            .ends(7)
            .says("is locked by");
    }
    // A holder that is dead for all we know, and of whose lock no time is known.
    holder.interrupt();
    holder.end().await.ends(130);
    lock(&w).await;
    wipe_managed_fields(&w).await;
    w.apply_with(&short, &variant(1), &[]).await.ok();
    is_one_variant(&w).await;
}

async fn a_create_that_was_not_answered_may_still_land(w: World) {
    // The answer is lost, the request is made again, and everything ends well. But who knows what
    // became of the first attempt: nothing is forgotten before it can no longer land.
    let w = w.with_env("OPM_LOCK_TTL", "2s");
    let dir = w.write(&variant(1));
    let create = RequestFilter::verb("patch").and_path("/configmaps/");
    let apply = ["mod", "apply", dir.as_str()];
    let lost = Fault::Reset(Moment::After);
    w.disturbed_when(create, lost, &apply).await.ok();
    is_one_variant(&w).await;
    let until = w.record("web").await.data["pending"]["until"].clone();
    assert!(until.is_string(), "{until}");
    w.apply(&variant(2), &[]).await.ok();
    is_one_variant(&w).await;
    let late = w.record("web").await.data["pending"]["objects"].to_string();
    assert!(
        late.contains("own-1") && late.contains("\"late\":true"),
        "{late}"
    );
    w.delete("web", &[]).await.ok().says("may still land");
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
    assert!(w.find_record("web").await.is_none());
}

/// As a PUT with no managed fields does.
async fn wipe_managed_fields(w: &World) {
    for _ in 0..10 {
        let mut secret = w.record("web").await.secret;
        let name = secret["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}", api::collection("Secret", Some(&w.ns)));
        secret["metadata"]["managedFields"] = json!([]);
        let put = http::Method::PUT;
        let (status, body) = w
            .api
            .send(put, &path, "application/json", Some(&secret))
            .await;
        match status {
            200 => return assert!(body["metadata"]["managedFields"].is_null(), "{body}"),
            409 => {}
            _ => panic!("PUT {path}: {status} {body}"),
        }
    }
    panic!("the record is written all the time");
}

/// The delete is on its way when another release takes the object over.
async fn what_another_release_takes_meanwhile_is_not_pruned(w: World) {
    let web = |names: &[&str]| {
        let objects: Vec<Value> = names.iter().map(|name| config_map(name, "1")).collect();
        Module::new("web").component("app", &objects)
    };
    w.apply(&web(&["stays", "moves"]), &[]).await.ok();
    let less = w.write(&web(&["stays"]));
    let at = RequestFilter::verb("delete").and_path("/configmaps/moves");
    let pruning = ["mod", "apply", &less, "-o", "json"];
    let run = w.start_stalled(&at, &pruning).await;
    run.until_it_sends(1, &at).await;
    let other = Module::new("other").component("app", &[config_map("moves", "1")]);
    w.apply(&other, &["--take-ownership"]).await.ok();
    let uid = w.uid("ConfigMap/moves").await;
    run.release();
    let pruned = run.end().await.ok();
    assert_eq!(pruned.action("ConfigMap/moves").as_deref(), Some("kept"));
    pruned.says("another release has taken it over meanwhile");
    assert_eq!(w.uid("ConfigMap/moves").await, uid);
    assert_eq!(w.live("other").await, ["ConfigMap/moves"]);
    // What only changes meanwhile goes all the same.
    w.delete("other", &[]).await.ok();
    w.apply(&web(&["stays", "moves"]), &[]).await.ok();
    w.write(&web(&["stays"]));
    let run = w.start_stalled(&at, &pruning).await;
    run.until_it_sends(1, &at).await;
    let moves = api::object("ConfigMap/moves", &w.ns);
    w.api.merge(&moves, json!({"data": {"edited": "2"}})).await;
    run.release();
    let pruned = run.end().await.ok();
    assert_eq!(pruned.action("ConfigMap/moves").as_deref(), Some("pruned"));
    assert!(w.gone("ConfigMap/moves").await);
}
