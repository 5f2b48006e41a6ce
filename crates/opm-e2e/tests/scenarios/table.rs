//! The ownership table, each cell of it, namespaced and cluster-scoped: whose label an object
//! carries, whether its uid is the recorded one, and whether `opm` is among its appliers.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use opm_e2e::objects::{cluster_role, config_map};
use opm_e2e::{Module, World, api, note, scenarios};
use serde_json::{Value, json};

scenarios! {
    each_cell_decides_over_applying_and_pruning,
    each_cell_decides_over_deleting,
    each_cell_decides_over_pruning_what_was_kept,
}

const UUID: &str = "module-release.opmodel.dev/uuid";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Label {
    ThisRelease,
    OtherRelease,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Uid {
    AsRecorded,
    Different,
    NotRecorded,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Owner {
    ThisRelease,
    OtherRelease,
    Unowned,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    label: Label,
    uid: Uid,
    applied: bool,
}

impl Cell {
    fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for label in [Label::ThisRelease, Label::OtherRelease, Label::None] {
            for uid in [Uid::AsRecorded, Uid::Different, Uid::NotRecorded] {
                cells.extend([true, false].map(|applied| Self {
                    label,
                    uid,
                    applied,
                }));
            }
        }
        cells
    }

    /// As the documents have it, told once more and independently.
    fn owner(self) -> Owner {
        match (self.label, self.uid, self.applied) {
            (Label::ThisRelease, _, _) | (Label::None, Uid::AsRecorded, true) => Owner::ThisRelease,
            (Label::OtherRelease, _, _) => Owner::OtherRelease,
            (Label::None, _, _) => Owner::Unowned,
        }
    }

    /// A record that knows only RFC-0001 has no uids; there the inventory decides.
    fn may_be_applied(self) -> bool {
        match self.owner() {
            Owner::ThisRelease => true,
            Owner::OtherRelease => false,
            Owner::Unowned => self.uid == Uid::NotRecorded,
        }
    }
}

/// One object in one cell.
#[derive(Debug, Clone)]
struct StagedObject {
    cell: Cell,
    spelled: String,
    object: Value,
}

/// An object of each kind in each cell.
fn objects(w: &World, stem: &str) -> Vec<StagedObject> {
    let mut staged = Vec::new();
    for (at, cell) in Cell::all().into_iter().enumerate() {
        let name = format!("{stem}-{at:02}");
        let role = w.name(&name);
        for object in [config_map(&name, "1"), cluster_role(&role)] {
            let kind = object["kind"].as_str().unwrap();
            let spelled = format!("{kind}/{}", object["metadata"]["name"].as_str().unwrap());
            staged.push(StagedObject {
                cell,
                spelled,
                object,
            });
        }
    }
    staged
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

fn manifests<'a>(staged: impl IntoIterator<Item = &'a StagedObject>) -> Vec<Value> {
    staged.into_iter().map(|one| one.object.clone()).collect()
}

/// Brings an object that the release applied into its cell, by other hands.
async fn stage(w: &World, one: &StagedObject) {
    let path = api::object(&one.spelled, &w.ns);
    let labels = w.get(&one.spelled).await.unwrap()["metadata"]["labels"].clone();
    let labels = match one.cell.label {
        Label::ThisRelease => labels,
        Label::OtherRelease => {
            let mut labels = labels;
            labels[UUID] = json!("5112a79a-7e9f-5373-81fb-304f11762d33");
            labels["module-release.opmodel.dev/name"] = json!("rival");
            labels
        }
        Label::None => json!({}),
    };
    let mut wanted = one.object.clone();
    wanted["metadata"]["labels"] = labels.clone();
    match (one.cell.uid, one.cell.applied) {
        (Uid::Different, true) => {
            w.api.delete(&path).await;
            let url = format!("{path}?fieldManager=opm&force=true");
            let apply = "application/apply-patch+yaml";
            let (status, body) = w.api.send(Method::PATCH, &url, apply, Some(&wanted)).await;
            assert_eq!(status, 201, "{body}");
        }
        (Uid::Different, false) => {
            w.api.delete(&path).await;
            w.api.create(&w.ns, &wanted).await;
        }
        (Uid::AsRecorded | Uid::NotRecorded, applied) => {
            let labels = match one.cell.label {
                Label::None => Value::Null,
                _ => labels,
            };
            w.api
                .merge(&path, json!({"metadata": {"labels": labels}}))
                .await;
            if !applied {
                let wiped = json!({"metadata": {"managedFields": [{}]}});
                w.api.merge(&path, wiped).await;
            }
        }
    }
}

async fn stage_all(w: &World, staged: &[StagedObject]) {
    for one in staged {
        stage(w, one).await;
    }
    let without: BTreeSet<&str> = staged
        .iter()
        .filter(|one| one.cell.uid == Uid::NotRecorded)
        .map(|one| one.spelled.as_str())
        .collect();
    w.edit_record("web", |data| {
        let current = data["index"][0].as_str().unwrap().to_owned();
        strip_uids(
            &mut data.get_mut(&current).unwrap()["inventory"]["entries"],
            &without,
        );
        if let Some(kept) = data.get_mut("kept") {
            strip_uids(&mut kept["objects"], &without);
        }
    })
    .await;
}

fn strip_uids(entries: &mut Value, of: &BTreeSet<&str>) {
    for entry in entries.as_array_mut().into_iter().flatten() {
        let text = |key: &str| entry[key].as_str().unwrap();
        let spelled = format!("{}/{}", text("kind"), text("name"));
        if of.contains(spelled.as_str()) {
            entry.as_object_mut().unwrap().remove("uid");
        }
    }
}

/// What there is of these objects, to the last version.
async fn seen(w: &World, staged: &[StagedObject]) -> BTreeMap<String, Option<Value>> {
    let mut seen = BTreeMap::new();
    for one in staged {
        seen.insert(one.spelled.clone(), w.get(&one.spelled).await);
    }
    seen
}

async fn each_cell_decides_over_applying_and_pruning(w: World) {
    let anchor = config_map("anchor", "1");
    let (kept, dropped) = (objects(&w, "again"), objects(&w, "stale"));
    let all: Vec<StagedObject> = [kept.clone(), dropped.clone()].concat();
    let everything = [manifests(&all), vec![anchor.clone()]].concat();
    w.apply(&web(&everything), &[]).await.ok();
    stage_all(&w, &all).await;
    let before = seen(&w, &all).await;

    // Rendered again, all of them: refused with every reason, and nothing is touched.
    let again = [manifests(&kept), vec![anchor.clone()]].concat();
    let refused = w.apply(&web(&again), &[]).await.ends(2);
    let named: BTreeSet<String> = refused.json()["error"]["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| {
            format!(
                "{}/{}",
                o["kind"].as_str().unwrap(),
                o["name"].as_str().unwrap()
            )
        })
        .collect();
    let expected = kept.iter().filter(|one| !one.cell.may_be_applied());
    let expected: BTreeSet<String> = expected.map(|one| one.spelled.clone()).collect();
    assert_eq!(named, expected, "{refused}");
    assert_eq!(seen(&w, &all).await, before, "a refusal touches nothing");

    // Those that may be applied, and all others stale.
    let allowed: Vec<StagedObject> = kept
        .iter()
        .filter(|one| one.cell.may_be_applied())
        .cloned()
        .collect();
    let module = web(&[manifests(&allowed), vec![anchor]].concat());
    w.apply(&module, &[]).await.ok();
    let after = seen(&w, &all).await;
    let record = w.record("web").await;
    for one in &allowed {
        let live = after[&one.spelled]
            .as_ref()
            .unwrap_or_else(|| panic!("{one:?} is gone"));
        let old = before[&one.spelled].as_ref().unwrap();
        assert_eq!(live["metadata"]["uid"], old["metadata"]["uid"], "{one:?}");
        assert!(record.inventory().contains(&one.spelled), "{one:?}");
        assert!(live["metadata"]["labels"][UUID].is_string(), "{one:?}");
    }
    let stale = dropped
        .iter()
        .chain(kept.iter().filter(|one| !one.cell.may_be_applied()));
    let mut spared = 0;
    for one in stale {
        let (old, now) = (&before[&one.spelled], &after[&one.spelled]);
        let in_kept = record.kept().contains(&one.spelled);
        assert!(!record.inventory().contains(&one.spelled), "{one:?}");
        match one.cell.owner() {
            Owner::ThisRelease => assert!(now.is_none() && !in_kept, "{one:?}"),
            Owner::OtherRelease => assert!(now == old && !in_kept, "{one:?}"),
            Owner::Unowned => assert!(now == old && in_kept, "{one:?}"),
        }
        spared += usize::from(one.cell.owner() != Owner::ThisRelease);
    }
    assert!(record.pending().is_empty());
    note(&format!(
        "ownership table: {} objects applied or pruned, {spared} foreign ones, 0 touched",
        all.len()
    ));
}

