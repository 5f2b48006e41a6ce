//! Hooks of charts: made at their moments, waited for, taken away or kept, and never forgotten.

use opm_e2e::objects::{annotated, config_map, deployment, failing, job, volume_claim};
use opm_e2e::{Fault, Module, Moment, RequestFilter, World, scenarios, set};
use serde_json::Value;

scenarios! {
    hooks_run_around_the_objects_and_go_as_the_chart_says,
    a_hook_that_fails_prunes_nothing_and_records_nothing,
    a_hook_before_the_objects_that_fails_keeps_them_from_being_applied,
    what_a_failed_hook_left_goes_with_the_next_apply,
    hooks_of_a_delete_run_around_it,
    a_delete_without_its_manifests_is_refused_unless_hooks_are_left_out,
    a_delete_that_is_killed_at_its_record_is_done_again,
    hooks_of_a_rollback_run,
    tests_run_when_they_are_asked_for,
    an_object_of_somebody_else_in_the_place_of_a_hook_is_refused,
    a_claim_that_a_hook_made_is_not_replaced,
    hooks_run_by_their_weight,
    a_dry_run_says_which_hooks_would_run,
}

fn hook(object: Value, events: &str) -> Value {
    annotated(object, "helm.sh/hook", events)
}

fn goes(object: Value, policy: &str) -> Value {
    annotated(object, "helm.sh/hook-delete-policy", policy)
}

/// A chart with one object and these hooks.
fn shop(value: &str, hooks: &[Value]) -> Module {
    let templates = [&[config_map("web", value)], hooks].concat();
    Module::new("shop").chart("app", &templates)
}

async fn hooks_run_around_the_objects_and_go_as_the_chart_says(w: World) {
    let Some(w) = w.with_helm() else { return };
    let hooks = |stem: &str| {
        vec![
            hook(job("before"), "pre-install,pre-upgrade"),
            goes(hook(job("after"), "post-install"), "hook-succeeded"),
            hook(config_map("note", stem), "post-install"),
        ]
    };
    let mut templates = hooks("1");
    templates.extend([config_map("web", "1"), deployment("web")]);
    let first = Module::new("shop").chart("app", &templates);
    w.apply(&first, &[])
        .await
        .ok()
        .did("created", "Deployment/web")
        .did("created", "Job/before")
        .did("deleted", "Job/after")
        .did("created", "ConfigMap/note");
    assert!(w.gone("Job/after").await);
    let record = w.record("shop").await;
    assert_eq!(record.inventory(), set(["ConfigMap/web", "Deployment/web"]));
    assert_eq!(record.kept(), set(["ConfigMap/note", "Job/before"]));
    assert_eq!(record.kept_why("Job/before").as_deref(), Some("opt-out"));
    assert_eq!(record.pending(), set([]));

    let before = w.uid("Job/before").await;
    let again = w.apply(&first, &[]).await.ok();
    assert_eq!(again.action("ConfigMap/web").as_deref(), Some("unchanged"));
    assert_eq!(
        again.action("Job/before"),
        None,
        "nothing changes, no hook runs"
    );
    assert_eq!(w.uid("Job/before").await, before);

    let mut templates = hooks("2");
    templates.extend([config_map("web", "2"), deployment("web")]);
    let second = Module::new("shop").chart("app", &templates);
    w.apply(&second, &[])
        .await
        .ok()
        .did("created", "Job/before");
    assert_ne!(w.uid("Job/before").await, before, "it is replaced");
    let record = w.record("shop").await;
    assert_eq!(record.kept(), set(["ConfigMap/note", "Job/before"]));
    w.delete("shop", &[]).await.ok();
    assert_eq!(w.settled_live("shop").await, Vec::<String>::new());
    assert!(w.find_record("shop").await.is_none());
}

async fn a_hook_that_fails_prunes_nothing_and_records_nothing(w: World) {
    let Some(w) = w.with_helm() else { return };
    let first = [config_map("web", "1"), config_map("old", "1")];
    let first = Module::new("shop").chart("app", &first);
    w.apply(&first, &[]).await.ok();
    let current = w.record("shop").await.index();

    let second = shop("2", &[hook(failing(job("migrate")), "post-upgrade")]);
    let failed = w.apply(&second, &[]).await.ends(1);
    let failed = failed
        .says("the post-upgrade hook Job/migrate")
        .says("nothing was pruned and nothing was recorded")
        .says("BackoffLimitExceeded");
    assert_eq!(failed.action("Job/migrate").as_deref(), Some("failed"));
    assert!(w.exists("ConfigMap/old").await, "nothing is pruned");
    let record = w.record("shop").await;
    assert_eq!(record.index(), current, "nothing is recorded");
    assert_eq!(record.pending_why("Job/migrate").as_deref(), Some("create"));
    assert!(w.exists("Job/migrate").await, "it can be looked at");
    assert_eq!(record.results()[0], "failed");

    w.apply(&second, &["--no-hooks"]).await.ok();
    assert!(w.gone("ConfigMap/old").await);
    w.holds_exactly("shop", &["ConfigMap/web"]).await;
}

