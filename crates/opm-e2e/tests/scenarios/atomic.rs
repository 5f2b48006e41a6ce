//! `apply --atomic`: all of it or nothing, whatever goes wrong on the way, and on the way back.

use opm_e2e::objects::{
    config_map, deployment, failing, job, never_ready, secret, service, volume_claim,
};
use opm_e2e::{Fault, KillOutcome, Module, Moment, RequestFilter, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    what_works_is_recorded_when_it_is_ready,
    what_is_not_ready_in_time_is_made_undone,
    what_fails_on_the_way_is_made_undone,
    a_first_apply_is_removed_again_and_guards_hold,
    without_a_way_back_nothing_is_begun,
    an_interrupt_goes_back_too,
    a_lost_connection_ends_clean,
    when_the_way_back_fails_too_both_causes_are_told,
    killed_on_the_way_back,
    somebody_elses_deployment_is_left_alone,
}

/// How many requests of the way back are tried when not all of them are.
const SAMPLE: usize = 4;

fn web(objects: &[Value]) -> Module {
    named("web", objects)
}

fn named(release: &str, objects: &[Value]) -> Module {
    Module::new(release).component("app", objects)
}

fn old(value: &str) -> Vec<Value> {
    vec![
        config_map("a", value),
        config_map("gone", value),
        secret("key", value),
        service("web"),
    ]
}

const OLD: [&str; 4] = ["ConfigMap/a", "ConfigMap/gone", "Secret/key", "Service/web"];

/// Exactly the old objects, and a record that says so.
async fn is_as_before(w: &World, change: &Value) {
    w.holds_exactly("web", &OLD).await;
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
    let record = w.record("web").await;
    assert_eq!(
        json!(record.index()),
        json!([change]),
        "only what was there before"
    );
}

async fn what_works_is_recorded_when_it_is_ready(w: World) {
    let first = w
        .apply(
            &web(&[deployment("web")]),
            &["--atomic", "--timeout", "10m"],
        )
        .await
        .ok();
    assert_eq!(first.json()["firstApply"], true);
    w.apply(
        &web(&[deployment("web"), config_map("a", "1")]),
        &["--atomic"],
    )
    .await
    .ok();
    let record = w.record("web").await;
    assert_eq!(record.index().len(), 2);
    assert_eq!(record.results(), ["succeeded", "succeeded"]);
}

async fn what_is_not_ready_in_time_is_made_undone(w: World) {
    let first = w.apply(&web(&old("1")), &[]).await.ok().json();
    let new = [
        config_map("a", "2"),
        config_map("new", "2"),
        never_ready(deployment("slow")),
    ];
    let ran = w
        .apply(&web(&new), &["--atomic", "--timeout", "2s", "-m", "try"])
        .await
        .ends(1);
    let ran = ran
        .says("not ready")
        .says("went back to")
        .says("Deployment/slow");
    assert_eq!(ran.json()["error"]["kind"], "failed");
    is_as_before(&w, &first["changeId"]).await;
    let record = w.record("web").await;
    assert_eq!(record.results(), ["succeeded", "rolled-back", "succeeded"]);
    let log = &record.data["log"];
    assert_eq!(
        (&log[0]["command"], &log[1]["command"]),
        (&json!("rollback"), &json!("apply"))
    );
    assert_eq!(log[1]["message"], "try");
    assert!(
        log[1]["reason"].as_str().unwrap().contains("not ready"),
        "{log}"
    );
}

/// A module whose apply fails late, and by nothing that a server could know beforehand: a Job of
/// its first phase fails.
fn failing_late(release: &str, objects: &[Value]) -> Module {
    let bad = failing(job(&format!("{release}-bad")));
    let objects = [objects, &[bad]].concat();
    named(release, &objects).component_after("late", &["app"], &[service("late")])
}

async fn what_fails_on_the_way_is_made_undone(w: World) {
    let first = w.apply(&web(&old("1")), &[]).await.ok().json();
    let new = [config_map("a", "2"), config_map("new", "2")];
    w.apply(&failing_late("web", &new), &["--atomic"])
        .await
        .ends(1)
        .says("Job/web-bad")
        .says("went back to");
    is_as_before(&w, &first["changeId"]).await;
    assert_eq!(w.record("web").await.results()[1], "rolled-back");
}

