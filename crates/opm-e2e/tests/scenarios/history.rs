//! What a release remembers: its changes, what each changed, its deployments, and what can be
//! shown of each.

use opm_e2e::objects::{config_map, deployment, never_ready, secret, service, unacceptable};
use opm_e2e::{Module, OpmOutput, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    changes_and_deployments_are_told,
    the_log_tells_what_was_deployed,
    a_failed_run_can_be_shown_while_its_manifests_are_kept,
    a_diff_tells_what_a_change_changed_and_no_secret,
    recorded_values_and_manifests_are_shown,
    a_damaged_page_of_history_leaves_the_rest_usable,
    a_record_of_another_version_is_shown,
}

const CANARY: &str = "canary-7f3a";

fn web(value: &str, more: &[Value]) -> Module {
    let mut objects = vec![
        config_map("settings", value),
        secret("key", &format!("{CANARY}-{value}")),
    ];
    objects.extend_from_slice(more);
    Module::new("web").component("app", &objects)
}

async fn history(w: &World, flags: &[&str]) -> OpmOutput {
    w.opm(&[&["mod", "history", "web", "-o", "json"], flags].concat())
        .await
}

async fn changes_and_deployments_are_told(w: World) {
    w.opm(&["mod", "history", "web", "-o", "json"])
        .await
        .ends(5)
        .says("there is no release web");
    let first = w
        .apply(&web("1", &[]), &["-m", "the first"])
        .await
        .ok()
        .json();
    let second = w
        .apply_with(
            &[
                ("GITHUB_ACTIONS", "true"),
                ("GITHUB_REPOSITORY", "acme/shop"),
                ("GITHUB_RUN_ID", "7"),
            ],
            &web("2", &[service("web")]),
            &["--feature-enable", "label-orphan-pruning"],
        )
        .await
        .ok()
        .json();
    w.apply(&web("3", &[unacceptable(service("web"))]), &[])
        .await
        .ends(1);

    let told = history(&w, &[]).await.ok().never_says(CANARY).json();
    assert_eq!(told["release"]["name"], "web");
    let changes = told["changes"].as_array().unwrap();
    let short = |c: &Value| {
        json!([
            c["id"],
            c["objects"],
            c["current"],
            c["rollback"],
            c["parent"]
        ])
    };
    assert_eq!(
        changes.iter().map(short).collect::<Vec<_>>(),
        [
            json!([second["changeId"], 3, true, true, first["changeId"]]),
            json!([first["changeId"], 2, false, true, null]),
        ]
    );
    assert_eq!(
        changes[0]["module"],
        json!({"path": "local/web", "local": true, "name": "web"})
    );
    assert_eq!(changes[0]["manifestDigest"], second["manifestDigest"]);
    assert_eq!(changes[0]["features"]["label-orphan-pruning"], true);
    assert_eq!(changes[1]["features"]["label-orphan-pruning"], false);
    assert_eq!(changes[1]["features"]["change-records"], true);

    let log = told["log"].as_array().unwrap();
    let short = |e: &Value| json!([e["command"], e["result"], e["message"], e["change"]]);
    assert_eq!(
        short(&log[1]),
        json!(["apply", "succeeded", null, second["changeId"]])
    );
    assert_eq!(
        short(&log[2]),
        json!(["apply", "succeeded", "the first", first["changeId"]])
    );
    assert_eq!(log[0]["result"], "failed");
    assert!(
        log[0]["reason"]
            .as_str()
            .unwrap()
            .contains("could not be applied"),
        "{log:?}"
    );
    assert_eq!(log[2]["counts"], json!({"created": 2}));
    assert_eq!(log[1]["from"], "GitHub Actions, acme/shop run 7");
    for entry in log {
        for key in ["time", "who", "from", "opm"] {
            assert!(
                entry[key].as_str().is_some_and(|text| !text.is_empty()),
                "{key}: {entry}"
            );
        }
    }
    // For people: a table each.
    w.opm(&["mod", "history", "web"])
        .await
        .ok()
        .says("ROLLBACK")
        .says("current");
    w.opm(&["mod", "history", "web", "--log"])
        .await
        .ok()
        .says("the first")
        .says("failed");
}

