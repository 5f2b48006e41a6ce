#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tests fail loudly, and read better with values"
)]

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::*;
use crate::api_error::{ApiError, ApiErrorKind};
use crate::identity::GroupKind;
use crate::takeover::RetiredManagers;

const ID: &str = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de";
const OTHER: &str = "00000000-0000-5000-8000-000000000000";

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn entry(kind: &str, name: &str) -> Entry {
    let group = match kind {
        "Job" => "batch",
        _ => "",
    };
    let identity = Identity::new(GroupKind::new(group, kind), Some("games"), name);
    let mut entry = Entry::new(identity, "v1", "app");
    entry.uid = Some("1".to_owned());
    entry
}

fn map(uid: &str, labelled: &str, manager: &str) -> Observation<ReadObject> {
    let object = object(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "uid": uid, "creationTimestamp": "2026-01-02T00:00:00Z",
            "labels": {"module-release.opmodel.dev/uuid": labelled},
            "managedFields": [{"manager": manager, "operation": "Apply", "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {"f:k": {}}}}]},
        "data": {"k": "1"}}));
    Observation::Present(ReadObject {
        object: PackedObject::new(&object),
        whole: true,
    })
}

fn judged(
    entry: Entry,
    observation: Option<&Observation<ReadObject>>,
    applied: Option<&Value>,
) -> ObjectStatus {
    let applied = applied.map(|value| PackedObject::new(&object(value.clone())));
    let release = ID.parse().unwrap();
    let evidence = ObjectEvidence {
        release: &release,
        observation,
        applied: applied.as_ref(),
        sent: None,
        pods: None,
        retired: &RetiredManagers::default(),
    };
    judge(entry, evidence)
}

#[test]
fn an_object_is_at_the_change_that_it_was_brought_to() {
    let rendered = |value: &str| {
        object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"k": value}}),
        )
    };
    let live = |value: &str, owner: &str| {
        let fields = json!({"f:data": {"f:k": {}}});
        let mut live = rendered(value);
        live["metadata"]["managedFields"] = json!([{"manager": owner, "operation": "Apply",
            "apiVersion": "v1", "fieldsV1": fields}]);
        Observation::Present(ReadObject {
            object: PackedObject::new(&live),
            whole: true,
        })
    };
    let release = ID.parse().unwrap();
    let packed = |value| PackedObject::new(&rendered(value));
    let (old, new) = (packed("1"), packed("2"));
    let table = [
        // live, owner, whether what was sent is kept: unrecorded, drifted
        ("1", "opm", true, false, false),
        ("2", "opm", true, true, false),
        ("2", "opm", false, true, false),
        ("1", "opm", false, false, false),
        ("3", "kubectl", true, false, true),
        ("3", "kubectl", false, false, true),
    ];
    for (value, owner, kept, unrecorded, drifted) in table {
        let observation = live(value, owner);
        let evidence = ObjectEvidence {
            release: &release,
            observation: Some(&observation),
            applied: Some(&old),
            sent: Some(SentSince {
                change: "change-2",
                object: kept.then_some(&new),
            }),
            pods: None,
            retired: &RetiredManagers::default(),
        };
        let found = judge(entry("ConfigMap", "a"), evidence);
        let what = format!("{value} by {owner}, kept: {kept}");
        assert_eq!(found.unrecorded.is_some(), unrecorded, "{what}");
        assert_eq!(found.is_drifted(), drifted, "{what}");
    }
}

#[test]
fn a_look_decides_and_a_failed_one_is_unknown() {
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "1"}});
    let hidden = Observation::Failed(ApiError::local(
        ApiErrorKind::Forbidden,
        "configmaps \"a\" is forbidden",
    ));
    for (sight, word, drifted) in [
        (Some(map("1", ID, "opm")), "Ready", false),
        (Some(Observation::Absent), "Missing", false),
        (Some(hidden), "Unknown", false),
        (None, "Unknown", false),
        // Deleted and made again by somebody; by opm itself; and taken over.
        (Some(map("2", ID, "kubectl")), "Ready", true),
        (Some(map("2", ID, "opm")), "Ready", false),
        (Some(map("1", OTHER, "opm")), "Ready", false),
    ] {
        let status = judged(entry("ConfigMap", "a"), sight.as_ref(), Some(&applied));
        assert_eq!(status.word(), word, "{sight:?}");
        assert_eq!(status.is_drifted(), drifted, "{sight:?}");
        assert_eq!(
            status.has_strayed(),
            drifted || word == "Missing",
            "{sight:?}"
        );
    }
}

#[test]
fn another_release_s_object_is_transferred_and_no_part_of_this_one() {
    let sight = map("1", OTHER, "opm");
    let status = judged(entry("ConfigMap", "a"), Some(&sight), None);
    assert!(matches!(&status.presence, Presence::Transferred(to) if to.id == OTHER));
    assert_eq!(by_component(vec![status]), []);
}

