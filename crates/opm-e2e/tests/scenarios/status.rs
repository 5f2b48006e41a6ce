//! `opm mod status`: what the record says, what there is, and what is neither here nor there.

use opm_e2e::objects::{annotated, config_map, deployment, secret, service, unacceptable};
use opm_e2e::{Module, OpmOutput, World, api, note, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    objects_are_shown_by_component,
    scenario_e_without_a_record_labels_tell,
    scenario_f_what_a_failed_apply_left_is_pending,
    edge_3_the_secrets_of_opm_are_no_workloads,
    ghosts_and_orphans_are_found,
    a_damaged_record_is_told_from_none,
    kept_and_transferred_objects_are_told,
    the_lock_is_told_with_its_holder,
    five_hundred_objects_take_few_requests,
    a_release_that_does_not_exist_is_not_found,
    a_record_of_another_version_is_shown_as_far_as_it_goes,
    a_record_in_plain_rfc_0001_form_is_shown_and_listed,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn status(w: &World, flags: &[&str]) -> OpmOutput {
    let arguments = [&["mod", "status", "web", "-o", "json"], flags].concat();
    w.opm(&arguments).await
}

/// `Kind/name` of the objects of a list.
fn names(list: &Value) -> std::collections::BTreeSet<String> {
    let name = |o: &Value| {
        format!(
            "{}/{}",
            o["kind"].as_str().unwrap(),
            o["name"].as_str().unwrap()
        )
    };
    list.as_array().unwrap().iter().map(name).collect()
}

/// Everything in the components.
pub(crate) fn resources(status: &Value) -> Value {
    let components = status["components"].as_array().unwrap();
    let all = components
        .iter()
        .flat_map(|c| c["resources"].as_array().unwrap());
    all.cloned().collect()
}

async fn objects_are_shown_by_component(w: World) {
    let canary = "canary-in-a-status";
    let module = Module::minecraft("0.1.0")
        .component(
            "db",
            &[config_map("settings", "1"), secret("creds", canary)],
        )
        .component("app", &[deployment("web"), service("web")]);
    let applied = w.apply(&module, &["--wait"]).await.ok().json();
    let ran = w
        .opm(&["mod", "status", "minecraft", "-o", "json", "-v"])
        .await
        .ok();
    let shown = ran.never_says(canary).json();
    assert_eq!(shown["release"], applied["release"]);
    assert_eq!(shown["changeId"], applied["changeId"]);
    assert_eq!(shown["source"], "inventory");
    assert_eq!(shown["health"], "Ready");
    assert_eq!(
        shown["module"],
        json!({"path": "opmodel.dev/modules/minecraft@v0", "version": "0.1.0", "name": "minecraft"})
    );
    assert!(shown["lastTransitionTime"].is_string());
    for empty in ["pending", "kept", "orphans", "transferred", "warnings"] {
        assert_eq!(shown[empty], json!([]), "{empty}");
    }
    assert_eq!(shown["lock"], Value::Null);
    let parts: Vec<(&str, usize)> = shown["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["name"].as_str().unwrap(),
                c["resources"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(parts, [("db", 2), ("app", 2)], "components in apply order");
    for resource in resources(&shown).as_array().unwrap() {
        assert_eq!(resource["health"], "Ready", "{resource}");
        assert_eq!(resource["drifted"], false, "{resource}");
    }
    let table = w
        .opm(&["mod", "status", "minecraft", "--exit-code"])
        .await
        .ok();
    let table = table.says("Deployment/web").says("Ready").says("4 objects");
    table.never_says(canary);
    let by_directory = w.write(&module);
    w.opm(&["mod", "status", &by_directory]).await.ok();

    w.api
        .delete(&api::object("ConfigMap/settings", &w.ns))
        .await;
    let ran = w
        .opm(&["mod", "status", "minecraft", "-o", "json", "--exit-code"])
        .await
        .ends(6);
    let shown = ran.json();
    assert_eq!(shown["health"], "Degraded");
    assert_eq!(shown["components"][0]["resources"][0]["health"], "Missing");
    assert_eq!(shown["components"][1]["health"], "Ready");
    w.opm(&["mod", "status", "minecraft"])
        .await
        .ok()
        .says("1 missing");
}

async fn scenario_e_without_a_record_labels_tell(w: World) {
    w.apply(&web(&[config_map("a", "1"), service("b")]), &[])
        .await
        .ok();
    w.delete_record("web").await;
    let ran = status(&w, &[]).await.ok().says("opm mod repair");
    let shown = ran.json();
    assert_eq!(shown["source"], "labels");
    assert_eq!(shown["changeId"], Value::Null);
    assert_eq!(names(&resources(&shown)), set(["ConfigMap/a", "Service/b"]));
    assert_eq!(shown["components"][0]["name"], "app");
    assert_eq!(shown["health"], "Ready");
    // An apply that renders less finds the record anew, and the rest is an orphan.
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let shown = status(&w, &["--scan"]).await.ok().json();
    assert_eq!(shown["source"], "inventory");
    assert_eq!(names(&shown["orphans"]), set(["Service/b"]));
}

async fn scenario_f_what_a_failed_apply_left_is_pending(w: World) {
    w.apply(&web(&[config_map("old", "1")]), &[]).await.ok();
    let broken = unacceptable(service("bad"));
    let failing = web(&[config_map("new", "1"), broken]);
    w.apply(&failing, &[]).await.ends(1);
    let shown = status(&w, &[]).await.ok().json();
    assert_eq!(names(&resources(&shown)), set(["ConfigMap/old"]));
    let pending = shown["pending"].as_array().unwrap();
    let ghost = pending.iter().find(|o| o["name"] == "new").unwrap();
    assert_eq!(
        (&ghost["why"], &ghost["exists"]),
        (&json!("create"), &json!(true))
    );
    let never = pending.iter().find(|o| o["name"] == "bad").unwrap();
    assert_eq!(never["exists"], false);
    assert_eq!(shown["orphans"], json!([]), "what is pending is no orphan");
    w.opm(&["mod", "status", "web"]).await.ok().says("pending");
}

async fn edge_3_the_secrets_of_opm_are_no_workloads(w: World) {
    w.apply(&web(&[config_map("a", "1"), secret("s", "x")]), &[])
        .await
        .ok();
    w.apply(&web(&[config_map("a", "2"), secret("s", "x")]), &[])
        .await
        .ok();
    let shown = status(&w, &["--scan"]).await.ok().json();
    assert_eq!(shown["orphans"], json!([]));
    w.delete_record("web").await;
    let shown = status(&w, &[]).await.ok().json();
    assert_eq!(names(&resources(&shown)), set(["ConfigMap/a", "Secret/s"]));
}

/// Applies an object as `opm` would have, past its record.
/// An object with the release's labels, applied by `opm`, that no record names.
pub(crate) async fn ghost(w: &World, like: &str, object: &Value) {
    let labels = w.get(like).await.unwrap()["metadata"]["labels"].clone();
    let mut object = object.clone();
    object["metadata"]["labels"] = labels;
    let (kind, name) = (
        object["kind"].as_str().unwrap(),
        object["metadata"]["name"].as_str().unwrap(),
    );
    let path = api::object(&format!("{kind}/{name}"), &w.ns) + "?fieldManager=opm";
    let apply = "application/apply-patch+yaml";
    let (status, body) = w
        .api
        .send(http::Method::PATCH, &path, apply, Some(&object))
        .await;
    assert_eq!(status, 201, "{body}");
}

async fn ghosts_and_orphans_are_found(w: World) {
    w.apply(&web(&[config_map("a", "1"), service("svc")]), &[])
        .await
        .ok();
    ghost(&w, "ConfigMap/a", &config_map("ghost", "1")).await;
    ghost(&w, "ConfigMap/a", &deployment("orphan")).await;
    // Labels alone are not enough: this one was not applied by opm.
    let mut copied = config_map("copied", "1");
    copied["metadata"]["labels"] =
        w.get("ConfigMap/a").await.unwrap()["metadata"]["labels"].clone();
    w.api.create(&w.ns, &copied).await;

    let near = status(&w, &["--exit-code"]).await.ends(6).json();
    assert_eq!(
        names(&near["orphans"]),
        set(["ConfigMap/ghost"]),
        "in kinds that changes name"
    );
    let far = status(&w, &["--scan"]).await.ok().json();
    assert_eq!(
        names(&far["orphans"]),
        set(["ConfigMap/ghost", "Deployment/orphan"])
    );
    assert_eq!(far["orphans"][0]["component"], "app");
    w.opm(&["mod", "status", "web", "--scan"])
        .await
        .ok()
        .says("orphan")
        .says("2 orphans");
}

async fn a_damaged_record_is_told_from_none(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let record = w.record("web").await;
    let name = record.secret["metadata"]["name"].as_str().unwrap();
    let path = format!("{}/{name}", api::collection("Secret", Some(&w.ns)));
    let current = record.index()[0].clone();
    for key in ["metadata", "index", current.as_str()] {
        let half = json!({"data": {key: "eyJoYWxmIjog"}});
        w.api.merge(&path, half).await;
        let ran = status(&w, &[]).await.ok();
        let ran = ran.says("damaged").says("opm mod repair").says(key);
        let shown = ran.json();
        assert_eq!(shown["source"], "labels", "{key}");
        assert_eq!(names(&resources(&shown)), set(["ConfigMap/a"]), "{key}");
        let whole = json!({"data": {key: record.secret["data"][key]}});
        w.api.merge(&path, whole).await;
    }
    assert_eq!(status(&w, &[]).await.ok().json()["source"], "inventory");
}

async fn kept_and_transferred_objects_are_told(w: World) {
    let stays = annotated(config_map("stays", "1"), "opmodel.dev/prune", "false");
    w.apply(
        &web(&[config_map("a", "1"), config_map("b", "1"), stays]),
        &[],
    )
    .await
    .ok();
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let other = Module::new("other").component("app", &[config_map("b", "2")]);
    w.apply(&other, &["--take-ownership"]).await.ok();

    let shown = status(&w, &["--exit-code"]).await.ok().json();
    assert_eq!(names(&resources(&shown)), set(["ConfigMap/a"]));
    assert_eq!(names(&shown["kept"]), set(["ConfigMap/stays"]));
    assert_eq!(
        (&shown["kept"][0]["why"], &shown["kept"][0]["exists"]),
        (&json!("opt-out"), &json!(true))
    );
    assert_eq!(names(&shown["transferred"]), set(["ConfigMap/b"]));
    assert_eq!(shown["transferred"][0]["to"]["name"], "other");
    let table = w.opm(&["mod", "status", "web"]).await.ok();
    table.says("kept").says("transferred").says("release other");
}

async fn the_lock_is_told_with_its_holder(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let lock = json!({"id": "x", "holder": "deployer", "host": "far-away", "pid": 1, "command": "apply",
        "since": "2026-01-01T00:00:00Z", "beat": 1});
    w.edit_record("web", |data| {
        data.insert("lock".to_owned(), lock);
    })
    .await;
    let shown = status(&w, &[]).await.ok().json();
    assert_eq!(shown["lock"]["holder"], "deployer");
    assert_eq!(shown["lock"]["since"], "2026-01-01T00:00:00Z");
    assert_eq!(shown["lock"]["expired"], false, "it was written just now");
    w.opm(&["mod", "status", "web"])
        .await
        .ok()
        .says("locked by deployer");
}

async fn five_hundred_objects_take_few_requests(w: World) {
    let maps: Vec<Value> = (0..500)
        .map(|n| config_map(&format!("m{n:03}"), "1"))
        .collect();
    w.apply(&web(&maps), &[]).await.ok();
    let arguments = ["mod", "status", "web", "-o", "json"];
    let (ran, requests) = w.counted(&arguments).await;
    let shown = ran.ok().json();
    assert_eq!(resources(&shown).as_array().unwrap().len(), 500);
    assert_eq!(shown["health"], "Ready");
    let total: usize = requests.values().sum();
    note(&format!(
        "status of 500 ConfigMaps: {total} requests: {requests:?}"
    ));
    assert!(total <= 12, "{requests:?}");
}

async fn a_release_that_does_not_exist_is_not_found(w: World) {
    let ran = status(&w, &[]).await.ends(5);
    assert_eq!(ran.json()["error"]["kind"], "not-found");
    let dir = w.write(&web(&[config_map("a", "1")]));
    w.opm(&["mod", "status", &dir]).await.ends(5);
}

async fn a_record_of_another_version_is_shown_as_far_as_it_goes(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.edit_record("web", |data| {
        data.get_mut("metadata").unwrap()["apiVersion"] = json!("core.opmodel.dev/v9");
    })
    .await;
    let ran = status(&w, &[]).await.ok().says("core.opmodel.dev/v9");
    assert_eq!(names(&resources(&ran.json())), set(["ConfigMap/a"]));
    assert_eq!(ran.json()["source"], "inventory");
}

/// What a tool writes that knows RFC-0001 and nothing else.
async fn a_record_in_plain_rfc_0001_form_is_shown_and_listed(w: World) {
    w.api.create(&w.ns, &config_map("config", "1")).await;
    let id = "a3b8f2e1-7c4d-5a9e-b6f0-1234567890ab";
    let metadata = json!({"kind": "ModuleRelease", "apiVersion": "core.opmodel.dev/v1alpha1",
        "name": "minecraft", "namespace": w.ns, "releaseId": id, "lastTransitionTime": "2026-02-11T16:45:00Z"});
    let entry = |kind: &str, name: &str| json!({"group": "", "kind": kind, "namespace": w.ns, "name": name, "v": "v1", "component": "app"});
    let change = json!({
        "module": {"path": "opmodel.dev/modules/minecraft@v0", "version": "0.1.0", "name": "minecraft"},
        "values": "{}", "manifestDigest": "sha256:0", "timestamp": "2026-02-11T14:00:00Z",
        "inventory": {"entries": [entry("ConfigMap", "config"), entry("Service", "gone")]}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "opmodel.dev/release",
        "metadata": {"name": format!("opm.minecraft.{id}"), "labels": {
            "app.kubernetes.io/managed-by": "open-platform-model", "module.opmodel.dev/name": "minecraft",
            "module.opmodel.dev/namespace": w.ns, "module-release.opmodel.dev/uuid": id,
            "opmodel.dev/component": "inventory"}},
        "stringData": {"metadata": metadata.to_string(), "index": "[\"change-sha1-a3b8f2e1\"]",
            "change-sha1-a3b8f2e1": change.to_string()}});
    w.api.create(&w.ns, &secret).await;

    let shown = w
        .opm(&["mod", "status", "minecraft", "-o", "json"])
        .await
        .ok()
        .json();
    assert_eq!(shown["changeId"], "change-sha1-a3b8f2e1");
    assert_eq!(shown["lastTransitionTime"], "2026-02-11T16:45:00Z");
    let all = resources(&shown);
    assert_eq!(
        (&all[0]["health"], &all[1]["health"]),
        (&json!("Ready"), &json!("Missing"))
    );

    let listed = w
        .opm(&["mod", "list", "--health", "-o", "json"])
        .await
        .ok()
        .json();
    let line = &listed["releases"][0];
    assert_eq!(
        (&line["name"], &line["releaseId"]),
        (&json!("minecraft"), &json!(id))
    );
    assert_eq!(
        (&line["module"]["name"], &line["health"]),
        (&json!("minecraft"), &json!("Degraded"))
    );
    assert_eq!(line["note"], "it has no summary");
}
