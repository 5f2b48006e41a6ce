//! Objects that change hands: from one release to another, and from nobody to a release.

use opm_e2e::api;
use opm_e2e::objects::{annotated, cluster_role, config_map, service, unacceptable, volume_claim};
use opm_e2e::{Module, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    an_object_is_taken_and_its_former_owner_lets_go,
    a_release_goes_on_under_a_module_of_another_path,
    a_failed_take_that_is_reverted_deletes_nothing,
    what_is_kept_pending_or_untouched_is_let_go_of_too,
    a_take_over_stops_at_fields_that_somebody_else_set,
    adopting_by_name_makes_an_object_what_is_rendered,
    a_cluster_scoped_object_names_the_release_and_its_namespace,
    an_entry_that_names_somebody_elses_object_deletes_nothing,
}

const UUID: &str = "module-release.opmodel.dev/uuid";

fn mine(objects: &[Value]) -> Module {
    Module::new("mine").component("app", objects)
}

fn other(objects: &[Value]) -> Module {
    Module::new("other").component("app", objects)
}

async fn an_object_is_taken_and_its_former_owner_lets_go(w: World) {
    let (a, b) = (config_map("a", "1"), config_map("b", "1"));
    w.apply(&mine(&[a.clone(), b.clone()]), &[]).await.ok();
    let before = w.get("ConfigMap/a").await.unwrap();
    // Not by adoption, and not by force.
    w.apply(
        &other(std::slice::from_ref(&a)),
        &["--adopt", "--force", "--force-conflicts"],
    )
    .await
    .ends(2)
    .says("mine")
    .says("--take-ownership");
    w.apply(&other(std::slice::from_ref(&a)), &["--take-ownership"])
        .await
        .ok()
        .did("adopted", "ConfigMap/a");
    let after = w.get("ConfigMap/a").await.unwrap();
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["data"], before["data"], "only labels change");
    assert_ne!(
        after["metadata"]["labels"][UUID],
        before["metadata"]["labels"][UUID]
    );
    // Whoever had it and still renders it is refused; whoever does not, lets go.
    w.apply(&mine(&[a.clone(), b.clone()]), &[])
        .await
        .ends(2)
        .says("belongs to release other")
        .says("--take-ownership");
    let ran = w.apply(&mine(std::slice::from_ref(&b)), &[]).await.ok();
    ran.says("belongs to release other");
    w.holds_exactly("mine", &["ConfigMap/b"]).await;
    assert!(w.record("mine").await.kept().is_empty());
    w.delete("mine", &[]).await.ok();
    w.holds_exactly("other", &["ConfigMap/a"]).await;
    assert_eq!(
        w.uid("ConfigMap/a").await,
        before["metadata"]["uid"].as_str().unwrap()
    );
    // And back again.
    w.apply(&mine(&[a]), &["--take-ownership"]).await.ok();
    w.delete("other", &[])
        .await
        .ok()
        .says("belongs to release mine");
    assert!(
        w.find_record("other").await.is_none(),
        "an emptied release can be deleted"
    );
    w.holds_exactly("mine", &["ConfigMap/a"]).await;
}

async fn a_release_goes_on_under_a_module_of_another_path(w: World) {
    let at = |path: &str| {
        let module = Module::new("shop").path(path);
        module.component("app", &[config_map("a", "1"), service("shop")])
    };
    let (old, new) = (at("example.com/old/shop@v0"), at("example.com/new/shop@v0"));
    w.apply(&old, &[]).await.ok();
    w.apply(&new, &[])
        .await
        .ends(2)
        .says("release shop in namespace");
    let ran = w.apply(&new, &["--take-ownership"]).await.ok();
    ran.says("there is another release named shop");
    w.delete("shop", &[])
        .await
        .ends(2)
        .says("more than one release");
    let dir = w.write(&old);
    let ran = w
        .opm(&["mod", "delete", &dir, "--yes", "-o", "json"])
        .await
        .ok();
    assert_eq!(
        ran.json()["resources"],
        json!([]),
        "there is nothing left of it: {ran}"
    );
    w.holds_exactly("shop", &["ConfigMap/a", "Service/shop"])
        .await;
    w.apply(&new, &[]).await.ok();
}

