//! History: overwrite, move to front, cap.

use std::collections::BTreeSet;

use opm_core::record::{Content, PartLocation, RecordPart, RecordRef, ring};

use crate::world::{World, new_record};

fn world_of(applies: &[&str], max_history: usize) -> World {
    let mut world = World {
        max_history,
        ..World::default()
    };
    for short in applies {
        world.apply(&[short]);
    }
    world
}

#[test]
fn the_oldest_changes_and_their_keys_go() {
    let world = world_of(&["CM/a", "CM/b", "CM/c", "CM/d"], 2);
    assert_eq!(world.index().len(), 2);
    let keys = world.secret.as_ref().unwrap().data.keys();
    assert_eq!(keys.filter(|key| key.starts_with("change-")).count(), 2);
}

#[test]
fn the_current_change_never_goes() {
    for max in [0, 1] {
        let world = world_of(&["CM/a", "CM/b"], max);
        assert_eq!(world.index().len(), 1);
        assert!(world.record().unwrap().current().is_some());
    }
}

#[test]
fn a_change_remembers_its_parent() {
    let world = world_of(&["CM/a", "CM/b", "CM/b"], 10);
    let record = world.record().unwrap();
    let (b, a) = (record.current().unwrap(), &record.history[1].id);
    assert_eq!(
        b.parent.as_ref(),
        Some(a),
        "applying it again changes nothing"
    );
    let world = world_of(&["CM/a", "CM/b", "CM/a"], 10);
    let record = world.record().unwrap();
    assert_eq!(
        record.current().unwrap().parent,
        Some(record.history[1].id.clone())
    );
}

#[test]
fn only_the_current_change_knows_uids() {
    let world = world_of(&["CM/a", "CM/b"], 10);
    let record = world.record().unwrap();
    assert!(record.current().unwrap().entries()[0].entry.uid.is_some());
    let Content::Read(older) = &record.history[1].content else {
        panic!("must be readable")
    };
    assert!(older.entries()[0].entry.uid.is_none());
}

#[test]
fn dropped_changes_give_their_places_back() {
    let world = world_of(&["CM/a", "CM/b", "CM/c"], 10);
    let mut record = world.record().unwrap();
    for (place, slot) in record.history.iter_mut().enumerate() {
        let Content::Read(change) = &mut slot.content else {
            panic!("must be readable")
        };
        let held = PartLocation {
            places: vec![place as u8, 40 + place as u8],
            bytes: 5,
            ..PartLocation::default()
        };
        let parts = [(RecordPart::Manifests, held)].into();
        change.record = Some(RecordRef {
            parts,
            ..RecordRef::default()
        });
    }
    assert_eq!(ring::named(&record), BTreeSet::from([0, 1, 2, 40, 41, 42]));
    let mut next = record.current().unwrap().clone();
    next.id = "change-sha1-next".into();
    next.record = None;
    let dropped = record.push_change(next, 2);
    assert_eq!(dropped.changes.len(), 2);
    assert_eq!(dropped.places, BTreeSet::from([1, 2, 41, 42]));
}

#[test]
fn the_ring_is_allocated_from_its_lowest_free_places_all_or_nothing() {
    let taken: BTreeSet<u8> = (0..62).filter(|place| *place != 7).collect();
    assert_eq!(ring::allocate(2, &taken), Some(vec![7, 62]));
    assert_eq!(ring::allocate(3, &taken), Some(vec![7, 62, 63]));
    assert_eq!(ring::allocate(4, &taken), None);
    assert_eq!(ring::allocate(0, &taken), Some(vec![]));
}

#[test]
fn payloads_are_split_and_put_together_again() {
    for size in [
        0,
        1,
        ring::MAX_SECRET_BYTES,
        ring::MAX_SECRET_BYTES + 1,
        2_500_000,
    ] {
        let payload = vec![7_u8; size];
        let pieces: Vec<&[u8]> = ring::pieces(&payload).collect();
        assert_eq!(pieces.len(), ring::places_needed(size), "{size}");
        assert!(
            pieces
                .iter()
                .all(|piece| piece.len() <= ring::MAX_SECRET_BYTES)
        );
        assert_eq!(pieces.concat(), payload);
    }
}

#[test]
fn a_record_names_the_places_of_its_pending_objects() {
    let mut record = new_record();
    record.pending.held = Some(PartLocation {
        places: vec![3],
        ..PartLocation::default()
    });
    assert_eq!(ring::named(&record), BTreeSet::from([3]));
}

#[test]
fn the_log_holds_fifty_deployments() {
    let mut world = World::default();
    for _ in 0..60 {
        world.apply(&["CM/a"]);
    }
    let log = world.record().unwrap().log;
    assert_eq!(log.len(), 50);
    assert!(log.iter().all(|entry| entry.result.word() == "succeeded"));
    assert!(log[0].time > log[49].time, "newest first");
}

#[test]
fn forgetting_stops_tracking_everywhere() {
    let mut world = world_of(&["CM/a"], 10);
    world.broken.insert(crate::world::id("SS/x"));
    world.apply(&["CM/a", "CM/p", "SS/x"]);
    let mut record = world.record().unwrap();
    let forgotten = record.forget(|identity| identity.name == "a" || identity.name == "p");
    assert_eq!(forgotten.len(), 2);
    assert!(record.inventory().is_empty());
    assert_eq!(record.pending.objects().len(), 1, "only x is left");
}