/// Every deployment, whatever became of it, says what was deployed.
async fn the_log_tells_what_was_deployed(w: World) {
    let log = async || history(&w, &[]).await.ok().json()["log"].clone();
    // A first apply that failed: the release is listed with its module.
    let broken = web("1", &[unacceptable(service("web"))]).version("1.0.0");
    let failed = w.apply(&broken, &[]).await.ends(1).json();
    let listed = w.opm(&["mod", "list", "-o", "json"]).await.ok().json();
    let listed = &listed["releases"][0];
    assert_eq!(listed["module"]["name"], "web", "{listed}");
    assert_eq!(listed["module"]["version"], "1.0.0", "{listed}");
    assert_eq!(listed["lastResult"], "failed", "{listed}");
    let told = log().await[0].clone();
    assert_eq!(told["result"], "failed", "{told}");
    assert_eq!(told["change"], failed["changeId"], "{told}");
    assert_eq!(told["module"]["version"], "1.0.0", "{told}");
    assert_eq!(told["components"], json!([]), "{told}");
    let digest = |entry: &Value| entry["values"].as_str().unwrap().to_owned();
    assert!(digest(&told).starts_with("sha256:"), "{told}");

    w.apply(&web("1", &[]).version("1.0.1"), &[]).await.ok();
    let told = log().await[0].clone();
    assert_eq!(told["module"]["version"], "1.0.1", "{told}");

    // What a check refuses, once a minute.
    w.api.create(&w.ns, &config_map("foreign", "1")).await;
    let refused = web("2", &[config_map("foreign", "2")]).version("1.1.0");
    for _ in 0..2 {
        w.apply(&refused, &[]).await.ends(2).says("foreign");
    }
    let entries = log().await;
    let results = |entries: &Value| -> Vec<String> {
        let entries = entries.as_array().unwrap().iter();
        entries
            .map(|e| e["result"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(results(&entries), ["refused", "succeeded", "failed"]);
    assert_eq!(entries[0]["module"]["version"], "1.1.0");
    let reason = entries[0]["reason"].as_str().unwrap();
    assert!(!reason.is_empty() && !reason.contains(CANARY), "{reason}");
    // It is no deployment that one would go back from.
    w.opm(&["mod", "status", "web"]).await.ok();

    // A wait that ran out.
    let slow = web("3", &[never_ready(deployment("slow"))]).version("1.2.0");
    w.apply(&slow, &["--wait", "--timeout", "2s"]).await.ends(8);
    let told = log().await[0].clone();
    assert_eq!(told["result"], "not-ready", "{told}");
    assert!(
        told["reason"].as_str().unwrap().contains("Deployment/slow"),
        "{told}"
    );
    let listed = w.opm(&["mod", "list"]).await.ok();
    listed.says("not-ready");
    w.opm(&["mod", "rollback", "web", "--yes"])
        .await
        .ok()
        .says("the change before the current one");

    // As many as are asked for.
    w.apply(&web("4", &[]), &["--log-entries", "2"]).await.ok();
    assert_eq!(results(&log().await), ["succeeded", "succeeded"]);
    w.opm(&["mod", "history", "web", "--log"])
        .await
        .ok()
        .says("MODULE")
        .says("1.0.1")
        .never_says(CANARY);
}

async fn a_failed_run_can_be_shown_while_its_manifests_are_kept(w: World) {
    w.apply(&web("1", &[]), &[]).await.ok();
    let failing = async |value: &str| {
        let module = web(value, &[unacceptable(service("web"))]);
        let failed = w.apply(&module, &[]).await.ends(1).json();
        failed["changeId"].as_str().unwrap().to_owned()
    };
    let show = async |what: &str, id: &str| {
        w.opm(&["mod", "show", "web", what, "--revision", id, "-o", "json"])
            .await
            .never_says(CANARY)
    };
    let first = failing("2").await;
    let shown = show("manifests", &first).await.ok().json();
    assert_eq!(shown["changeId"], json!(first));
    let text = shown.to_string();
    assert!(text.contains("noSuchField"), "{text}");
    show("values", &first).await.ok();
    w.has_no_stray_records("web").await;
    // It is no change of the history.
    assert_eq!(w.record("web").await.index().len(), 1);
    w.opm(&["mod", "rollback", "web", "--revision", &first, "--yes"])
        .await
        .ends(5);

    // Only those of the newest failed run are kept, also beyond a success.
    let second = failing("3").await;
    show("manifests", &first).await.ends(5);
    show("manifests", &second).await.ok();
    w.has_no_stray_records("web").await;
    w.apply(&web("4", &[]), &[]).await.ok();
    show("manifests", &second).await.ok();
    w.has_no_stray_records("web").await;
    w.delete("web", &[]).await.ok();
    w.has_no_stray_records("web").await;
}

async fn a_diff_tells_what_a_change_changed_and_no_secret(w: World) {
    let first = w
        .apply(&web("1", &[config_map("old", "1")]), &[])
        .await
        .ok()
        .json();
    let second = w.apply(&web("2", &[service("new")]), &[]).await.ok().json();
    let id = |report: &Value| report["changeId"].as_str().unwrap().to_owned();
    let digits = |report: &Value| id(report).trim_start_matches("change-sha1-").to_owned();

    let told = history(&w, &["--diff", &digits(&second)[..6]])
        .await
        .ok()
        .never_says(CANARY)
        .json();
    assert_eq!(
        (&told["from"], &told["to"]),
        (&json!(id(&first)), &json!(id(&second)))
    );
    let short = |o: &Value| json!([o["kind"], o["name"], o["happened"]]);
    let objects = told["objects"].as_array().unwrap();
    assert_eq!(
        objects.iter().map(short).collect::<Vec<_>>(),
        [
            json!(["ConfigMap", "old", "removed"]),
            json!(["ConfigMap", "settings", "changed"]),
            json!(["Secret", "key", "changed"]),
            json!(["Service", "new", "added"]),
        ]
    );
    assert_eq!(
        objects[1]["changes"],
        json!([{"path": "data.k", "before": "1", "after": "2"}])
    );
    assert_eq!(
        objects[2]["changes"],
        json!([{"path": "data.password", "before": "(masked)", "after": "(masked)", "masked": true}])
    );
    // Backwards, in words, and of the very first.
    let range = format!("{}..{}", id(&second), id(&first));
    let back = history(&w, &["--diff", &range]).await.ok().json();
    assert_eq!(back["objects"][0]["happened"], "added");
    w.opm(&["mod", "history", "web", "--diff", &id(&second)])
        .await
        .ok()
        .says("~ ConfigMap/settings")
        .says("data.k: \"1\" → \"2\"")
        .says("+ Service/new")
        .never_says(CANARY);
    let whole = history(&w, &["--diff", &id(&first)]).await.ok().json();
    assert_eq!(whole["from"], Value::Null);
    assert_eq!(whole["objects"].as_array().unwrap().len(), 3);
    history(&w, &["--diff", "0123456789"])
        .await
        .ends(5)
        .says("there is no change");
}

async fn recorded_values_and_manifests_are_shown(w: World) {
    let first = w.apply(&web("1", &[]), &[]).await.ok().json();
    w.apply(&web("2", &[]), &[]).await.ok();
    let show = |what: &'static str, flags: &'static [&'static str]| {
        let w = &w;
        async move {
            w.opm(&[&["mod", "show", "web", what], flags].concat())
                .await
        }
    };
    show("manifests", &[])
        .await
        .ok()
        .says("(masked)")
        .says("k: \"2\"")
        .never_says("Y2FuYXJ5");
    let shown = show("manifests", &["-o", "json", "--reveal"])
        .await
        .ok()
        .json();
    let objects = shown["resources"].as_array().unwrap();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["component"], "app");
    let password = objects[1]["object"]["data"]["password"].as_str().unwrap();
    assert!(password.starts_with("Y2FuYXJ5"), "{password}");
    let id = first["changeId"].as_str().unwrap();
    let older = w
        .opm(&[
            "mod",
            "show",
            "web",
            "manifests",
            "--revision",
            id,
            "-o",
            "json",
        ])
        .await
        .ok()
        .never_says("Y2FuYXJ5")
        .json();
    assert_eq!(older["changeId"], first["changeId"]);
    assert_eq!(older["manifestDigest"], first["manifestDigest"]);
    assert_eq!(older["resources"][0]["object"]["data"]["k"], "1");
    show("values", &[]).await.ok();
    let values = show("values", &["-o", "json"]).await.ok().json();
    assert_eq!(values["values"], serde_json::json!({}));
    w.opm(&["mod", "show", "web", "values", "--revision", "ffffffff"])
        .await
        .ends(5);
}

async fn a_damaged_page_of_history_leaves_the_rest_usable(w: World) {
    for value in ["1", "2", "3"] {
        w.apply(&web(value, &[]), &[]).await.ok();
    }
    let index = w.record("web").await.index();
    let mut data = w.raw_record("web").await;
    data.insert(index[1].clone(), b"{broken".to_vec());
    w.write_raw_record("web", &data).await;
    let told = history(&w, &[]).await.ok().json();
    let short = |c: &Value| json!([c["id"], c["rollback"], c["module"].is_null()]);
    assert_eq!(
        told["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(short)
            .collect::<Vec<_>>(),
        [
            json!([index[0], true, false]),
            json!([index[1], false, true]),
            json!([index[2], true, false])
        ]
    );
    let range = format!("{}..{}", index[2], index[0]);
    history(&w, &["--diff", &range]).await.ok();
    history(&w, &["--diff", &index[1]])
        .await
        .ends(2)
        .says("damaged");
}

async fn a_record_of_another_version_is_shown(w: World) {
    w.apply(&web("1", &[]), &[]).await.ok();
    w.apply(&web("2", &[]), &[]).await.ok();
    w.edit_record("web", |data| {
        data.get_mut("metadata").unwrap()["apiVersion"] = json!("core.opmodel.dev/v9");
    })
    .await;
    let ran = history(&w, &[]).await.ok().says("another version of opm");
    let changes = ran.json()["changes"].as_array().unwrap().clone();
    assert_eq!(changes.len(), 2);
    assert!(changes.iter().all(|change| change["rollback"] == false));
    w.opm(&["mod", "show", "web", "manifests"]).await.ok();
    w.opm(&["mod", "rollback", "web"]).await.ends(2).says("v9");
}
