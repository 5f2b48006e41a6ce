//! Deleted releases that keep something: what stays of the record, and when it goes.

use std::time::Duration;

use opm_core::plan::{PlanOptions, plan_prune_kept};
use opm_core::protocol::{LockObservation, LockState, Released, Timing, begin};
use opm_core::record::{Body, LogResult, PendingObject, PendingWhy, Record, ReleaseState};

use crate::world::{Flags, World, id, lock};

fn deleted() -> World {
    let mut world = World::default();
    world.apply(&["CM/a", "PVC/data"]);
    world.delete(None, &Flags::default());
    world
}

#[test]
fn a_delete_that_keeps_something_leaves_a_deleted_release() {
    let world = deleted();
    let record = world.record().expect("it stays");
    assert_eq!(record.metadata.state, ReleaseState::Deleted);
    assert!(record.history.is_empty() && record.inventory().is_empty());
    assert!(record.pending.objects().is_empty() && record.lock.is_none());
    assert_eq!(record.kept.objects[0].entry.identity, id("PVC/data"));
    assert_eq!(record.log[0].command, "delete");
    assert_eq!(record.log[0].result, LogResult::Succeeded);
    assert!(record.metadata.last_transition_time.is_some());
}

#[test]
fn the_next_recorded_change_takes_it_up() {
    let mut world = deleted();
    world.broken.insert(id("CM/b"));
    world.apply(&["CM/b", "PVC/data"]);
    assert!(world.record().unwrap().is_deleted(), "nothing is recorded");
    world.broken.clear();
    world.apply(&["CM/b", "PVC/data"]);
    let record = world.record().unwrap();
    assert_eq!(record.metadata.state, ReleaseState::Live);
    assert_eq!(record.inventory().len(), 2);
    assert!(record.kept.objects.is_empty());
}

/// While a release is deleted, a history that it keeps says nothing about what is there.
#[test]
fn the_inventory_of_a_deleted_release_counts_as_empty() {
    let mut world = World::default();
    world.apply(&["CM/a"]);
    let mut record = world.record().unwrap();
    record.metadata.state = ReleaseState::Deleted;
    assert!(record.inventory().is_empty() && record.current().is_some());
    assert!(record.forget(|_| true).is_empty(), "it is not tracked");
    assert_eq!(record.change(&world.index()[0]).unwrap().entries().len(), 1);
}

#[test]
fn a_component_of_a_deleted_release_cannot_be_deleted() {
    let record = deleted().record().unwrap();
    let plan = opm_core::plan::plan_delete_component(&record, "app", PlanOptions::default());
    assert!(plan.is_err());
}

fn pending(late: bool) -> PendingObject {
    PendingObject {
        entry: opm_core::entry::Entry::new(id("CM/ghost"), "v1", "app"),
        why: PendingWhy::Create,
        change: String::new(),
        since: String::new(),
        reason: None,
        late,
        extra: opm_core::record::Extra::default(),
    }
}

/// One thing that a record says besides, and whether pruning the last kept object removes it.
type Case = (&'static str, fn(&mut Record, &World), bool);

#[test]
fn the_record_goes_with_the_last_kept_object_and_never_before() {
    let cases: [Case; 8] = [
        ("nothing else", |_, _| {}, true),
        (
            "something pending",
            |record, _| record.pending.objects = Body::Here(vec![pending(false)]),
            false,
        ),
        (
            "something late",
            |record, _| record.pending.objects = Body::Here(vec![pending(true)]),
            false,
        ),
        (
            "something may still land",
            |record, world| {
                let until = world.now + Duration::from_secs(30);
                record.pending.until = Some(until.to_string());
            },
            false,
        ),
        (
            "nothing may land any more",
            |record, world| record.pending.until = Some(world.now.to_string()),
            true,
        ),
        (
            "something else is kept",
            |record, _| {
                let mut other = record.kept.objects[0].clone();
                other.entry.identity = id("PVC/other");
                record.kept.objects.push(other);
            },
            false,
        ),
        (
            "the release is there",
            |record, _| record.metadata.state = ReleaseState::Live,
            false,
        ),
        (
            "somebody's lock has expired",
            |record, _| record.lock = Some(lock("lost", "apply")),
            false,
        ),
    ];
    for (what, change, removed) in cases {
        let mut world = deleted();
        world.put_mine("PVC/other");
        let mut record = world.record().unwrap();
        change(&mut record, &world);
        assert_eq!(prunes_away(&mut world, record), removed, "{what}");
    }
}

/// Prunes PVC/data, and says whether the record goes.
fn prunes_away(world: &mut World, record: Record) -> bool {
    let plan = plan_prune_kept(&record, |id| id.name == "data", PlanOptions::default()).unwrap();
    let checked = world.check(plan, &Flags::default()).unwrap();
    let sight = LockObservation {
        written: None,
        server_time: world.now,
        unchanged_for: Duration::from_secs(600),
        holder_dead: true,
    };
    let state = LockState::of(Some(&record), &sight, &Timing::default());
    let LockState::Open(acquisition) = state else {
        panic!("the lock is not to be had")
    };
    let run = world.start(lock("pruner", "prune"));
    let locked = begin(record, acquisition, checked, run).unwrap();
    let applied = locked
        .finish(&Default::default())
        .expect("nothing to apply");
    let (outcomes, pruned) = world.prune(applied.plan());
    assert_eq!(pruned, [id("PVC/data")]);
    let reconciled = applied.reconcile(&outcomes, world.now);
    match reconciled.release(&world.ended(LogResult::Succeeded)) {
        Released::Remove(record) => record.kept.objects.is_empty(),
        Released::Stays(record) => {
            assert!(record.lock.is_none());
            false
        }
    }
}