async fn a_hook_before_the_objects_that_fails_keeps_them_from_being_applied(w: World) {
    let Some(w) = w.with_helm() else { return };
    let module = shop(
        "1",
        &[goes(
            hook(failing(job("check")), "pre-install"),
            "hook-failed",
        )],
    );
    w.apply(&module, &[])
        .await
        .ends(1)
        .says("the pre-install hook Job/check")
        .did("skipped", "ConfigMap/web");
    assert!(w.gone("ConfigMap/web").await);
    assert!(w.gone("Job/check").await, "its chart wants it to go");
    w.delete("shop", &["--ignore-not-found"]).await.ok();
    assert!(w.find_record("shop").await.is_none());
}

async fn what_a_failed_hook_left_goes_with_the_next_apply(w: World) {
    let Some(w) = w.with_helm() else { return };
    let broken = shop("1", &[hook(failing(job("first")), "post-install")]);
    w.apply(&broken, &[]).await.ends(1);
    assert!(w.exists("Job/first").await);
    // The same again: the hook runs once more, in place of the failed one.
    let uid = w.uid("Job/first").await;
    w.apply(&broken, &[]).await.ends(1);
    assert_ne!(w.uid("Job/first").await, uid);
    // Another one: what is left of the failed one is stale.
    let mended = shop(
        "1",
        &[goes(hook(job("second"), "post-install"), "hook-succeeded")],
    );
    w.apply(&mended, &[]).await.ok().did("pruned", "Job/first");
    w.holds_exactly("shop", &["ConfigMap/web"]).await;
}

async fn hooks_of_a_delete_run_around_it(w: World) {
    let Some(w) = w.with_helm() else { return };
    let module = shop(
        "1",
        &[
            hook(job("goodbye"), "pre-delete"),
            hook(job("gone"), "post-delete"),
        ],
    );
    w.apply(&module, &[]).await.ok();
    assert!(!w.exists("Job/goodbye").await && !w.exists("Job/gone").await);
    let deleted = w.delete("shop", &[]).await.ok();
    for name in ["Job/goodbye", "ConfigMap/web", "Job/gone"] {
        assert_eq!(deleted.action(name).as_deref(), Some("deleted"), "{name}");
    }
    assert_eq!(w.settled_live("shop").await, Vec::<String>::new());
    assert!(w.find_record("shop").await.is_none());

    let failing = shop("1", &[hook(failing(job("goodbye")), "pre-delete")]);
    w.apply(&failing, &[]).await.ok();
    w.delete("shop", &[])
        .await
        .ends(1)
        .says("the pre-delete hook Job/goodbye")
        .says("nothing was deleted")
        .says("--no-hooks");
    assert!(w.exists("ConfigMap/web").await);
    w.delete("shop", &["--no-hooks"]).await.ok();
    assert_eq!(w.settled_live("shop").await, Vec::<String>::new());
    assert!(w.find_record("shop").await.is_none());
}

/// Its hooks have run, and their manifests are gone: the next delete does not ask for them.
async fn a_delete_that_is_killed_at_its_record_is_done_again(w: World) {
    let Some(w) = w.with_helm() else { return };
    let module = shop("1", &[hook(job("goodbye"), "pre-delete")]);
    w.apply(&module, &[]).await.ok();
    let at = RequestFilter::verb("delete").and_path("/secrets/opm.shop.");
    let command = ["mod", "delete", "shop", "--yes"];
    let killed = Fault::Kill(Moment::After);
    w.start_struck(&at, killed, &command).await.end().await;
    assert!(w.find_record("shop").await.is_some(), "it was killed");
    let again = w.delete("shop", &["--lock-timeout", "10m"]).await.ok();
    assert_eq!(again.action("Job/goodbye"), None, "it has run");
    assert_eq!(w.settled_live("shop").await, Vec::<String>::new());
    assert!(w.find_record("shop").await.is_none());
}

async fn a_delete_without_its_manifests_is_refused_unless_hooks_are_left_out(w: World) {
    let Some(w) = w.with_helm() else { return };
    let module = shop("1", &[hook(job("goodbye"), "pre-delete")]);
    w.apply(&module, &["--no-record"]).await.ok();
    w.delete("shop", &[])
        .await
        .ends(2)
        .says("hooks that run when it is deleted")
        .says("--no-hooks");
    assert!(w.exists("ConfigMap/web").await);
    w.delete("shop", &["--no-hooks"]).await.ok();
    assert!(w.find_record("shop").await.is_none());
}

