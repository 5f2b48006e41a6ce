//! Keeping the Secret below its limit, in the order of what a plain reader misses least.

use opm_core::record::size::{Fitted, Owner, Records, fit, limit_records};
use opm_core::record::{
    API_VERSION_MOVED, Body, Content, Held, Part, Record, RecordRef, SecretParts, Stored, Summary,
    Values, decode, decode_inventory, decode_pending, encode,
};

use crate::world::{World, id, object};

/// Three changes; each has values of this size.
fn record(values: usize) -> Record {
    let mut world = World::default();
    for short in ["CM/a", "CM/b", "CM/c"] {
        world.apply(&[short]);
    }
    world.broken.insert(id("SS/x"));
    world.apply(&["CM/c", "SS/x"]);
    let mut record = world.record().unwrap();
    for slot in &mut record.history {
        let Content::Read(change) = &mut slot.content else {
            panic!("must be readable")
        };
        change.values = Body::Here(Values("v".repeat(values)));
    }
    record
}

fn owners(fitted: &Fitted) -> Vec<String> {
    let ids: Vec<&str> = fitted
        .record
        .history
        .iter()
        .map(|slot| slot.id.as_str())
        .collect();
    let name = |owner: &Owner| match owner {
        Owner::Pending => "pending".to_owned(),
        Owner::Change(change, part) => {
            let at = ids.iter().position(|id| id == change).unwrap();
            format!("{at} {}", part.word())
        }
    };
    fitted
        .moves
        .iter()
        .map(|moved| name(&moved.owner))
        .collect()
}

fn written(record: &Record) -> SecretParts {
    encode(record)
}

#[test]
fn what_fits_is_left_alone() {
    let record = record(10);
    let fitted = fit(record.clone(), Records::Used, 800_000);
    assert_eq!(fitted.record, record);
    assert!(fitted.moves.is_empty() && fitted.notes.is_empty() && !fitted.too_large);
}

#[test]
fn things_move_in_order_and_the_last_step_changes_the_api_version() {
    let size = written(&record(1000)).size();
    let all = fit(record(1000), Records::Used, 0);
    assert_eq!(
        owners(&all),
        [
            "2 values",
            "2 inventory",
            "1 values",
            "1 inventory",
            "pending",
            "0 values",
            "0 inventory"
        ]
    );
    assert_eq!(all.record.api_version(), API_VERSION_MOVED);
    assert!(all.record.needs_bodies());
    let metadata = String::from_utf8(written(&all.record).data["metadata"].clone()).unwrap();
    assert!(
        metadata.contains("v1alpha2"),
        "a plain reader must refuse it"
    );

    let one = fit(record(1000), Records::Used, size - 500);
    assert_eq!(owners(&one), ["2 values"]);
    assert!(!one.too_large && !one.record.needs_bodies());
    assert_eq!(one.notes.len(), 1, "and it says so");
}

#[test]
fn what_moved_comes_back() {
    let before = record(1000);
    let mut fitted = fit(before.clone(), Records::Used, 0);
    for (place, moved) in fitted.moves.clone().iter().enumerate() {
        fitted.place(&moved.owner, &[place as u8], moved.payload.len() as u64);
    }
    let Stored::Writable(stored) = decode(&written(&fitted.record)).unwrap().stored else {
        panic!("it can be written");
    };
    assert_eq!(stored, fitted.record);
    for moved in &fitted.moves {
        match &moved.owner {
            Owner::Pending => {
                assert_eq!(
                    decode_pending(&moved.payload).unwrap(),
                    before.pending.objects()
                );
            }
            Owner::Change(change, Part::Inventory) => {
                let inventory = &before.change(change).unwrap().inventory;
                assert_eq!(
                    Some(&decode_inventory(&moved.payload).unwrap()),
                    inventory.here()
                );
            }
            Owner::Change(_, _) => assert_eq!(moved.payload.len(), 1000),
        }
    }
    let (summary, full) = (Summary::of(&stored), Summary::of(&before));
    assert_eq!(summary, full, "a listing sees no difference");
    assert_eq!(Summary::from_text(&summary.to_text()), Some(summary));
}

#[test]
fn a_plan_over_a_record_with_missing_parts_is_an_error() {
    use opm_core::plan::{PlanError, PlanOptions, plan, plan_delete};
    let fitted = fit(record(10), Records::Used, 0);
    let options = PlanOptions::default();
    let desired = opm_core::plan::Desired::default();
    let error = plan(&desired, Some(&fitted.record), options).unwrap_err();
    assert_eq!(error, PlanError::IncompleteRecord);
    assert_eq!(
        plan_delete(&fitted.record, options).unwrap_err(),
        PlanError::IncompleteRecord
    );
}

#[test]
fn without_records_history_gets_shorter_and_says_so() {
    let size = written(&record(1000)).size();
    let fitted = fit(record(1000), Records::Off, size - 500);
    assert_eq!(fitted.record.history.len(), 2);
    assert!(fitted.moves.is_empty());
    let note = fitted
        .record
        .current()
        .unwrap()
        .record
        .as_ref()
        .unwrap()
        .note
        .clone()
        .unwrap();
    assert!(
        note.starts_with("history was cut from 3 to 2 changes"),
        "{note}"
    );
    assert_eq!(fitted.notes, [note]);

    let fitted = fit(record(1000), Records::Off, 0);
    assert_eq!(fitted.record.history.len(), 1, "the current change stays");
    assert!(fitted.too_large, "and nobody pretends that it fits");
    let current = fitted.record.current().unwrap();
    assert_eq!(current.values, Body::InRecord);
    assert!(
        current
            .record
            .as_ref()
            .unwrap()
            .dropped
            .contains_key(&Part::Values)
    );
    assert!(
        current.inventory.here().is_some(),
        "the inventory is never dropped"
    );
}

#[test]
fn past_the_limit_of_all_records_the_oldest_manifests_go() {
    let mut record = record(10);
    for (at, slot) in record.history.iter_mut().enumerate() {
        let Content::Read(change) = &mut slot.content else {
            panic!("must be readable")
        };
        let held = Held {
            places: vec![at as u8],
            bytes: 4_000_000,
        };
        let parts = [(Part::Manifests, held)].into();
        change.record = Some(RecordRef {
            parts,
            ..RecordRef::default()
        });
    }
    let lost = limit_records(&mut record, 8_000_000);
    assert_eq!(lost, [record.history[2].id.clone()]);
    let oldest = record.change(&lost[0]).unwrap().record.clone().unwrap();
    assert!(oldest.dropped.contains_key(&Part::Manifests) && oldest.parts.is_empty());
    let lost = limit_records(&mut record, 0);
    assert_eq!(lost.len(), 1, "never the current change's");
}

#[test]
fn ten_thousand_objects_fit() {
    let objects: Vec<String> = (0..10_000)
        .map(|n| format!("CM/an-object-of-some-length-{n}"))
        .collect();
    let mut desired = crate::world::desired(&["CM/a"]);
    desired.objects = objects.iter().map(|short| object(short)).collect();
    let mut world = World::default();
    world.apply_with(&desired, &crate::world::Flags::default());
    let fitted = fit(world.record().unwrap(), Records::Used, 800_000);
    assert!(!fitted.too_large);
    assert_eq!(owners(&fitted), ["0 inventory"]);
}