async fn each_cell_decides_over_deleting(w: World) {
    let all = objects(&w, "cell");
    w.apply(&web(&manifests(&all)), &[]).await.ok();
    stage_all(&w, &all).await;
    let before = seen(&w, &all).await;
    w.delete("web", &[]).await.ok();
    assert!(w.find_record("web").await.is_none());
    let after = seen(&w, &all).await;
    for one in &all {
        let (old, now) = (&before[&one.spelled], &after[&one.spelled]);
        match one.cell.owner() {
            Owner::ThisRelease => assert!(now.is_none(), "{one:?}"),
            Owner::OtherRelease | Owner::Unowned => assert_eq!(now, old, "{one:?}"),
        }
    }
}

async fn each_cell_decides_over_pruning_what_was_kept(w: World) {
    let anchor = config_map("anchor", "1");
    let all = objects(&w, "kept");
    w.apply(&web(&[manifests(&all), vec![anchor.clone()]].concat()), &[])
        .await
        .ok();
    w.apply(&web(&[anchor]), &["--no-prune"]).await.ok();
    assert_eq!(w.record("web").await.kept().len(), all.len());
    stage_all(&w, &all).await;
    let before = seen(&w, &all).await;
    w.opm(&["mod", "prune", "web", "--all", "--yes", "-o", "json"])
        .await
        .ok();
    let (after, record) = (seen(&w, &all).await, w.record("web").await);
    for one in &all {
        let (old, now) = (&before[&one.spelled], &after[&one.spelled]);
        let in_kept = record.kept().contains(&one.spelled);
        match one.cell.owner() {
            Owner::ThisRelease => assert!(now.is_none() && !in_kept, "{one:?}"),
            Owner::OtherRelease => assert!(now == old && !in_kept, "{one:?}"),
            Owner::Unowned => assert!(now == old && in_kept, "{one:?}"),
        }
    }
    assert_eq!(record.inventory(), opm_e2e::set(["ConfigMap/anchor"]));
    assert!(record.pending().is_empty());
}
