//! Putting a damaged record together again: what can be read stays, what cannot is replaced by
//! what is certain, and nothing foreign is taken in.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use std::collections::{BTreeMap, HashMap};

use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::labels::Owner;
use opm_core::name::{ModuleName, NamespaceName, ReleaseName};
use opm_core::record::{
    Change, SalvagedRecord, SecretParts, Stored, decode, decode_change, encode, encode_change,
    release_labels, salvage,
};
use opm_core::repair::{
    ChangeMatch, ChangeSource, FoundAs, RepairEvidence, Repaired, UnlabelledState, draft,
    needs_records,
};
use opm_core::time::Timestamp;
use serde_json::{Value, json};

const ID: &str = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de";

fn owner() -> Owner {
    Owner {
        module: ModuleName::new("web").unwrap(),
        namespace: NamespaceName::new("games").unwrap(),
        release: ReleaseName::new("web").unwrap(),
        id: ID.parse().unwrap(),
    }
}

fn id(spelled: &str) -> Identity {
    let (kind, name) = spelled.split_once('/').unwrap();
    let group = if kind == "Job" { "batch" } else { "" };
    Identity::new(GroupKind::new(group, kind), Some("games"), name)
}

/// An object as label discovery finds it.
fn live(spelled: &str) -> Entry {
    let mut entry = Entry::new(id(spelled), "v1", "app");
    entry.uid = Some(format!("uid-{spelled}"));
    entry
}

fn entry(spelled: &str, lives: bool) -> Value {
    let (kind, name) = spelled.split_once('/').unwrap();
    let group = if kind == "Job" { "batch" } else { "" };
    let mut entry = json!({"group": group, "kind": kind, "namespace": "games", "name": name,
        "v": "v1", "component": "app"});
    if lives {
        entry["uid"] = json!(format!("uid-{spelled}"));
    }
    entry
}

fn change(objects: &[&str], lives: bool, time: &str, parent: Option<&str>) -> Value {
    let entries: Vec<Value> = objects.iter().map(|o| entry(o, lives)).collect();
    let mut change = json!({"module": {"path": "local/web", "local": true, "name": "web"},
        "values": "{}", "manifestDigest": "sha256:00", "timestamp": time,
        "components": [], "inventory": {"entries": entries}});
    if let Some(parent) = parent {
        change["parent"] = json!(parent);
    }
    change
}

const NEW: &str = "change-sha1-22222222";
const OLD: &str = "change-sha1-11111111";

fn tracked(spelled: &str, why: &str) -> Value {
    let mut object = entry(spelled, true);
    object["why"] = json!(why);
    object["change"] = json!(NEW);
    object["since"] = json!("2026-02-11T14:00:00Z");
    json!({ "objects": [object] })
}

/// A record with something in every key.
fn whole() -> SecretParts {
    let metadata = json!({"kind": "ModuleRelease", "apiVersion": "core.opmodel.dev/v1alpha1",
        "name": "web", "namespace": "games", "releaseId": ID, "colour": "green",
        "lastTransitionTime": "2026-02-11T14:00:00Z"});
    let data = [
        ("metadata", metadata),
        ("index", json!([NEW, OLD])),
        (
            NEW,
            change(
                &["ConfigMap/a", "ConfigMap/b"],
                true,
                "2026-02-11T14:00:00Z",
                Some(OLD),
            ),
        ),
        (
            OLD,
            change(
                &["ConfigMap/a", "ConfigMap/old"],
                false,
                "2026-02-11T13:00:00Z",
                None,
            ),
        ),
        ("pending", tracked("ConfigMap/ghost", "create")),
        ("kept", tracked("ConfigMap/kept", "no-prune")),
        ("log", json!([{"id": "i", "result": "succeeded"}])),
        ("notes", json!("somebody else's")),
    ];
    SecretParts {
        data: data
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_string().into_bytes()))
            .collect(),
        labels: release_labels(&owner()),
        annotations: BTreeMap::new(),
    }
}

/// What is in the cluster under the release's labels: everything that `whole` knows of.
const LIVE: [&str; 4] = [
    "ConfigMap/a",
    "ConfigMap/b",
    "ConfigMap/ghost",
    "ConfigMap/kept",
];

fn repair(stored: Option<&SecretParts>, records: &[Change], labelled: &[&str]) -> Repaired {
    repair_with(stored, records, labelled, &[], &[])
}

