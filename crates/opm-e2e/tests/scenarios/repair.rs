//! `opm mod repair`: what is the release's is found again, whatever became of its record, and nothing
//! else.

use opm_e2e::objects::{config_map, secret, service, volume_claim};
use opm_e2e::{Module, World, api, scenarios, set};
use serde_json::{Value, json};

use super::damages::{DAMAGES, damage, record_path};

scenarios! {
    every_damage_is_repaired_and_the_next_apply_prunes_rightly,
    a_lost_record_comes_back_from_its_records,
    the_change_that_is_live_is_current_after_loss,
    where_no_change_is_live_none_is_current,
    the_log_comes_back_with_the_changes,
    without_records_everything_is_pending,
    a_lost_release_is_found_by_name_id_and_directory,
    repair_shows_asks_and_writes_nothing_by_itself,
    a_release_without_damage_is_left_alone,
    repair_respects_a_lock,
    parts_that_had_moved_out_are_brought_back,
}

const NAMES: [&str; 4] = ["a", "b", "c", "data"];

/// A release with two changes: `old` went, a claim is kept, `a` and `b` are there.
async fn settled(w: &World, release: &str, flags: &[&str]) {
    let first = module(release, &["a", "b", "old"]);
    let objects = [volume_claim(&name(release, "data"))];
    let first = first.component("disk", &objects);
    w.apply(&first, flags).await.ok();
    w.apply(&module(release, &["a", "b"]), flags).await.ok();
    let record = w.record(release).await;
    assert_eq!(record.index().len(), 2);
    assert_eq!(
        record.kept(),
        set([&format!("PersistentVolumeClaim/{release}-data")])
    );
}

fn name(release: &str, object: &str) -> String {
    format!("{release}-{object}")
}

pub(crate) fn module(release: &str, names: &[&str]) -> Module {
    let maps = names.iter().map(|n| config_map(&name(release, n), "1"));
    let mut objects: Vec<Value> = maps.collect();
    objects.push(secret(&name(release, "creds"), "hunter2"));
    Module::new(release).component("app", &objects)
}

/// Objects that look like the release's and are not.
async fn bystanders(w: &World) -> Vec<&'static str> {
    w.api.create(&w.ns, &config_map("nobodys", "1")).await;
    let other = Module::new("other").component("app", &[config_map("others", "1")]);
    w.apply(&other, &[]).await.ok();
    vec!["ConfigMap/nobodys", "ConfigMap/others", "ConfigMap/posing"]
}

/// An object that somebody labelled by hand: `opm` never applied it.
async fn posing(w: &World, release: &str) {
    let labels =
        w.get(&format!("ConfigMap/{release}-a")).await.unwrap()["metadata"]["labels"].clone();
    let mut object = config_map("posing", "1");
    object["metadata"]["labels"] = labels;
    w.api.create(&w.ns, &object).await;
}

pub(crate) async fn repair(w: &World, release: &str, flags: &[&str]) -> opm_e2e::OpmOutput {
    let arguments = [&["mod", "repair", release, "-o", "json"], flags].concat();
    w.opm_with(&[("OPM_LOCK_TTL", "1s")], &arguments).await
}