async fn a_first_apply_is_removed_again_and_guards_hold(w: World) {
    let objects = [config_map("a", "1"), volume_claim("data")];
    w.apply(&failing_late("web", &objects), &["--atomic"])
        .await
        .ends(1)
        .says("Job/web-bad")
        .says("removed again");
    assert!(w.gone("ConfigMap/a").await);
    assert!(
        w.exists("PersistentVolumeClaim/data").await,
        "a guard holds on the way back too"
    );
    let kept = w.record("web").await.kept();
    assert_eq!(kept, set(["PersistentVolumeClaim/data"]));
    w.has_no_stray_records("web").await;
    // Its labels stay, so the next apply takes it up again.
    w.apply(&web(&[config_map("a", "1"), volume_claim("data")]), &[])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/a", "PersistentVolumeClaim/data"])
        .await;
}

async fn without_a_way_back_nothing_is_begun(w: World) {
    let module = web(&[config_map("a", "1")]);
    w.apply(&module, &["--atomic", "--no-record"])
        .await
        .ends(2)
        .says("--no-record");
    w.apply(&module, &["--no-record"]).await.ok();
    let before = w.record_without_log("web").await;
    w.apply(&web(&[config_map("b", "1")]), &["--atomic"])
        .await
        .ends(2)
        .says("no way back");
    assert_eq!(w.record_without_log("web").await, before);
    assert_eq!(w.record("web").await.results()[0], "refused");
    assert!(!w.exists("ConfigMap/b").await);
    // What a guard flag would remove for good would not come back with what it held.
    w.apply(&web(&[config_map("a", "1"), volume_claim("data")]), &[])
        .await
        .ok();
    let before = w.record_without_log("web").await;
    w.apply(
        &web(&[config_map("a", "2")]),
        &["--atomic", "--force-prune-pvcs"],
    )
    .await
    .ends(2)
    .says("PersistentVolumeClaim/data")
    .says("could not go back");
    assert_eq!(w.record_without_log("web").await, before);
    w.apply(&web(&[config_map("a", "2")]), &["--atomic"])
        .await
        .ok();
    assert_eq!(
        w.record("web").await.kept(),
        set(["PersistentVolumeClaim/data"])
    );
}

async fn an_interrupt_goes_back_too(w: World) {
    let first = w.apply(&web(&old("1")), &[]).await.ok().json();
    let new = [config_map("new", "2"), never_ready(deployment("slow"))];
    let running = w.start_apply(&web(&new), &["--atomic", "--timeout", "10m"]);
    w.until("it waits", || async {
        w.exists("Deployment/slow").await && !w.exists("ConfigMap/gone").await
    })
    .await;
    running.interrupt();
    running.end().await.ends(130).says("went back to");
    is_as_before(&w, &first["changeId"]).await;
}

async fn a_lost_connection_ends_clean(w: World) {
    let first = w.apply(&web(&old("1")), &[]).await.ok().json();
    let dir = w.write(&web(&[
        config_map("a", "2"),
        config_map("new", "2"),
        service("other"),
    ]));
    let variables = [("OPM_LOCK_TTL", "3s")];
    // For longer than a lock can be held without renewal: the apply has to give up. What comes
    // then is the way back, as soon as anything gets through again.
    let expired = w.until_lock_expires("web", "3s");
    let arguments = ["mod", "apply", &dir, "--atomic"];
    // The first two are trials.
    let ran = w
        .cut_off_at(("/configmaps/", 3), expired, &variables, &arguments)
        .await;
    assert!(matches!(ran.code(), 1 | 7), "{ran}");
    ran.says("went back to");
    is_as_before(&w, &first["changeId"]).await;
}

async fn when_the_way_back_fails_too_both_causes_are_told(w: World) {
    let first = w.apply(&web(&old("1")), &[]).await.ok().json();
    let new = [config_map("new", "2"), secret("key", "2")];
    let dir = w.write(&failing_late("web", &new));
    let arguments = ["mod", "apply", &dir, "--atomic"];
    // The first one is a trial, the second is meant; on the way back the Secret is not taken.
    let back = RequestFilter::verb("patch").and_path("/secrets/key");
    let run = w
        .start_struck(&back.from_nth(3).always(), Fault::forbidden(), &arguments)
        .await;
    let ran = run.end().await.ends(1);
    ran.says("could not be applied")
        .says("going back failed")
        .says("what was applied is tracked");
    let record = w.record("web").await;
    assert_eq!(record.results()[..2], ["failed", "failed"]);
    assert_eq!(json!(record.index()), json!([first["changeId"]]));
    w.opm(&["mod", "rollback", "web"]).await.ok();
    is_as_before(&w, &first["changeId"]).await;
}

