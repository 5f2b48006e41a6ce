//! Requests that land late: counterexamples that the exploration found, and what the protocol
//! does about them.

use std::collections::HashMap;
use std::time::Duration;

use opm_core::check::Adopt;
use opm_core::plan::{PlanOptions, plan, plan_delete};
use opm_core::protocol::{
    Conclusion, LockAcquisition, LockObservation, LockState, PruneOutcome, SendOutcome, Timing,
    begin, log_refusal,
};
use opm_core::record::{LogResult, Record};

use crate::world::{Flags, OTHER, Ran, World, change_of, desired, id, lock, new_record};

impl World {
    /// Begins an apply and crashes: the intent is written, the requests are on their way.
    fn begin_and_crash(&mut self, objects: &[&str]) {
        let stored = self.record();
        let plan = plan(&desired(objects), stored.as_ref(), PlanOptions::default()).unwrap();
        let checked = self.check(plan, &Flags::default()).unwrap();
        self.begin(stored, checked, "apply", Some("change-sha1-dead"));
    }

    /// How the record opens for somebody who sees a lock that was written `age` ago.
    fn acquisition(&self, age: u64) -> LockAcquisition {
        let sight = LockObservation {
            written: Some(opm_core::time::Timestamp(
                self.now.0 - Duration::from_secs(age),
            )),
            server_time: self.now,
            unchanged_for: Duration::ZERO,
            holder_dead: false,
        };
        match LockState::of(self.record().as_ref(), &sight, &Timing::default()) {
            LockState::Open(acquisition) => acquisition,
            LockState::Held { .. } => panic!("the lock is held"),
        }
    }

    /// Takes over a lock that was last written `age` seconds ago, and applies.
    fn take_over(&mut self, objects: &[&str], age: u64) -> Record {
        let acquisition = self.acquisition(age);
        let stored = self.record();
        let plan = plan(&desired(objects), stored.as_ref(), PlanOptions::default()).unwrap();
        let checked = self.check(plan, &Flags::default()).unwrap();
        let run = self.start(lock("taker", "apply"));
        let locked = begin(stored.unwrap_or_else(new_record), acquisition, checked, run).unwrap();
        self.write(locked.record());
        let sent = self.send(&locked);
        let applied = locked.finish(&sent).expect("everything applies");
        let (outcomes, _) = self.prune(applied.plan());
        let reconciled = applied.reconcile(&outcomes, self.now);
        let ended = self.ended(LogResult::Succeeded);
        let recorded = reconciled.record(change_of(&desired(objects)), 10, &ended);
        self.write(&recorded.record);
        recorded.record
    }

    fn wait(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
    }
}

#[test]
fn what_was_pending_under_a_lost_lock_is_looked_at_once_more() {
    let mut world = World::default();
    world.begin_and_crash(&["CM/ghost"]);
    world.wait(200);
    let record = world.take_over(&["CM/a"], 200);
    assert_eq!(
        world.pending()[&id("CM/ghost")],
        ("create", true),
        "late, though it is absent"
    );
    assert_eq!(record.pending.counted().count(), 0, "and it does not count");
    assert_eq!(record.log[1].result, LogResult::Lost);
    world.put_mine("CM/ghost");
    let ran = world.apply(&["CM/a"]);
    assert_eq!(ran.pruned(), [id("CM/ghost")]);
    assert!(world.pending().is_empty());
}

/// A run that follows a take-over at once must not be the one look that was promised.
#[test]
fn found_by_exploration_the_next_run_may_come_too_soon() {
    let mut world = World::default();
    world.begin_and_crash(&["CM/ghost"]);
    world.wait(40);
    world.take_over(&["CM/a"], 40);
    world.apply(&["CM/a"]);
    world.apply(&["CM/a"]);
    assert_eq!(
        world.pending()[&id("CM/ghost")],
        ("create", true),
        "still within 90 seconds"
    );
    world.put_mine("CM/ghost");
    assert_eq!(world.apply(&["CM/a"]).pruned(), [id("CM/ghost")]);
    world.wait(60);
    world.apply(&["CM/a"]);
    assert!(
        world.pending().is_empty(),
        "90 seconds after the last write it is over"
    );
    assert_eq!(world.record().unwrap().pending.until, None);
}

