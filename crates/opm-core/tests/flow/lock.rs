//! How old a lock is, and when its holder must stop.

use std::time::Duration;

use opm_core::protocol::{
    Deadline, LockAcquisition, LockAge, LockObservation, LockState, Timing, renewed, still_held,
};
use opm_core::record::encode_lock;
use opm_core::time::Timestamp;

use crate::world::{lock, new_record};

/// written this long ago (none: nobody knows), seen unchanged for this long, dead → expired
#[test]
fn a_lock_expires_by_the_servers_clocks() {
    let table = [
        (Some(0), 0, false, false),
        (Some(30), 0, false, false),
        (Some(31), 0, false, false),
        (Some(32), 0, false, true),
        (Some(500), 0, false, true),
        (Some(0), 500, false, false),
        (None, 0, false, false),
        (None, 29, false, false),
        (None, 30, false, true),
        (Some(0), 0, true, true),
    ];
    let now = Timestamp::from_secs(1_770_820_200);
    let mut record = new_record();
    record.lock = Some(lock("a", "apply"));
    for (age, unchanged, holder_dead, expired) in table {
        let sight = LockObservation {
            written: age.map(|age| Timestamp::from_secs(1_770_820_200 - age)),
            server_time: now,
            unchanged_for: Duration::from_secs(unchanged),
            holder_dead,
        };
        let state = LockState::of(Some(&record), &sight, &Timing::default());
        let open = matches!(state, LockState::Open(_));
        assert_eq!(open, expired, "{age:?} {unchanged} {holder_dead}");
    }
}

/// written so far ahead of the server's clock, seen unchanged for so long → expires in, believed
#[test]
fn a_lock_from_the_future_expires_too() {
    let table = [
        (1, 0, Some(33), true),
        (92, 0, Some(124), true),
        (92, 600, Some(124), true),
        (93, 0, Some(30), false),
        (93, 29, Some(1), false),
        (93, 30, None, false),
        (86_400, 10, Some(20), false),
        (86_400, 30, None, false),
        (251_607_541_055, 30, None, false),
    ];
    let now = Timestamp::from_secs(1_770_820_200);
    let timing = Timing::default();
    let mut record = new_record();
    record.lock = Some(lock("a", "apply"));
    for (ahead, unchanged, left, believed) in table {
        let written = now + Duration::from_secs(ahead);
        let sight = LockObservation {
            written: Some(written),
            server_time: now,
            unchanged_for: Duration::from_secs(unchanged),
            holder_dead: false,
        };
        let expected = match believed {
            true => LockAge::Written(written),
            false => LockAge::Ahead(written),
        };
        match LockState::of(Some(&record), &sight, &timing) {
            LockState::Held {
                expires_in, age, ..
            } => {
                assert_eq!(Some(expires_in), left.map(Duration::from_secs), "{ahead}");
                assert_eq!(age, expected, "{ahead}");
            }
            LockState::Open(LockAcquisition::TakeOver(expired)) => {
                assert_eq!(left, None, "{ahead}");
                assert_eq!(expired.rest_until, Some(now + timing.take_over_rest));
            }
            LockState::Open(free) => panic!("{ahead}: {free:?}"),
        }
    }
}

#[test]
fn a_holder_stops_by_whichever_clock_is_first() {
    let seconds = Duration::from_secs;
    let deadline = Deadline::after_renewal(seconds(7), seconds(1000), &Timing::default());
    for (monotonic, wall, stops) in [
        (0, 0, false),
        (19, 19, false),
        (20, 0, true),
        (0, 20, true),
        (3, 4000, true),
    ] {
        assert_eq!(
            deadline.has_passed(seconds(7 + monotonic), seconds(1000 + wall)),
            stops
        );
    }
}

#[test]
fn a_holder_stops_before_its_lock_can_be_taken_over() {
    let timing = Timing::default();
    assert!(timing.renew < timing.hold && timing.hold < timing.ttl);
    // The last request is sent before the hold has passed, and lands within a request's life.
    assert!(timing.hold + timing.request <= timing.take_over_rest);
}

#[test]
fn a_renewal_moves_the_beat_and_nothing_else() {
    let before = lock("a", "apply");
    let after = renewed(&before);
    assert_eq!(after.beat, 1);
    assert_ne!(encode_lock(&before), encode_lock(&after));
    assert_eq!(opm_core::record::Lock { beat: 0, ..after }, before);
}

#[test]
fn who_holds_is_told_by_the_id() {
    let mut record = new_record();
    assert!(!still_held(&record, "a"));
    record.lock = Some(lock("a", "apply"));
    assert!(still_held(&record, "a") && !still_held(&record, "b"));
}