fn repair_with(
    stored: Option<&SecretParts>,
    records: &[Change],
    labelled: &[&str],
    looks: &[(&str, UnlabelledState)],
    matching: &[&str],
) -> Repaired {
    let matches = matching
        .iter()
        .map(|id| ((*id).to_owned(), ChangeMatch::Live));
    let log = |salvaged: Option<&SalvagedRecord>| salvaged.map_or(Vec::new(), |s| s.log.clone());
    let salvaged = stored.map(salvage);
    let draft = draft(RepairEvidence {
        owner: owner(),
        log: log(salvaged.as_ref()),
        salvaged,
        kept_changes: records.to_vec(),
        matches: matches.collect(),
        labelled: labelled.iter().map(|spelled| live(spelled)).collect(),
        now: "2026-02-12T00:00:00Z".parse::<Timestamp>().unwrap(),
    });
    let looks: HashMap<Identity, UnlabelledState> =
        looks.iter().map(|(o, look)| (id(o), *look)).collect();
    let repaired = draft.reconcile(&looks);
    // Whatever was repaired can be read again, and needs no second repair.
    let written = encode(&repaired.record);
    assert_eq!(decode(&written).unwrap().findings, []);
    let salvaged = Some(salvage(&written));
    let again = self::draft(RepairEvidence {
        owner: owner(),
        log: log(salvaged.as_ref()),
        salvaged,
        kept_changes: records.to_vec(),
        matches: BTreeMap::new(),
        labelled: labelled.iter().map(|spelled| live(spelled)).collect(),
        now: "2026-02-13T00:00:00Z".parse::<Timestamp>().unwrap(),
    });
    let again = again.reconcile(&HashMap::new());
    assert!(!again.changed, "a second repair changes nothing: {again:?}");
    assert_eq!(again.record, repaired.record);
    repaired
}

/// What the record knows: inventory, pending and kept, in shorthand.
fn knows(repaired: &Repaired) -> [Vec<String>; 3] {
    let short = |entry: &Entry| format!("{}/{}", entry.identity.kind(), entry.identity.name);
    let record = &repaired.record;
    let inventory = record.inventory().iter().map(|r| short(&r.entry));
    let pending = record.pending.objects().iter().map(|o| short(&o.entry));
    let kept = record.kept.objects.iter().map(|o| short(&o.entry));
    [inventory.collect(), pending.collect(), kept.collect()]
}

fn damaged(key: &str) -> SecretParts {
    let mut secret = whole();
    let bytes = &secret.data[key];
    let cut = bytes[..bytes.len() / 2].to_vec();
    secret.data.insert(key.to_owned(), cut);
    secret
}

/// The ring's copy of a change: it knows no uids.
fn kept(change_id: &str, objects: &[&str], time: &str) -> Change {
    let value = change(objects, false, time, None);
    decode_change(change_id, value.to_string().as_bytes()).unwrap()
}

#[test]
fn a_record_without_damage_is_left_as_it_is() {
    let stored = whole();
    assert!(!needs_records(Some(&salvage(&stored))));
    let repaired = repair(Some(&stored), &[], &LIVE);
    assert!(!repaired.changed, "{repaired:?}");
    let Stored::Writable(record) = decode(&stored).unwrap().stored else {
        panic!("it can be written")
    };
    assert_eq!(repaired.record, record);
}

/// Each key damaged: what the record knows afterwards, of what it knew.
#[test]
fn each_key_damaged() {
    let table: [(&str, [&[&str]; 3], bool); 7] = [
        // key, inventory, pending, kept, whether the records are needed
        ("metadata", [&["a", "b"], &["ghost"], &["kept"]], false),
        ("index", [&["a", "b"], &["ghost"], &["kept"]], true),
        // The change before it is not what is live, so none is current, and all is pending.
        (NEW, [&[], &["ghost", "a", "b"], &["kept"]], true),
        (OLD, [&["a", "b"], &["ghost"], &["kept"]], true),
        ("pending", [&["a", "b"], &["ghost"], &["kept"]], false),
        ("kept", [&["a", "b"], &["ghost"], &["kept"]], false),
        // A copy of the log is kept beside the changes.
        ("log", [&["a", "b"], &["ghost"], &["kept"]], true),
    ];
    for (key, expected, records) in table {
        let stored = damaged(key);
        let salvaged = salvage(&stored);
        assert_eq!(needs_records(Some(&salvaged)), records, "{key}");
        let looks = [("ConfigMap/old", UnlabelledState::Absent)];
        let repaired = repair_with(Some(&stored), &[], &LIVE, &looks, &[]);
        let expected = expected.map(|names| {
            let spelled = names.iter().map(|name| format!("ConfigMap/{name}"));
            spelled.collect::<Vec<_>>()
        });
        assert_eq!(knows(&repaired), expected, "{key}");
        assert!(repaired.changed, "{key}");
        assert!(repaired.findings.iter().any(|f| f.key == key), "{key}");
        let written = encode(&repaired.record);
        assert_eq!(written.data["notes"], stored.data["notes"], "{key}");
        assert_eq!(written.data.contains_key(NEW), key != NEW);
        assert_eq!(written.data.contains_key(OLD), key != OLD);
    }
}