#[test]
fn a_job_that_removed_itself_is_complete() {
    let with_ttl =
        json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"ttlSecondsAfterFinished": 0}});
    let without = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {}});
    let foreign = json!({"apiVersion": "example.com/v1", "kind": "Job", "spec": {"ttlSecondsAfterFinished": 1}});
    for (applied, word) in [
        (with_ttl, "Ready"),
        (without, "Missing"),
        (foreign, "Missing"),
    ] {
        let status = judged(
            entry("Job", "j"),
            Some(&Observation::Absent),
            Some(&applied),
        );
        assert_eq!(status.word(), word, "{applied}");
    }
    let unknown = judged(entry("Job", "j"), Some(&Observation::Absent), None);
    assert_eq!(
        unknown.word(),
        "Missing",
        "nobody knows that it had a time to live"
    );
}

#[test]
fn metadata_alone_never_claims_drift() {
    let Observation::Present(ReadObject { object, .. }) = map("1", ID, "opm") else {
        panic!("it is there");
    };
    let mut object = object.unpack();
    object.remove("data");
    object["metadata"]["managedFields"][0]["fieldsV1"] = json!({});
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "1"}});
    let sight = Observation::Present(ReadObject {
        object: PackedObject::new(&object),
        whole: false,
    });
    let status = judged(entry("ConfigMap", "a"), Some(&sight), Some(&applied));
    assert!(!status.is_drifted());
}

#[test]
fn a_component_is_as_its_worst_object() {
    let status = |component: &str, name: &str, health: Health| {
        let mut entry = entry("ConfigMap", name);
        entry.component = component.to_owned();
        ObjectStatus {
            entry,
            presence: Presence::There,
            health,
            drift: Vec::new(),
            leftovers: Vec::new(),
            unrecorded: None,
        }
    };
    let components = by_component(vec![
        status("db", "a", Health::ready()),
        status("app", "b", Health::progressing("x")),
        status("db", "c", Health::unknown("x")),
        status("app", "d", Health::ready()),
    ]);
    let told: Vec<(&str, HealthState, usize)> = components
        .iter()
        .map(|c| (c.name.as_str(), c.health, c.objects.len()))
        .collect();
    assert_eq!(
        told,
        [
            ("db", HealthState::Unknown, 2),
            ("app", HealthState::Progressing, 2)
        ]
    );
    assert_eq!(overall(&components), HealthState::Unknown);
    assert_eq!(overall(&[]), HealthState::Ready);
}

#[test]
fn what_the_record_knows_is_no_orphan() {
    let (a, b, c) = (
        entry("ConfigMap", "a"),
        entry("ConfigMap", "b"),
        entry("Secret", "c"),
    );
    let known = BTreeSet::from([&a.identity]);
    let found = vec![c.clone(), b.clone(), a.clone(), b.clone()];
    assert_eq!(orphans(found, &known), [b, c]);
}

#[test]
fn what_is_not_ready_beats_what_has_strayed() {
    use HealthState::{Degraded, Failed, Progressing, Ready, Unknown};
    let there = |state: HealthState, drifted: bool| ObjectStatus {
        entry: entry("ConfigMap", "a"),
        presence: Presence::There,
        health: Health {
            state,
            message: String::new(),
        },
        drift: match drifted {
            true => vec![FieldDrift {
                field: "data.k".to_owned(),
                by: None,
                at: None,
            }],
            false => Vec::new(),
        },
        leftovers: Vec::new(),
        unrecorded: None,
    };
    let but = |presence: Presence, object: ObjectStatus| ObjectStatus { presence, ..object };
    for (objects, orphans, pending, expected) in [
        (vec![], 0, 0, Verdict::Fine),
        (vec![there(Ready, false)], 0, 0, Verdict::Fine),
        (vec![there(Ready, true)], 0, 0, Verdict::Strayed),
        (vec![there(Ready, false)], 1, 0, Verdict::Strayed),
        (vec![there(Ready, false)], 0, 1, Verdict::Strayed),
        (vec![there(Progressing, false)], 0, 0, Verdict::NotReady),
        (vec![there(Degraded, false)], 0, 0, Verdict::NotReady),
        (
            vec![there(Failed, false), there(Ready, true)],
            1,
            1,
            Verdict::NotReady,
        ),
        (
            vec![but(Presence::Missing, there(Degraded, false))],
            0,
            0,
            Verdict::Strayed,
        ),
        (
            vec![but(Presence::Hidden, there(Unknown, false))],
            0,
            0,
            Verdict::Fine,
        ),
        (
            vec![but(Presence::Completed, there(Ready, false))],
            0,
            0,
            Verdict::Fine,
        ),
    ] {
        let verdict = Verdict::of(&objects, orphans, pending);
        assert_eq!(verdict, expected, "{objects:?} {orphans} {pending}");
    }
}