async fn a_failed_take_that_is_reverted_deletes_nothing(w: World) {
    let a = config_map("a", "1");
    w.apply(&mine(std::slice::from_ref(&a)), &[]).await.ok();
    let uid = w.uid("ConfigMap/a").await;
    w.apply(&other(&[config_map("c", "1")]), &[]).await.ok();
    let broken = other(&[
        a.clone(),
        config_map("c", "1"),
        unacceptable(service("bad")),
    ]);
    w.apply(&broken, &["--take-ownership"]).await.ends(1);
    let record = w.record("other").await;
    assert_eq!(record.pending_why("ConfigMap/a").as_deref(), Some("take"));
    let reverted = w.apply(&other(&[config_map("c", "1")]), &[]).await.ok();
    reverted.did("kept", "ConfigMap/a");
    let record = w.record("other").await;
    assert_eq!(record.kept_why("ConfigMap/a").as_deref(), Some("not-mine"));
    assert!(record.pending().is_empty());
    w.delete("other", &[]).await.ok();
    assert_eq!(w.uid("ConfigMap/a").await, uid);
    // The former owner can have it back.
    w.apply(&mine(&[a]), &["--take-ownership"]).await.ok();
    w.holds_exactly("mine", &["ConfigMap/a"]).await;
    assert_eq!(w.uid("ConfigMap/a").await, uid);
}

async fn what_is_kept_pending_or_untouched_is_let_go_of_too(w: World) {
    let all = [
        config_map("i", "1"),
        config_map("k1", "1"),
        config_map("k2", "1"),
        volume_claim("data"),
    ];
    w.apply(&mine(&all), &[]).await.ok();
    w.apply(
        &mine(&[config_map("i", "1"), config_map("j", "1")]),
        &["--no-prune"],
    )
    .await
    .ok();
    let kept = set(["ConfigMap/k1", "ConfigMap/k2", "PersistentVolumeClaim/data"]);
    assert_eq!(w.record("mine").await.kept(), kept);
    let broken = [
        config_map("i", "1"),
        config_map("p", "1"),
        unacceptable(service("bad")),
    ];
    w.apply(&mine(&broken), &[]).await.ends(1);
    assert!(w.record("mine").await.pending().contains("ConfigMap/p"));
    let taken = [
        config_map("i", "1"),
        config_map("k1", "1"),
        config_map("p", "1"),
        volume_claim("data"),
    ];
    w.apply(&other(&taken), &["--take-ownership"]).await.ok();
    // Even a run that is about one kept object notices.
    w.opm(&[
        "mod",
        "prune",
        "mine",
        "ConfigMap/k2",
        "--yes",
        "-o",
        "json",
    ])
    .await
    .ok()
    .did("pruned", "ConfigMap/k2")
    .says("belongs to release other");
    let record = w.record("mine").await;
    assert_eq!(record.inventory(), set(["ConfigMap/j"]));
    assert!(record.kept().is_empty());
    w.apply(&mine(&[config_map("j", "1")]), &[]).await.ok();
    w.holds_exactly("mine", &["ConfigMap/j"]).await;
    w.delete("mine", &["--force-prune-pvcs"]).await.ok();
    let names = [
        "ConfigMap/i",
        "ConfigMap/k1",
        "ConfigMap/p",
        "PersistentVolumeClaim/data",
    ];
    w.holds_exactly("other", &names).await;
}

async fn a_take_over_stops_at_fields_that_somebody_else_set(w: World) {
    w.apply(&mine(&[config_map("a", "1")]), &[]).await.ok();
    let edited = json!({"data": {"k": "edited"}});
    w.api
        .merge(&api::object("ConfigMap/a", &w.ns), edited)
        .await;
    let module = other(&[config_map("a", "2"), config_map("b", "1")]);
    w.apply(&module, &["--take-ownership"])
        .await
        .ends(2)
        .says(".data.k belongs to")
        .says("--force-conflicts");
    assert!(!w.exists("ConfigMap/b").await, "nothing was touched");
    assert!(w.find_record("other").await.is_none());
    let flags = ["--take-ownership", "--force-conflicts"];
    w.apply(&module, &flags).await.ok();
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "2");
}

async fn adopting_by_name_makes_an_object_what_is_rendered(w: World) {
    for name in ["same", "named", "forced"] {
        w.api.create(&w.ns, &config_map(name, "theirs")).await;
    }
    let with = |objects: &[Value]| Module::new("web").component("app", objects);
    let same = config_map("same", "theirs");
    w.apply(&with(std::slice::from_ref(&same)), &["--adopt"])
        .await
        .ok()
        .did("adopted", "ConfigMap/same");
    // All untracked objects at once: what others set in them stands in the way, and is named,
    // before anything is touched.
    let module = with(&[
        same.clone(),
        config_map("named", "1"),
        config_map("new", "1"),
    ]);
    w.apply(&module, &["--adopt"])
        .await
        .ends(2)
        .says(".data.k belongs to")
        .says("--force-conflicts")
        .says("--adopt=ConfigMap/named");
    assert!(!w.exists("ConfigMap/new").await);
    assert!(w.record("web").await.pending().is_empty());
    // Named, it is meant as a whole.
    w.apply(&module, &["--adopt=ConfigMap/named"]).await.ok();
    assert_eq!(w.get("ConfigMap/named").await.unwrap()["data"]["k"], "1");
    let module = with(&[same, config_map("forced", "1")]);
    w.apply(&module, &["--adopt", "--force-conflicts"])
        .await
        .ok();
    assert_eq!(w.get("ConfigMap/forced").await.unwrap()["data"]["k"], "1");
    assert!(
        !w.exists("ConfigMap/named").await,
        "what is adopted is the release's like any other"
    );
}