#[test]
fn a_damaged_lock_is_dropped_and_told_apart_from_none() {
    let mut stored = whole();
    assert!(!salvage(&stored).lock_damaged);
    stored.data.insert("lock".to_owned(), b"{\"id\": ".to_vec());
    assert!(salvage(&stored).lock_damaged);
    let repaired = repair(Some(&stored), &[], &LIVE);
    assert_eq!(repaired.record.lock, None);
    assert!(repaired.changed);
}

#[test]
fn without_records_what_is_labelled_is_pending() {
    let empty = SecretParts::default();
    for stored in [None, Some(&empty)] {
        let repaired = repair(stored, &[], &LIVE);
        assert_eq!(repaired.record.history, []);
        assert_eq!(knows(&repaired)[1], LIVE);
        let why = repaired
            .record
            .pending
            .objects()
            .iter()
            .map(|o| o.why.word());
        assert!(why.into_iter().all(|why| why == "repair"));
        assert_eq!(repaired.record.labels, release_labels(&owner()));
        assert!(repaired.changed);
    }
}

#[test]
fn a_change_comes_back_from_its_record_with_the_lives_that_are_found() {
    let records = [
        kept(
            OLD,
            &["ConfigMap/a", "ConfigMap/old"],
            "2026-02-11T13:00:00Z",
        ),
        kept(
            NEW,
            &[
                "ConfigMap/a",
                "ConfigMap/b",
                "Job/once",
                "ConfigMap/theirs",
                "ConfigMap/unseen",
            ],
            "2026-02-11T14:00:00Z",
        ),
    ];
    let looks = [
        ("Job/once", UnlabelledState::Absent),
        ("ConfigMap/theirs", UnlabelledState::Foreign),
        ("ConfigMap/unseen", UnlabelledState::Unknown),
        ("ConfigMap/b", UnlabelledState::Absent),
    ];
    let repaired = repair_with(
        None,
        &records,
        &["ConfigMap/a", "ConfigMap/ghost"],
        &looks,
        &[NEW],
    );
    let ids: Vec<&str> = repaired.changes.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, [NEW, OLD]);
    assert!(
        repaired
            .changes
            .iter()
            .all(|c| c.source == ChangeSource::Records)
    );
    let [inventory, pending, _] = knows(&repaired);
    // A Job that is done and gone must not run again; what is nobody's is nobody's.
    assert_eq!(inventory, ["ConfigMap/a", "Job/once"]);
    assert_eq!(pending, ["ConfigMap/unseen", "ConfigMap/ghost"]);
    assert_eq!(repaired.foreign, [id("ConfigMap/theirs")]);
    let uid = &repaired.record.inventory()[0].entry.uid;
    assert_eq!(uid.as_deref(), Some("uid-ConfigMap/a"));
    let taken: Vec<FoundAs> = repaired.taken.iter().map(|t| t.taken).collect();
    assert_eq!(
        taken,
        [FoundAs::Inventory, FoundAs::Pending, FoundAs::Pending]
    );
    let time = repaired.record.metadata.last_transition_time;
    assert_eq!(time.as_deref(), Some("2026-02-11T14:00:00Z"));
}

#[test]
fn a_damaged_current_change_comes_back_from_its_record() {
    let records = [kept(
        NEW,
        &["ConfigMap/a", "ConfigMap/b"],
        "2026-02-11T14:00:00Z",
    )];
    let repaired = repair(Some(&damaged(NEW)), &records, &LIVE);
    let sources: Vec<ChangeSource> = repaired.changes.iter().map(|c| c.source).collect();
    assert_eq!(sources, [ChangeSource::Records, ChangeSource::Secret]);
    assert_eq!(knows(&repaired)[0], ["ConfigMap/a", "ConfigMap/b"]);
    assert!(repaired.lost.is_empty());
}

