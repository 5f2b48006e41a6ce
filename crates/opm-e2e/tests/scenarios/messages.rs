//! What people are told when something is not as they think: each message names the thing, and
//! says what to do.

use opm_e2e::objects::{config_map, secret};
use opm_e2e::{Module, RequestFilter, Rights, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_misspelt_release_is_answered_with_similar_ones,
    names_that_match_nothing_are_told,
    type_errors_are_plain,
    a_lock_that_may_be_held_is_waited_for,
    whoever_wants_quiet_hears_nothing_of_what_went_well,
    requests_are_told_with_status_and_time_and_no_bodies,
    #[real_only("does not apply to the sandbox, which has no users")]
    who_is_not_known_is_told_where_to_log_in,
}

fn web(name: &str) -> Module {
    Module::new(name).component("app", &[config_map(name, "1")])
}

async fn a_misspelt_release_is_answered_with_similar_ones(w: World) {
    w.apply(&web("blog"), &[]).await.ok();
    let ran = w.opm(&["mod", "status", "blg"]).await.ends(5);
    ran.says("did you mean `blog`?");
    let ran = w.opm(&["mod", "rollback", "blg"]).await.ends(5);
    ran.says("did you mean `blog`?");
    w.delete("blg", &[])
        .await
        .ends(5)
        .says("did you mean `blog`?");
    let other = w.other_namespace("elsewhere").await;
    let ran = w
        .opm(&["mod", "status", "blog", "-n", &other])
        .await
        .ends(5);
    ran.says(&format!("there is a release blog in namespace {}", w.ns));
}

async fn names_that_match_nothing_are_told(w: World) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "web"}, "data": {"k": "0"}});
    w.api.create(&w.ns, &object).await;
    let said = "cm/wbe names no object that the module renders";
    w.apply(&web("web"), &["--adopt=cm/wbe"])
        .await
        .ends(2)
        .says(said);
    let dir = w.write(&web("web"));
    let blank = w.opm(&["mod", "apply", &dir, "--adopt", "cm/web"]).await;
    blank.ends(2).says("--adopt=cm/web");
    let alone = w.opm(&["mod", "apply", "--adopt", "cm/web"]).await;
    alone.ends(2).says("--adopt=cm/web");
    // In short, and in any case.
    let ran = w.apply(&web("web"), &["--adopt=CM/web"]).await.ok();
    assert_eq!(ran.action("ConfigMap/web").as_deref(), Some("adopted"));
}

async fn type_errors_are_plain(w: World) {
    let mut wrong = config_map("a", "1");
    wrong["data"] = json!({"port": 80, "on": true});
    let module = Module::new("web").component("app", &[wrong]);
    let ran = w.apply(&module, &[]).await;
    assert_ne!(ran.code(), 0, "{ran}");
    let ran = ran.says("expected string, got ");
    let ran = ran.never_says("valueUnstructured");
    let table = w.opm(&["mod", "apply", &w.write(&module)]).await;
    table.never_says("\\n").never_says("valueUnstructured");
    drop(ran);
}

async fn a_lock_that_may_be_held_is_waited_for(w: World) {
    w.apply(&web("web"), &[]).await.ok();
    let dir = w.write(&Module::new("web").component("app", &[config_map("b", "1")]));
    let held = RequestFilter::verb("patch").and_path("/configmaps/");
    let arguments = ["mod", "apply", &dir, "-n", &w.ns];
    let running = w.start_stalled(&held, &arguments).await;
    running.until_it_sends(1, &held).await;
    let ran = w.opm(&["mod", "unlock", "web", "--yes"]).await.ends(7);
    ran.says("expires in").never_says("--lock-timeout");
    running.release();
    running.end().await.ok();
}

async fn whoever_wants_quiet_hears_nothing_of_what_went_well(w: World) {
    let dir = w.write(&web("web"));
    for command in [
        vec!["mod", "apply", &dir, "-q"],
        vec!["mod", "rollback", "web", "--yes", "-q"],
        vec!["mod", "delete", "web", "--yes", "-q"],
    ] {
        if command[1] == "rollback" {
            w.apply(
                &Module::new("web").component("app", &[config_map("web", "2")]),
                &[],
            )
            .await
            .ok();
        }
        let ran = w.opm(&command).await.ok();
        assert_eq!(ran.stdout(), "", "{ran}");
    }
    // What was asked for is printed all the same.
    w.opm(&["mod", "apply", &dir, "-q"]).await.ok();
    let status = w.opm(&["mod", "status", "web", "-q"]).await.ok();
    status.says("ConfigMap/web");
}

/// `-vv` tells each request, what was answered and how long that took.
async fn requests_are_told_with_status_and_time_and_no_bodies(w: World) {
    let module = Module::new("web").component("app", &[secret("login", "hunter2-in-the-body")]);
    let dir = w.write(&module);
    let quiet = w.opm(&["mod", "diff", &dir, "-v"]).await.ok();
    quiet.never_says("GET /api");
    let ran = w.opm(&["mod", "apply", &dir, "-vv"]).await.ok();
    let told = ran.to_string();
    let path = format!("PATCH /api/v1/namespaces/{}/secrets/login?", w.ns);
    let line = told.lines().find(|line| line.contains(&path));
    let line = line.unwrap_or_else(|| panic!("no {path} in {told}"));
    let mut words = line.rsplit(' ');
    let took = words.next().and_then(|word| word.strip_suffix("ms"));
    assert!(
        took.is_some_and(|took| took.parse::<u64>().is_ok()),
        "{line}"
    );
    assert_eq!(words.next(), Some("201"), "{line}");
    ran.never_says("hunter2-in-the-body").never_says("\"kind\"");
}

async fn who_is_not_known_is_told_where_to_log_in(w: World) {
    let user = w.user(&Rights::none()).await;
    let config = std::fs::read(user.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_slice(&config).unwrap();
    config["users"][0]["user"] = json!({"token": "expired"});
    let expired = w.dir().join("expired.kubeconfig");
    std::fs::write(&expired, config.to_string()).unwrap();
    let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
    let dir = w.write(&web("web"));
    for words in [
        &["mod", "list"][..],
        &["mod", "status", "web"],
        &["mod", "apply", &dir],
    ] {
        let ran = w.opm_as(&expired, words).await;
        assert_ne!(ran.code(), 0, "{ran}");
        ran.says("401 Unauthorized")
            .says("log in to")
            .says(server)
            .says("--context");
    }
}