async fn every_damage_is_repaired_and_the_next_apply_prunes_rightly(w: World) {
    let spared = bystanders(&w).await;
    for (at, how) in DAMAGES.into_iter().enumerate() {
        let release = format!("r{at}");
        let release = release.as_str();
        settled(&w, release, &[]).await;
        if at == 0 {
            posing(&w, release).await;
        }
        damage(&w, release, how).await;
        let dir = w.write(&module(release, &["a", "b"]));
        let flags = ["--yes", "--lock-timeout", "10m"];
        let ran = repair(&w, &dir, &flags).await.ok();
        assert_eq!(ran.json()["needed"], true, "{how}: {ran}");
        // Once is enough.
        let again = repair(&w, &dir, &flags).await.ok();
        assert_eq!(again.json()["needed"], false, "{how}: {again}");
        again.says("nothing to repair");

        let record = w.record(release).await;
        assert_eq!(record.secret["type"], "opmodel.dev/release", "{how}");
        let claim = format!("PersistentVolumeClaim/{release}-data");
        let known = record
            .inventory()
            .into_iter()
            .chain(record.pending())
            .chain(record.kept());
        let known: std::collections::BTreeSet<String> = known.collect();
        let expected = ["a", "b"].map(|n| format!("ConfigMap/{release}-{n}"));
        let expected = expected
            .into_iter()
            .chain([format!("Secret/{release}-creds"), claim.clone()]);
        assert_eq!(known, expected.collect(), "{how}: {ran}");
        // Only a change that nothing keeps is lost; here the records keep all of them.
        assert_eq!(record.index().len(), 2, "{how}: {ran}");

        let applied = w.apply(&module(release, &["a", "c"]), &[]).await.ok();
        for (object, action) in [("a", "unchanged"), ("b", "pruned"), ("c", "created")] {
            let object = format!("ConfigMap/{release}-{object}");
            assert_eq!(
                applied.action(&object).as_deref(),
                Some(action),
                "{how}: {applied}"
            );
        }
        assert_eq!(w.record(release).await.kept(), set([&claim]), "{how}");
        assert!(w.exists(&claim).await, "{how}");
        w.has_no_stray_records(release).await;
        let gone = w.delete(release, &["--force-prune-pvcs"]).await.ok();
        for object in NAMES.iter().filter(|n| **n != "data" && **n != "b") {
            assert!(
                w.gone(&format!("ConfigMap/{release}-{object}")).await,
                "{how}: {gone}"
            );
        }
        assert!(w.gone(&claim).await, "{how}");
        for object in &spared {
            assert!(w.exists(object).await, "{how}: {object}");
        }
    }
}

