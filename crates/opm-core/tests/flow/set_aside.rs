//! Entries that cannot be objects: they stay in the record, and no plan sees them.

use opm_core::plan::{Desired, PlanOptions, plan, plan_delete};
use opm_core::record::moved::{PartOwner, put_back};
use opm_core::record::size::{Records, fit};
use opm_core::record::{Record, SecretParts, Stored, decode, encode};
use serde_json::{Value, json};

use crate::world::id;

const CHANGE: &str = "change-sha1-00000001";

fn entry(name: &str) -> Value {
    json!({"group": "", "kind": "ConfigMap", "namespace": "default", "name": name, "v": "v1",
        "component": "app", "uid": "u"})
}

fn tracked(name: &str, why: &str) -> Value {
    let mut object = entry(name);
    object["why"] = why.into();
    object["change"] = CHANGE.into();
    object["since"] = "2026-02-11T14:30:00Z".into();
    object["more"] = json!({"not": "known"});
    object
}

fn secret(inventory: &[Value], pending: &[Value], kept: &[Value]) -> SecretParts {
    let change = json!({"module": {"path": "local/web", "local": true, "name": "web"},
        "values": "{}", "manifestDigest": "sha256:00", "timestamp": "2026-02-11T14:30:00Z",
        "inventory": {"entries": inventory}});
    let data = json!({
        "metadata": {"kind": "ModuleRelease", "apiVersion": "core.opmodel.dev/v1alpha1",
            "name": "web", "namespace": "default",
            "releaseId": "ba7ef080-f6d7-5049-9ee5-a5e34cd652de"},
        "index": [CHANGE],
        CHANGE: change,
        "pending": {"objects": pending},
        "kept": {"objects": kept},
    });
    let fields = data.as_object().unwrap().iter();
    SecretParts {
        data: fields
            .map(|(key, value)| (key.clone(), value.to_string().into_bytes()))
            .collect(),
        ..SecretParts::default()
    }
}

fn record(secret: &SecretParts) -> Record {
    match decode(secret).unwrap().stored {
        Stored::Writable(record) => record,
        Stored::ReadOnly(_) => panic!("the record should be writable"),
    }
}

#[test]
fn they_are_in_no_plan_and_in_every_copy_of_the_record() {
    let before = secret(
        &[entry("a"), entry("..")],
        &[tracked("b/c", "create"), tracked("d", "create")],
        // Twice the same is damage only if it is an object.
        &[tracked("%", "guard"), tracked("%", "guard")],
    );
    let record = record(&before);
    let names: Vec<(&str, &str)> = record
        .set_aside
        .iter()
        .map(|aside| (aside.from.as_str(), aside.entry.identity.name.as_str()))
        .collect();
    let expected = [("inventory", ".."), ("pending", "b/c"), ("kept", "%")];
    assert_eq!(names, expected);

    let deleted = plan_delete(&record, PlanOptions::default()).unwrap();
    let stale: Vec<_> = deleted
        .stale
        .iter()
        .map(|one| &one.entry.identity)
        .collect();
    assert_eq!(stale.len(), 2, "{stale:?}");
    assert!(stale.contains(&&id("CM/a")) && stale.contains(&&id("CM/d")));
    let desired = Desired::default();
    let allowed = PlanOptions {
        allow_empty: true,
        ..PlanOptions::default()
    };
    assert_eq!(
        plan(&desired, Some(&record), allowed).unwrap().stale.len(),
        2
    );

    let written = encode(&record);
    let aside: Value = serde_json::from_slice(&written.data["setAside"]).unwrap();
    assert_eq!(aside[0]["from"], "inventory");
    assert_eq!(aside[0]["uid"], "u");
    assert_eq!(aside[1]["why"], "create");
    assert_eq!(aside[1]["more"], json!({"not": "known"}), "nothing is lost");
    assert_eq!(
        self::record(&written),
        record,
        "and it is read as it was written"
    );
}

#[test]
fn what_comes_back_from_record_secrets_is_looked_at_too() {
    let mut record = record(&secret(&[], &[], &[]));
    let payload = json!({"objects": [tracked("..", "create"), tracked("a", "create")]});
    put_back(
        &mut record,
        &PartOwner::Pending,
        payload.to_string().as_bytes(),
    )
    .unwrap();
    assert_eq!(record.pending.objects().len(), 1);
    assert_eq!(record.set_aside.len(), 1);
    put_back(
        &mut record,
        &PartOwner::Pending,
        payload.to_string().as_bytes(),
    )
    .unwrap();
    assert_eq!(record.set_aside.len(), 1, "once is enough");
}

#[test]
fn they_can_be_forgotten() {
    let mut record = record(&secret(&[entry("a"), entry("..")], &[], &[]));
    let forgotten = record.forget(|identity| identity.name == "..");
    assert_eq!(forgotten.len(), 1);
    assert!(record.set_aside.is_empty());
    assert_eq!(record.inventory().len(), 1);
}

#[test]
fn a_warning_names_them_and_says_why() {
    let record = record(&secret(&[entry("..")], &[], &[]));
    assert_eq!(
        record.set_aside[0].to_string(),
        "the entry \"ConfigMap\"/\"..\" in namespace \"default\" cannot be an object and is \
         set aside: its name must not be empty, '.' or '..'"
    );
}

#[test]
fn they_make_room_when_there_is_none() {
    let bad: Vec<Value> = (0..500).map(|n| entry(&format!("{n}/"))).collect();
    let record = record(&secret(&bad, &[], &[]));
    assert_eq!(record.set_aside.len(), 500);
    for records in [Records::Used, Records::Off] {
        let fitted = fit(record.clone(), records, 10_000);
        assert!(fitted.record.set_aside.is_empty() && !fitted.too_large);
        let said = |note: &String| note.contains("(500 in all)");
        assert!(fitted.notes.iter().any(said), "{:?}", fitted.notes);
    }
    let fitted = fit(record.clone(), Records::Used, 800_000);
    assert_eq!(fitted.record, record);
}
