//! Keeping the Secret below its limit, in the order of what a plain reader misses least.

use opm_core::record::moved::{missing, put_back};
use opm_core::record::room::{MAX_PLACES, give_way, make_room};
use opm_core::record::size::{FittedRecord, PartOwner, Records, fit};
use opm_core::record::{
    API_VERSION_MOVED, Body, Content, PartLocation, Record, RecordPart, RecordRef, SecretParts,
    Stored, Summary, Values, decode, encode, ring,
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
    let kept = opm_core::record::KeptObject {
        entry: opm_core::entry::Entry::new(id("SS/kept"), "v1", "app"),
        why: opm_core::record::KeptWhy::NoPrune,
        change: String::new(),
        since: String::new(),
        reason: None,
        extra: opm_core::record::Extra::default(),
    };
    let mut record = world.record().unwrap();
    record.kept.objects.push(kept);
    for slot in &mut record.history {
        let Content::Read(change) = &mut slot.content else {
            panic!("must be readable")
        };
        change.values = Body::Here(Values("v".repeat(values)));
    }
    record
}

fn owners(fitted: &FittedRecord) -> Vec<String> {
    let ids: Vec<&str> = fitted
        .record
        .history
        .iter()
        .map(|slot| slot.id.as_str())
        .collect();
    let name = |owner: &PartOwner| match owner {
        PartOwner::Pending | PartOwner::Kept => owner.word().to_owned(),
        PartOwner::Change(change, part) => {
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
            "kept",
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
    assert!(one.notes.is_empty(), "nothing had to give way for good");
}

#[test]
fn what_moved_comes_back() {
    let before = record(1000);
    let mut fitted = fit(before.clone(), Records::Used, 0);
    let mut secrets = Vec::new();
    for moved in std::mem::take(&mut fitted.moves) {
        let held = PartLocation {
            places: vec![secrets.len() as u8],
            bytes: moved.payload.len() as u64,
            hash: Some(opm_core::digest::ObjectHash::of_bytes(&moved.payload)),
        };
        fitted.place(&moved.owner, held);
        secrets.push(moved);
    }
    let Stored::Writable(stored) = decode(&written(&fitted.record)).unwrap().stored else {
        panic!("it can be written");
    };
    assert_eq!(stored, fitted.record);
    assert_eq!(ring::named(&stored).len(), secrets.len());
    let (summary, full) = (Summary::of(&stored), Summary::of(&before));
    assert_eq!(summary, full, "a listing sees no difference");
    assert_eq!(Summary::from_text(&summary.to_text()), Some(summary));

    // What a plan needs comes first, and is enough for one.
    let mut whole = stored;
    for (owner, held) in missing(&whole) {
        let payload = &secrets[usize::from(held.places[0])].payload;
        put_back(&mut whole, &owner, payload).unwrap();
    }
    assert!(!whole.needs_bodies() && missing(&whole).is_empty());
    assert_eq!(whole.inventory(), before.inventory());
    assert_eq!(
        (&whole.pending, &whole.kept),
        (&before.pending, &before.kept)
    );
    // The rest can come back too, and then everything is as it was.
    for moved in &secrets {
        put_back(&mut whole, &moved.owner, &moved.payload).unwrap();
    }
    assert_eq!(whole, before);
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

    let mut large = record(1000);
    large
        .unknown
        .insert("theirs".to_owned(), vec![0; 1_000_000]);
    let fitted = fit(large, Records::Off, 0);
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
            .contains_key(&RecordPart::Values)
    );
    assert!(
        current.inventory.here().is_some(),
        "the inventory is never dropped"
    );
}

/// Three changes whose manifests are this large and take so many places each; the newest first.
fn with_manifests(bytes: u64, places: u8) -> Record {
    let mut record = record(10);
    for (at, slot) in record.history.iter_mut().enumerate() {
        let Content::Read(change) = &mut slot.content else {
            panic!("must be readable")
        };
        let first = at as u8 * places;
        let held = PartLocation {
            places: (first..first + places).collect(),
            bytes,
            ..PartLocation::default()
        };
        let parts = [(RecordPart::Manifests, held)].into();
        change.record = Some(RecordRef {
            parts,
            ..RecordRef::default()
        });
    }
    record
}

/// Of which changes the manifests are still there, and which say that they are not.
fn with_and_without(record: &Record) -> (Vec<usize>, Vec<usize>) {
    let of = |has: &dyn Fn(&RecordRef) -> bool| {
        let changes = record.changes().enumerate();
        changes
            .filter(|(_, change)| change.record.as_ref().is_some_and(has))
            .map(|(at, _)| at)
            .collect()
    };
    (
        of(&|held| held.parts.contains_key(&RecordPart::Manifests)),
        of(&|held| held.dropped.contains_key(&RecordPart::Manifests)),
    )
}

#[test]
fn the_oldest_manifests_make_room_and_never_the_current_ones() {
    const MB: u64 = 1_000_000;
    for (bytes, places, pending, there, dropped) in [
        (MB, 1, 0, vec![0, 1, 2], vec![]),
        (4 * MB, 1, 0, vec![0, 1], vec![2]),
        (5 * MB, 1, 0, vec![0], vec![1, 2]),
        (9 * MB, 1, 0, vec![0], vec![1, 2]), // the current change keeps its own
        (2 * MB, 1, 3 * MB, vec![0, 1], vec![2]), // pending counts as well
        (10, 16, 0, vec![0, 1, 2], vec![]),
        (10, 17, 0, vec![0, 1], vec![2]), // more than 48 places
    ] {
        let mut record = with_manifests(bytes, places);
        record.pending.held = (pending > 0).then(|| PartLocation {
            bytes: pending,
            ..PartLocation::default()
        });
        make_room(&mut record);
        let case = (bytes, places, pending);
        assert_eq!(with_and_without(&record), (there, dropped), "{case:?}");
        assert!(ring::named(&record).len() <= MAX_PLACES);
    }
}

#[test]
fn what_gives_way_first() {
    let mut record = with_manifests(10, 1);
    for (changes, there) in [
        (3, vec![0, 1]),
        (3, vec![0]),
        (2, vec![0]), // now whole changes go
        (1, vec![0]),
    ] {
        assert!(give_way(&mut record));
        let (with, _) = with_and_without(&record);
        assert_eq!((record.history.len(), with), (changes, there));
    }
    assert!(!give_way(&mut record), "the current change stays");
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