/// What counts is when the cluster was looked at, not what time it is when the run ends.
#[test]
fn found_by_exploration_a_look_before_the_end_of_the_rest_proves_nothing() {
    let mut world = World::default();
    world.begin_and_crash(&["CM/ghost"]);
    world.wait(40);
    let acquisition = world.acquisition(40);
    let stored = world.record().unwrap();
    let plan = plan_delete(&stored, PlanOptions::default()).unwrap();
    let checked = world.check(plan, &Flags::default()).unwrap();
    world.put_mine("CM/ghost");
    // The delete slept between its look and its first write.
    world.wait(100);
    let run = world.start(lock("deleter", "delete"));
    let locked = begin(stored, acquisition, checked, run).unwrap();
    let applied = locked.finish(&HashMap::new()).expect("nothing to apply");
    let reconciled = applied.reconcile(&HashMap::new(), world.now);
    let ended = world.ended(LogResult::Succeeded);
    let Conclusion::Rest { resume, .. } = reconciled.conclude(&ended, false) else {
        panic!("it must look once more")
    };
    let plan = plan_delete(resume.record(), PlanOptions::default()).unwrap();
    let checked = world.check(plan, &Flags::default()).unwrap();
    let applied = resume
        .go_on(checked, world.now)
        .finish(&HashMap::new())
        .unwrap();
    assert_eq!(applied.prune().len(), 1, "the ghost");
    let (outcomes, _) = world.prune(applied.plan());
    let reconciled = applied.reconcile(&outcomes, world.now);
    assert_eq!(reconciled.conclude(&ended, false), Conclusion::Remove);
}

/// An object of the inventory that was gone, and that a lost holder was about to recreate, is
/// not pending; dropping it from the inventory must not forget it either.
#[test]
fn a_lost_holder_may_bring_back_what_the_inventory_had() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.objects.remove(&id("CM/b"));
    world.begin_and_crash(&["CM/a", "CM/b"]);
    world.wait(40);
    world.take_over(&["CM/a"], 40);
    assert_eq!(world.pending()[&id("CM/b")], ("create", true));
    world.put_mine("CM/b");
    assert_eq!(world.apply(&["CM/a"]).pruned(), [id("CM/b")]);
}

/// The answer to a create was lost, the run let go of the lock, and the next run renders
/// something else before the create lands.
#[test]
fn a_request_without_an_answer_may_land_after_the_run_has_ended() {
    let mut world = World::default();
    let stored = world.record();
    let planned = plan(&desired(&["CM/ghost"]), None, PlanOptions::default()).unwrap();
    let checked = world.check(planned, &Flags::default()).unwrap();
    let locked = world.begin(stored, checked, "apply", None);
    let outcomes = HashMap::from([(id("CM/ghost"), SendOutcome::Uncertain)]);
    let partial = locked.finish(&outcomes).unwrap_err();
    let record = partial.release(&world.ended(LogResult::Failed), &Timing::default());
    world.write(&record);
    assert_eq!(record.lock, None);
    assert!(matches!(
        world.apply(&["CM/a"]),
        Ran::Done {
            unpruned: false,
            ..
        }
    ));
    assert_eq!(world.pending()[&id("CM/ghost")], ("create", true));
    world.put_mine("CM/ghost");
    assert_eq!(world.apply(&["CM/a"]).pruned(), [id("CM/ghost")]);
}

/// A take-over without an answer was given up: until it cannot land any more, the object of the
/// other release stays pending, also where the next run does not want it.
#[test]
fn a_take_over_without_an_answer_may_land_after_the_run_has_ended() {
    let given_up = |owner: Option<&str>| {
        let mut world = World::default();
        world.put("CM/a").owner.id = owner.map(str::to_owned);
        let flags = Flags {
            take_ownership: true,
            adopt: Adopt::All,
            ..Flags::default()
        };
        let planned = plan(&desired(&["CM/a"]), None, PlanOptions::default()).unwrap();
        let checked = world.check(planned, &flags).unwrap();
        let mut locked = world.begin(None, checked, "apply", None);
        locked.may_land_until(world.now + Duration::from_secs(60));
        let outcomes = HashMap::from([(id("CM/a"), SendOutcome::Failed)]);
        let partial = locked.finish(&outcomes).unwrap_err();
        let record = partial.release(&world.ended(LogResult::Failed), &Timing::default());
        world.write(&record);
        world
    };
    for (owner, why) in [(Some(OTHER), "take"), (None, "adopt")] {
        let mut world = given_up(owner);
        world.apply(&["CM/b"]);
        assert_eq!(world.pending()[&id("CM/a")], (why, true));
        // It lands.
        world.objects.remove(&id("CM/a"));
        world.put_mine("CM/a");
        world.apply(&["CM/b"]);
        assert!(world.has("CM/a") && world.pending().is_empty());
        assert_eq!(world.kept()[&id("CM/a")], "not-mine");
        let mut world = given_up(owner);
        world.apply(&["CM/b"]);
        world.wait(61);
        world.apply(&["CM/b"]);
        assert!(world.pending().is_empty(), "nothing lands any more");
    }
}

#[test]
fn a_dead_holder_needs_no_rest() {
    let mut world = World::default();
    world.begin_and_crash(&["CM/ghost"]);
    let sight = LockObservation {
        written: Some(world.now),
        server_time: world.now,
        unchanged_for: Duration::ZERO,
        holder_dead: true,
    };
    let record = world.record();
    let state = LockState::of(record.as_ref(), &sight, &Timing::default());
    let LockState::Open(LockAcquisition::TakeOver(expired)) = state else {
        panic!("must be open")
    };
    assert_eq!(expired.rest_until, None);
}