async fn hooks_of_a_rollback_run(w: World) {
    let Some(w) = w.with_helm() else { return };
    let back = |stem: &str| {
        let hook = hook(config_map(&format!("back-to-{stem}"), stem), "pre-rollback");
        shop(stem, &[hook])
    };
    w.apply(&back("1"), &[]).await.ok();
    w.apply(&back("2"), &[]).await.ok();
    assert!(w.gone("ConfigMap/back-to-1").await);
    w.opm(&["mod", "rollback", "shop", "-o", "json", "--yes"])
        .await
        .ok()
        .did("created", "ConfigMap/back-to-1");
    assert_eq!(w.get("ConfigMap/web").await.unwrap()["data"]["k"], "1");
    w.opm(&[
        "mod",
        "rollback",
        "shop",
        "-o",
        "json",
        "--yes",
        "--no-hooks",
    ])
    .await
    .ok();
    assert!(w.gone("ConfigMap/back-to-2").await);
    w.delete("shop", &[]).await.ok();
    assert_eq!(w.settled_live("shop").await, Vec::<String>::new());
}

async fn tests_run_when_they_are_asked_for(w: World) {
    let Some(w) = w.with_helm() else { return };
    let module = shop("1", &[hook(job("works"), "test")]);
    w.apply(&module, &[]).await.ok();
    assert!(w.gone("Job/works").await);
    w.opm(&["mod", "test", "shop", "-o", "json"])
        .await
        .ok()
        .did("created", "Job/works");
    let record = w.record("shop").await;
    assert_eq!(record.kept(), set(["Job/works"]));
    assert_eq!(record.index().len(), 1, "a test makes no change");
    let uid = w.uid("Job/works").await;
    w.opm(&["mod", "test", "shop"]).await.ok();
    assert_ne!(w.uid("Job/works").await, uid);

    let broken = shop("2", &[hook(failing(job("works")), "test")]);
    w.apply(&broken, &[]).await.ok();
    w.opm(&["mod", "test", "shop"])
        .await
        .ends(1)
        .says("the test hook Job/works");
    w.apply(&shop("3", &[]), &[]).await.ok();
    w.opm(&["mod", "test", "shop"])
        .await
        .ends(5)
        .says("has no tests");
    w.delete("shop", &[]).await.ok();
    assert_eq!(w.settled_live("shop").await, Vec::<String>::new());
}

async fn an_object_of_somebody_else_in_the_place_of_a_hook_is_refused(w: World) {
    let Some(w) = w.with_helm() else { return };
    w.api.create(&w.ns, &config_map("theirs", "theirs")).await;
    let module = shop("1", &[hook(config_map("theirs", "ours"), "pre-install")]);
    w.apply(&module, &[]).await.ends(2).says("ConfigMap/theirs");
    assert!(w.gone("ConfigMap/web").await, "nothing is touched");
    assert_eq!(
        w.get("ConfigMap/theirs").await.unwrap()["data"]["k"],
        "theirs"
    );
}

async fn a_claim_that_a_hook_made_is_not_replaced(w: World) {
    let Some(w) = w.with_helm() else { return };
    let claim = || hook(volume_claim("data"), "pre-install,pre-upgrade");
    w.apply(&shop("1", &[claim()]), &[]).await.ok();
    let uid = w.uid("PersistentVolumeClaim/data").await;
    w.apply(&shop("2", &[claim()]), &[]).await.ok();
    assert_eq!(w.uid("PersistentVolumeClaim/data").await, uid);
}

async fn hooks_run_by_their_weight(w: World) {
    let Some(w) = w.with_helm() else { return };
    let weighing = |name: &str, weight: &str| {
        let hook = hook(config_map(name, "1"), "pre-install");
        annotated(hook, "helm.sh/hook-weight", weight)
    };
    let hooks = [weighing("a", "5"), weighing("b", "-5"), weighing("c", "0")];
    let dir = w.write(&shop("1", &hooks));
    let sent = w.requests_in(&["mod", "apply", &dir]).await;
    let named = |name: &str| {
        let end = format!("/configmaps/{name}");
        let place = sent
            .iter()
            .position(|(verb, path)| verb == "patch" && path.contains(&end));
        place.unwrap_or_else(|| panic!("{name} is not sent: {sent:?}"))
    };
    assert!(
        named("b") < named("c") && named("c") < named("a"),
        "{sent:?}"
    );
    assert!(named("a") < named("web"), "{sent:?}");
}

async fn a_dry_run_says_which_hooks_would_run(w: World) {
    let Some(w) = w.with_helm() else { return };
    let module = shop("1", &[hook(job("before"), "pre-install")]);
    w.diff(&module, &[])
        .await
        .ok()
        .says("hooks would run: Job/before");
    assert!(w.gone("Job/before").await);
}