async fn a_lost_record_comes_back_from_its_records(w: World) {
    let values = |value: &str| {
        let objects = [
            config_map("a", value),
            service("web"),
            secret("creds", value),
        ];
        Module::new("web").version(value).component("app", &objects)
    };
    w.apply(&values("1.0.0"), &[]).await.ok();
    w.apply(&values("1.1.0"), &[]).await.ok();
    let before = w.record("web").await;
    w.delete_record("web").await;
    let ran = repair(&w, "web", &["--yes"]).await.ok();
    let document = ran.json();
    assert_eq!(document["secret"], "missing", "{ran}");
    assert_eq!(document["changes"].as_array().unwrap().len(), 2, "{ran}");
    assert!(
        document["changes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["source"] == "records")
    );

    let after = w.record("web").await;
    assert_eq!(after.index(), before.index(), "{ran}");
    assert_eq!(after.inventory(), before.inventory());
    // What the server answered to each object is not brought back: it is found out anew.
    let mut places = before.places();
    places.remove("63");
    assert_eq!(after.places(), places);
    for id in before.index() {
        for field in [
            "module",
            "values",
            "manifestDigest",
            "components",
            "features",
        ] {
            assert_eq!(after.data[&id][field], before.data[&id][field], "{field}");
        }
    }
    let uids = |record: &opm_e2e::DecodedRecord| {
        let entries = record.current()["inventory"]["entries"]
            .as_array()
            .unwrap()
            .clone();
        entries
            .iter()
            .map(|e| (e["name"].clone(), e["uid"].clone(), e["hash"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(uids(&after), uids(&before));
    assert_eq!(after.results()[0], "succeeded");
    // The same again is the same change, and nothing has to be sent anew.
    let again = w.apply(&values("1.1.0"), &[]).await.ok();
    assert_eq!(again.json()["firstApply"], false);
    assert_eq!(again.action("ConfigMap/a").as_deref(), Some("unchanged"));

    // Records that somebody tampered with are not believed.
    w.delete_record("web").await;
    let label = "opmodel.dev%2Fcomponent%3Drecord";
    let path = format!(
        "{}?labelSelector={label}",
        api::collection("Secret", Some(&w.ns))
    );
    let records = w.api.get(&path).await.unwrap();
    let record = &records["items"][0];
    let name = record["metadata"]["name"].as_str().unwrap();
    let path = format!("{}/{name}", api::collection("Secret", Some(&w.ns)));
    w.api
        .merge(&path, json!({"data": {"manifests": "AAAA"}}))
        .await;
    let ran = repair(&w, "web", &["--yes"])
        .await
        .ok()
        .says("damaged, and were not used");
    assert_eq!(ran.json()["changes"].as_array().unwrap().len(), 1);
    w.apply(&values("1.1.0"), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a", "Secret/creds", "Service/web"])
        .await;
}

/// The change with this value and, unless it is empty, one field more.
fn valued(value: &str, more: &str) -> Module {
    let mut a = config_map("a", value);
    if !more.is_empty() {
        a["data"]["more"] = json!(more);
    }
    let objects = [a, service("web"), secret("creds", value)];
    Module::new("web").component("app", &objects)
}

async fn change_of(w: &World, module: &Module) -> String {
    let ran = w.apply(module, &[]).await.ok();
    ran.json()["changeId"].as_str().unwrap().to_owned()
}

async fn the_change_that_is_live_is_current_after_loss(w: World) {
    // The second differs in a value; the third only lacks a field.
    let first = change_of(&w, &valued("1", "x")).await;
    let second = change_of(&w, &valued("2", "x")).await;
    let third = change_of(&w, &valued("1", "")).await;
    for live in [&first, &second, &third, &first] {
        w.opm(&["mod", "rollback", "web", "--revision", live, "--yes"])
            .await
            .ok();
        let before = w.record("web").await;
        w.delete_record("web").await;
        let ran = repair(&w, "web", &["--yes"]).await.ok();
        assert_eq!(ran.json()["current"], json!(live), "{ran}");
        assert_eq!(ran.json()["undetermined"], false, "{ran}");
        let ran = ran.says("is current: it matches the live objects");
        let after = w.record("web").await;
        assert_eq!(&after.index()[0], live, "{ran}");
        assert_eq!(after.index().len(), 3, "{ran}");
        assert_eq!(after.inventory(), before.inventory());
        assert_eq!(after.pending(), set([]), "{ran}");
        let again = repair(&w, "web", &["--yes"]).await.ok();
        assert_eq!(again.json()["needed"], false, "{again}");
    }
    w.has_no_stray_records("web").await;
}

async fn the_log_comes_back_with_the_changes(w: World) {
    w.apply(&valued("1", ""), &["-m", "the first"]).await.ok();
    w.apply(&valued("2", ""), &["-m", "the second"]).await.ok();
    w.delete_record("web").await;
    repair(&w, "web", &["--yes"]).await.ok();
    let history = w.opm(&["mod", "history", "web", "-o", "json"]).await.ok();
    let log = history.json()["log"].as_array().unwrap().clone();
    let short = |e: &Value| json!([e["command"], e["result"], e["message"], e["module"]["name"]]);
    assert_eq!(
        log.iter().map(short).collect::<Vec<_>>(),
        [
            json!(["repair", "succeeded", null, null]),
            json!(["apply", "succeeded", "the second", "web"]),
            json!(["apply", "succeeded", "the first", "web"]),
        ],
        "{history}"
    );
}

async fn where_no_change_is_live_none_is_current(w: World) {
    let first = change_of(&w, &valued("1", "")).await;
    let second = change_of(&w, &valued("2", "")).await;
    let path = format!("{}/a", api::collection("ConfigMap", Some(&w.ns)));
    w.api
        .merge(&path, json!({"data": {"k": "somebody else's"}}))
        .await;
    w.delete_record("web").await;
    let ran = repair(&w, "web", &["--yes"]).await.ok();
    assert_eq!(ran.json()["current"], Value::Null, "{ran}");
    assert_eq!(ran.json()["undetermined"], true, "{ran}");
    ran.says("no change matches the live objects, so none is recorded as current")
        .says("ConfigMap/a");
    let record = w.record("web").await;
    assert_eq!(record.index(), [""; 0]);
    assert_eq!(record.data["past"], json!([second, first]));
    assert_eq!(
        record.pending(),
        set(["ConfigMap/a", "Service/web", "Secret/creds"])
    );
    let again = repair(&w, "web", &["--yes"]).await.ok();
    assert_eq!(again.json()["needed"], false, "{again}");

    // Both can be looked at and gone back to; which one is current has to be said.
    let history = w.opm(&["mod", "history", "web", "-o", "json"]).await.ok();
    let changes = history.json()["changes"].as_array().unwrap().clone();
    assert_eq!(changes.len(), 2, "{history}");
    assert!(
        changes
            .iter()
            .all(|c| c["current"] == false && c["rollback"] == true)
    );
    w.opm(&["mod", "rollback", "web", "-o", "json"])
        .await
        .ends(2)
        .says("which change is current is not known");
    w.opm(&["mod", "rollback", "web", "--revision", &first, "--yes"])
        .await
        .ok();
    let record = w.record("web").await;
    assert_eq!(record.index(), [first, second]);
    assert!(!record.data.contains_key("past"));
    assert_eq!(record.pending(), set([]));
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
    w.has_no_stray_records("web").await;
}

async fn without_records_everything_is_pending(w: World) {
    settled(&w, "web", &["--no-record"]).await;
    w.delete_record("web").await;
    let ran = repair(&w, "web", &["--yes"]).await.ok();
    let record = w.record("web").await;
    assert_eq!(record.index(), [] as [String; 0], "{ran}");
    let expected = set([
        "ConfigMap/web-a",
        "ConfigMap/web-b",
        "PersistentVolumeClaim/web-data",
        "Secret/web-creds",
    ]);
    assert_eq!(record.pending(), expected);
    let why = record.data["pending"]["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["why"].clone());
    assert!(why.into_iter().all(|why| why == "repair"));
    let applied = w.apply(&module("web", &["a"]), &[]).await.ok();
    assert_eq!(
        applied.action("ConfigMap/web-a").as_deref(),
        Some("unchanged")
    );
    assert_eq!(applied.action("ConfigMap/web-b").as_deref(), Some("pruned"));
    assert_eq!(
        applied.action("PersistentVolumeClaim/web-data").as_deref(),
        Some("kept")
    );
    w.delete("web", &["--force-prune-pvcs"]).await.ok();
    assert_eq!(w.settled_live("web").await, [] as [String; 0]);
}

async fn a_lost_release_is_found_by_name_id_and_directory(w: World) {
    let small = module("web", &["a"]);
    let report = w.apply(&small, &[]).await.ok().json();
    let id = report["release"]["releaseId"].as_str().unwrap().to_owned();
    let dir = w.write(&small);
    for named in ["web", id.as_str(), dir.as_str()] {
        w.delete_record("web").await;
        let ran = repair(&w, named, &["--yes"]).await.ok();
        assert_eq!(ran.json()["release"]["releaseId"], id.as_str());
        w.holds_exactly("web", &["ConfigMap/web-a", "Secret/web-creds"])
            .await;
    }
    w.delete("web", &[]).await.ok();
    repair(&w, "web", &["--yes"]).await.ends(5);
    repair(&w, &dir, &["--yes"]).await.ends(5);
}

async fn repair_shows_asks_and_writes_nothing_by_itself(w: World) {
    w.apply(&module("web", &["a"]), &[]).await.ok();
    let path = record_path(&w, "web").await;
    damage(&w, "web", "index").await;
    let damaged = w.api.get(&path).await;
    // Everything else refuses, and says what helps.
    w.apply(&module("web", &["a"]), &[])
        .await
        .ends(2)
        .says("opm mod repair");
    let shown = repair(&w, "web", &["--dry-run"]).await.ok();
    assert_eq!(shown.json()["secret"], "damaged");
    assert!(
        shown.json()["findings"][0]
            .as_str()
            .unwrap()
            .contains("index"),
        "{shown}"
    );
    repair(&w, "web", &[]).await.ends(2).says("--yes");
    assert_eq!(w.api.get(&path).await, damaged, "nothing was written");
    let people = w.opm(&["mod", "repair", "web", "--yes"]).await.ok();
    people
        .says("its Secret is damaged")
        .says("`index` is not valid JSON")
        .says("is repaired");
    w.holds_exactly("web", &["ConfigMap/web-a", "Secret/web-creds"])
        .await;
}

async fn a_release_without_damage_is_left_alone(w: World) {
    settled(&w, "web", &[]).await;
    let before = w.record("web").await.secret;
    repair(&w, "web", &["--yes"])
        .await
        .ok()
        .says("nothing to repair");
    assert_eq!(w.record("web").await.secret, before);
    // Unless something carries its labels that it does not know.
    w.edit_record("web", |data| {
        let id = data["index"][0].as_str().unwrap().to_owned();
        let entries = data.get_mut(&id).unwrap()["inventory"]["entries"]
            .as_array_mut()
            .unwrap();
        entries.retain(|entry| entry["name"] != "web-b");
    })
    .await;
    let ran = repair(&w, "web", &["--yes"]).await.ok();
    assert_eq!(ran.json()["objects"][0]["name"], "web-b", "{ran}");
    assert_eq!(w.record("web").await.pending(), set(["ConfigMap/web-b"]));
    // A record that a newer version wrote is not ours to repair.
    w.edit_record("web", |data| {
        data.get_mut("metadata").unwrap()["apiVersion"] = json!("core.opmodel.dev/v9");
    })
    .await;
    repair(&w, "web", &["--yes"])
        .await
        .ends(2)
        .says("core.opmodel.dev/v9");
}

async fn repair_respects_a_lock(w: World) {
    w.apply(&module("web", &["a"]), &[]).await.ok();
    damage(&w, "web", "log").await;
    let mut data = w.raw_record("web").await;
    let lock = json!({"id": "x", "holder": "deployer", "host": "elsewhere", "pid": 1, "beat": 1});
    data.insert("lock".to_owned(), lock.to_string().into_bytes());
    w.write_raw_record("web", &data).await;
    let arguments = ["mod", "repair", "web", "--yes", "-o", "json"];
    w.opm(&arguments).await.ends(7).says("deployer");
    data.insert("lock".to_owned(), b"{\"id\":".to_vec());
    w.write_raw_record("web", &data).await;
    w.opm(&arguments).await.ends(7).says("cannot be read");
    repair(&w, "web", &["--yes", "--lock-timeout", "10m"])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/web-a", "Secret/web-creds"])
        .await;
}

async fn parts_that_had_moved_out_are_brought_back(w: World) {
    let names: Vec<String> = (0..40).map(|n| format!("map-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let small = [("OPM_RECORD_LIMIT", "4000")];
    let large = module("web", &names);
    w.apply_with(&small, &large, &[]).await.ok();
    let stored = |w: &World| {
        let (path, ns) = (api::collection("Secret", Some(&w.ns)), w.api.clone());
        async move {
            let list = ns
                .get(&format!("{path}?labelSelector=opmodel.dev%2Fcomponent"))
                .await
                .unwrap();
            list["items"].as_array().unwrap().clone()
        }
    };
    let inventory = |s: &Value| !s["data"]["inventory"].is_null();
    assert!(
        stored(&w).await.iter().any(inventory),
        "the inventory has moved"
    );

    // Damage elsewhere: the inventory is fetched, and everything is as it was.
    damage(&w, "web", "log").await;
    let ran = repair(&w, "web", &["--yes"]).await.ok();
    assert_eq!(ran.json()["objects"], json!([]), "{ran}");
    let mut kept = names.clone();
    kept.pop();
    w.apply_with(&small, &module("web", &kept), &[]).await.ok();
    assert!(w.gone("ConfigMap/web-map-39").await);

    // The inventory itself is gone: the change comes back from beside its manifests.
    let (data, path) = (w.raw_record("web").await, record_path(&w, "web").await);
    let read = |key: &str| serde_json::from_slice::<Value>(&data[key]).unwrap();
    let current = read(read("index")[0].as_str().unwrap());
    let place = &current["record"]["inventory"]["places"][0];
    let place = place.as_str().expect("it has moved again");
    w.api.delete(&format!("{path}.{place}")).await;
    w.apply(&module("web", &kept), &[])
        .await
        .ends(2)
        .says("opm mod repair");
    let ran = repair(&w, "web", &["--yes"]).await.ok();
    assert_eq!(ran.json()["changes"][0]["source"], "records", "{ran}");
    kept.pop();
    let applied = w.apply(&module("web", &kept), &[]).await.ok();
    assert_eq!(
        applied.action("ConfigMap/web-map-38").as_deref(),
        Some("pruned")
    );
    assert_eq!(
        applied.action("ConfigMap/web-map-0").as_deref(),
        Some("unchanged")
    );
    w.delete("web", &[]).await.ok();
    assert_eq!(w.settled_live("web").await, [] as [String; 0]);
}