/// Without an index: the one whose objects have uids was current. Else the one that matches the
/// live objects; of two that do, the one that was deployed last, else the newest. If none does,
/// none is current, and all are past.
#[test]
fn which_change_was_current() {
    let (none, both) = (&[][..], &[OLD, NEW][..]);
    let table = [
        // OLD has uids; the times of OLD and NEW; what is live; the log; which is current
        (true, ["13", "14"], none, none, Some(OLD)),
        (true, ["13", "14"], &[NEW], none, Some(OLD)),
        (false, ["13", "14"], &[OLD], none, Some(OLD)),
        (false, ["13", "14"], &[NEW], none, Some(NEW)),
        (false, ["13", "14"], both, none, Some(NEW)),
        (false, ["14", "13"], both, none, Some(OLD)),
        (false, ["13", "14"], both, &[OLD, NEW, OLD], Some(OLD)),
        (false, ["14", "13"], both, &[NEW, OLD], Some(NEW)),
        // What the log says does not outweigh what is live.
        (false, ["13", "14"], &[OLD], &[NEW, OLD], Some(OLD)),
        (false, ["13", "14"], none, &[NEW, OLD], None),
        (false, ["13", "14"], none, none, None),
    ];
    for (at, (lives, times, live, log, current)) in table.into_iter().enumerate() {
        let mut stored = whole();
        for ((id, hour), lives) in [OLD, NEW].iter().zip(times).zip([lives, false]) {
            let time = format!("2026-02-11T{hour}:00:00Z");
            let value = change(&["ConfigMap/a"], lives, &time, None).to_string();
            stored.data.insert((*id).to_owned(), value.into_bytes());
        }
        let deployed = |id: &&str| json!({"id": "i", "result": "succeeded", "change": id});
        let failed = json!({"id": "i", "result": "failed", "change": NEW});
        let log: Vec<Value> = [failed]
            .into_iter()
            .chain(log.iter().map(deployed))
            .collect();
        stored
            .data
            .insert("log".to_owned(), json!(log).to_string().into_bytes());
        stored.data.remove("index");
        let repaired = repair_with(Some(&stored), &[], &LIVE, &[], live);
        let record = &repaired.record;
        assert_eq!(record.current().map(|c| c.id.as_str()), current, "{at}");
        let told = repaired.changes.iter().find(|change| change.current);
        assert_eq!(told.map(|c| c.id.as_str()), current, "{at}");
        assert_eq!(repaired.undetermined, current.is_none(), "{at}");
        assert_eq!(repaired.changes.len(), 2, "{at}");
        assert_eq!(record.slots().count(), 2, "{at}");
        if current.is_none() {
            assert_eq!(knows(&repaired)[0], [""; 0]);
            assert_eq!(encode(record).data["index"], b"[]");
            let past = String::from_utf8(encode(record).data["past"].clone()).unwrap();
            assert_eq!(past, json!([NEW, OLD]).to_string());
        }
    }
}

#[test]
fn what_was_left_behind_is_not_part_of_an_older_change() {
    let mut stored = damaged(NEW);
    let pending = tracked("ConfigMap/old", "prune-failed").to_string();
    stored
        .data
        .insert("pending".to_owned(), pending.into_bytes());
    let repaired = repair_with(
        Some(&stored),
        &[],
        &["ConfigMap/a", "ConfigMap/old"],
        &[],
        &[OLD],
    );
    let [inventory, pending, _] = knows(&repaired);
    assert_eq!(inventory, ["ConfigMap/a"]);
    assert_eq!(pending, ["ConfigMap/old"]);
    assert_eq!(repaired.lost, [NEW]);
}

#[test]
fn labels_and_duplicates_are_mended() {
    let mut stored = whole();
    stored.labels.clear();
    stored.labels.insert("team".to_owned(), "red".to_owned());
    let mut twice = tracked("ConfigMap/ghost", "create");
    let object = twice["objects"][0].clone();
    twice["objects"].as_array_mut().unwrap().push(object);
    stored
        .data
        .insert("pending".to_owned(), twice.to_string().into_bytes());
    let repaired = repair(Some(&stored), &[], &LIVE);
    assert_eq!(knows(&repaired)[1], ["ConfigMap/ghost"]);
    assert_eq!(repaired.record.labels["team"], "red");
    assert_eq!(
        repaired.record.labels.len(),
        release_labels(&owner()).len() + 1
    );
}

#[test]
fn a_newer_format_is_not_ours_to_repair() {
    let mut stored = whole();
    let metadata = String::from_utf8(stored.data["metadata"].clone()).unwrap();
    let newer = metadata.replace("v1alpha1", "v9");
    stored
        .data
        .insert("metadata".to_owned(), newer.into_bytes());
    let (_, version) = salvage(&stored).foreign.unwrap();
    assert_eq!(version, "core.opmodel.dev/v9");
}

#[test]
fn a_change_is_kept_and_read_alone() {
    let value = change(&["ConfigMap/a"], false, "2026-02-11T14:00:00Z", Some(OLD));
    let read = decode_change(NEW, value.to_string().as_bytes()).unwrap();
    let again = decode_change(NEW, &encode_change(&read)).unwrap();
    assert_eq!(again, read);
    assert!(decode_change(NEW, b"{}").is_err());
}