async fn a_cluster_scoped_object_names_the_release_and_its_namespace(w: World) {
    let (role, elsewhere) = (w.name("reader"), w.other_namespace("elsewhere").await);
    w.apply(&mine(&[cluster_role(&role)]), &[]).await.ok();
    let dir = w.write(&mine(&[cluster_role(&role)]));
    // The same module under the same name in another namespace is another release.
    let there = ["mod", "apply", &dir, "-n", &elsewhere, "-o", "json"];
    let refused = w.opm(&there).await.ends(2);
    refused.says(&format!("belongs to release mine in namespace {}", w.ns));
    let taking = [&there[..], &["--take-ownership"]].concat();
    w.opm(&taking).await.ok();
    w.apply(&mine(&[cluster_role(&role)]), &[])
        .await
        .ends(2)
        .says(&format!("belongs to release mine in namespace {elsewhere}"));
    w.delete("mine", &[]).await.ok();
    assert!(w.exists(&format!("ClusterRole/{role}")).await);
    let there = [
        "mod", "delete", "mine", "-n", &elsewhere, "--yes", "-o", "json",
    ];
    w.opm(&there)
        .await
        .ok()
        .did("deleted", &format!("ClusterRole/{role}"));
}

async fn an_entry_that_names_somebody_elses_object_deletes_nothing(w: World) {
    let role = w.name("victim");
    w.apply(&other(&[config_map("others", "1")]), &[])
        .await
        .ok();
    w.api.create(&w.ns, &config_map("nobodys", "1")).await;
    w.api
        .create(&w.ns, &annotated(cluster_role(&role), "a", "b"))
        .await;
    w.apply(&mine(&[config_map("a", "1")]), &[]).await.ok();
    let victims = [
        "ConfigMap/others",
        "ConfigMap/nobodys",
        &*format!("ClusterRole/{role}"),
    ];
    let own = w.record("mine").await.secret["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let theirs = w.record("other").await.secret["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let (own, theirs) = (format!("Secret/{own}"), format!("Secret/{theirs}"));
    let mut all: Vec<&str> = victims.to_vec();
    all.extend([own.as_str(), theirs.as_str()]);
    let mut poison = Vec::new();
    for spelled in &all {
        let live = w.get(spelled).await.unwrap();
        let (kind, name) = spelled.split_once('/').unwrap();
        let group = live["apiVersion"]
            .as_str()
            .unwrap()
            .rsplit_once('/')
            .map_or("", |(g, _)| g);
        let mut entry = json!({"group": group, "kind": kind, "name": name, "v": "v1", "component": "app",
            "uid": live["metadata"]["uid"]});
        entry["namespace"] = live["metadata"]["namespace"].clone();
        if entry["namespace"].is_null() {
            entry["namespace"] = json!("");
        }
        poison.push(entry);
    }
    let poisoned = |data: &mut std::collections::BTreeMap<String, Value>| {
        let current = data["index"][0].as_str().unwrap().to_owned();
        let change = data.get_mut(&current).unwrap();
        let entries = change["inventory"]["entries"].as_array_mut().unwrap();
        entries.extend(poison.clone());
    };
    w.edit_record("mine", poisoned).await;
    let before = everything(&w, &victims).await;
    w.apply(
        &mine(&[config_map("a", "2")]),
        &["--prune-namespaces", "--force"],
    )
    .await
    .ok();
    assert_eq!(everything(&w, &victims).await, before, "pruning");
    assert!(
        w.exists(&theirs).await && w.exists(&own).await,
        "records are nobody's to prune"
    );
    w.edit_record("mine", poisoned).await;
    w.delete("mine", &["--prune-namespaces"]).await.ok();
    assert_eq!(everything(&w, &victims).await, before, "deleting");
    assert!(w.exists(&theirs).await);
    w.holds_exactly("other", &["ConfigMap/others"]).await;
}

async fn everything(w: &World, objects: &[&str]) -> Vec<Value> {
    let mut all = Vec::new();
    for spelled in objects {
        all.push(w.get(spelled).await.unwrap());
    }
    all
}