#[test]
fn a_lock_that_changed_hands_meanwhile_cannot_be_begun() {
    let mut world = World::default();
    world.begin_and_crash(&["CM/a"]);
    let record = world.record().unwrap();
    let plan = plan(&desired(&["CM/a"]), Some(&record), PlanOptions::default()).unwrap();
    let checked = world.check(plan, &Flags::default()).unwrap();
    let run = world.start(lock("other", "apply"));
    let free = LockAcquisition::Free { loaded: world.now };
    assert!(begin(record, free, checked, run).is_err());
}

/// The first attempt of a create was not answered, the second one was; the object was recorded,
/// and a later run deleted it before the first attempt landed.
#[test]
fn an_attempt_that_was_made_again_may_bring_an_object_back() {
    let mut world = World::default();
    let planned = plan(&desired(&["CM/ghost"]), None, PlanOptions::default()).unwrap();
    let checked = world.check(planned, &Flags::default()).unwrap();
    let mut locked = world.begin(None, checked, "apply", None);
    let sent = world.send(&locked);
    locked.may_land_until(world.now + Duration::from_secs(60));
    let applied = locked.finish(&sent).expect("everything applies");
    let reconciled = applied.reconcile(&HashMap::new(), world.now);
    let ended = world.ended(LogResult::Succeeded);
    let recorded = reconciled.record(change_of(&desired(&["CM/ghost"])), 10, &ended);
    world.write(&recorded.record);
    assert_eq!(world.apply(&["CM/a"]).pruned(), [id("CM/ghost")]);
    assert_eq!(world.pending()[&id("CM/ghost")], ("create", true));
    world.put_mine("CM/ghost");
    assert_eq!(world.apply(&["CM/a"]).pruned(), [id("CM/ghost")]);
}

/// stored until (seconds from now, or a text) → until when this run waits, seconds from now
#[test]
fn nobody_waits_longer_than_a_request_can_take() {
    let mut world = World::default();
    world.apply(&["CM/a"]);
    let ahead = |seconds: u64| (world.now + Duration::from_secs(seconds)).to_string();
    let table = [
        (ahead(0), 0),
        (ahead(60), 60),
        (ahead(92), 92),
        (ahead(93), 92),
        ("9999-12-30T22:00:00Z".to_owned(), 92),
        // Nobody can tell what it says, so the longest counts.
        ("tomorrow".to_owned(), 92),
    ];
    for (until, waits) in table {
        let mut record = world.record().unwrap();
        record.pending.until = Some(until.clone());
        let plan = plan_delete(&record, PlanOptions::default()).unwrap();
        let checked = world.check(plan, &Flags::default()).unwrap();
        let run = world.start(lock("deleter", "delete"));
        let free = LockAcquisition::Free { loaded: world.now };
        let locked = begin(record, free, checked, run).unwrap();
        let latest = world.now + Duration::from_secs(waits);
        let written = locked.record().pending.until.clone();
        assert_eq!(written, Some(latest.to_string()), "{until}");
        let applied = locked.finish(&HashMap::new()).expect("nothing to apply");
        let outcomes = HashMap::from([(id("CM/a"), PruneOutcome::Done)]);
        let reconciled = applied.reconcile(&outcomes, world.now);
        let resume = match reconciled.conclude(&world.ended(LogResult::Succeeded), false) {
            Conclusion::Rest { resume, until } => {
                assert_eq!(until, latest);
                resume
            }
            done => {
                assert_eq!((done, waits), (Conclusion::Remove, 0));
                continue;
            }
        };
        // The look after the rest is the last one.
        let plan = plan_delete(resume.record(), PlanOptions::default()).unwrap();
        let checked = world.check(plan, &Flags::default()).unwrap();
        let applied = resume.go_on(checked, latest).finish(&HashMap::new());
        let reconciled = applied.unwrap().reconcile(&outcomes, latest);
        let ended = world.ended(LogResult::Succeeded);
        assert_eq!(reconciled.conclude(&ended, false), Conclusion::Remove);
    }
}

/// A refusal that is dated ahead would silence the log for ever.
#[test]
fn a_refusal_dated_ahead_is_told_again() {
    let world = World::default();
    let run = world.start(lock("a", "apply"));
    let mut log = log_refusal(Vec::new(), &run, "no").unwrap();
    assert_eq!(log_refusal(log.clone(), &run, "no"), None, "once a minute");
    log[0].time = "9999-12-30T22:00:00Z".to_owned();
    assert_eq!(log_refusal(log, &run, "no").map(|log| log.len()), Some(2));
}