/// A module whose apply fails late: everything but the last objects is taken.
fn breaking(release: &str) -> Module {
    failing_late(
        release,
        &[
            config_map(&format!("{release}-a"), "2"),
            config_map(&format!("{release}-new"), "2"),
        ],
    )
}

fn before(release: &str) -> Module {
    let name = |name: &str| format!("{release}-{name}");
    named(
        release,
        &[config_map(&name("a"), "1"), config_map(&name("gone"), "1")],
    )
}

async fn killed_on_the_way_back(w: World) {
    w.apply(&before("probe"), &[]).await.ok();
    let failed = w.write(&breaking("probe"));
    let forth = w.requests_in(&["mod", "apply", &failed]).await.len();
    w.opm(&["mod", "rollback", "probe"]).await.ok();
    let both = w
        .requests_in(&["mod", "apply", &failed, "--atomic"])
        .await
        .len();
    assert!(
        both > forth,
        "{both} requests there and back, {forth} there"
    );
    let all: Vec<(usize, Moment)> = (forth..=both)
        .flat_map(|nth| [(nth, Moment::Before), (nth, Moment::After)])
        .collect();
    let step = match opm_e2e::full() {
        true => 1,
        false => (all.len() / SAMPLE).max(1) | 1,
    };
    for (index, (nth, moment)) in all.into_iter().step_by(step).enumerate() {
        let release = format!("back{index}");
        w.apply(&before(&release), &[]).await.ok();
        let dir = w.write(&breaking(&release));
        let killed = w
            .killed_at(nth, moment, &["mod", "apply", &dir, "--atomic"])
            .await;
        let objects = [
            format!("ConfigMap/{release}-a"),
            format!("ConfigMap/{release}-gone"),
        ];
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        match (index % 2, killed) {
            // It had gone back before it came to that.
            (_, KillOutcome::Failed) => {}
            (0, _) => drop(
                w.opm(&["mod", "rollback", &release, "-o", "json"])
                    .await
                    .ok(),
            ),
            _ => drop(w.apply(&before(&release), &[]).await.ok()),
        }
        w.holds_exactly(&release, &objects).await;
        let value = w.get(&format!("ConfigMap/{release}-a")).await.unwrap()["data"]["k"].clone();
        assert_eq!(value, "1", "request {nth}, {moment:?}");
    }
}

async fn somebody_elses_deployment_is_left_alone(w: World) {
    // The failed run loses its lock while it waits; somebody else deploys; the way back finds a
    // record that is not as the failed run left it.
    w.apply(&web(&old("1")), &[]).await.ok();
    let dir = w.write(&failing_late("web", &[config_map("a", "2")]));
    let arguments = ["mod", "apply", &dir, "--atomic"];
    // The same run once before tells how often the record is read until it says that it failed.
    let requests = w.requests_in(&arguments).await;
    let record = w.record("web").await.secret["metadata"]["name"].clone();
    let record = format!("/secrets/{}", record.as_str().unwrap());
    let of_record = |uri: &str| {
        uri.split('?')
            .next()
            .is_some_and(|path| path.ends_with(&record))
    };
    let written = requests
        .iter()
        .enumerate()
        .filter(|(_, (verb, uri))| verb == "update" && of_record(uri));
    let (failed, _) = written.clone().nth(1).expect("it begins, and fails");
    let reads = requests[..failed].iter();
    let reads = reads.filter(|(verb, uri)| verb == "get" && uri.contains(&record));
    let other = named("web", &[config_map("theirs", "1")]).write(&w.dir().join("elsewhere"));
    // What it reads after that is the beginning of the way back.
    let back = RequestFilter::verb("get").and_path(&record);
    let back = back.from_nth(reads.count() + 1);
    let run = w.start_stalled(&back, &arguments).await;
    w.until("the apply has failed", || async {
        w.record("web").await.results()[0] == "failed"
    })
    .await;
    let other = other.display().to_string();
    w.opm(&["mod", "apply", &other, "--replace-all"]).await.ok();
    run.release();
    let ran = run.end().await;
    ran.ends(1).says("somebody else has deployed");
    w.holds_exactly("web", &["ConfigMap/theirs"]).await;
}
