//! The protocol, explored exhaustively: two clients on one release, a crash or a pause at every
//! step, expiry and take-over, requests in flight that land late, and a stranger who creates
//! objects of the same names. Every decision is made by the real functions of the crate.
//!
//! What must hold in every state:
//! - every live object of the release is recorded: in the inventory, as pending or as kept;
//! - no object of a stranger is changed or deleted;
//! - nobody writes a record whose lock is not his;
//! - pruning what a deleted release kept never removes the record of a live one;
//! - nobody begins at a command line on a release that a controller has taken for a resource, unless
//!   the resource is suspended or gone;
//! - an apply during which nobody else's request lands leaves nothing outside the inventory;
//! - whatever has happened, the next undisturbed applies succeed and leave the cluster clean.
//!
//! `OPM_EXPLORE=deep` explores further than the ordinary run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail loudly, and say how far they looked"
)]

mod client;
mod ending;
mod fixtures;
mod key;
mod managed;
mod search;
#[path = "../../../opm-testkit/src/skip.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with crates that use more of it"
)]
mod skip;
mod state;

use managed::{Management, Resource};
use search::Found;
use state::{Budget, State, Task};

fn explore(name: &str, budget: Budget) -> Found {
    let found = search::search(State::new(budget), limit());
    eprintln!(
        "{name}: {} states, {} transitions, {} steps deep, {} successful applies, {} take-overs",
        found.states, found.transitions, found.depth, found.recorded, found.take_overs
    );
    if let Some((violation, trace)) = &found.violation {
        panic!("{violation}\n  {}", trace.join("\n  "));
    }
    assert!(
        found.complete,
        "{name}: the state space is larger than the limit"
    );
    assert!(
        found.recorded > 0 && found.take_overs > 0,
        "{name}: it must get somewhere"
    );
    found
}

/// Two renders that share nothing, applied by two clients that crash or sleep wherever they like.
#[test]
fn crashes_and_take_overs() {
    explore(
        "crashes",
        Budget {
            runs: 3,
            ..Budget::default()
        },
    );
}

#[test]
fn answers_that_are_lost() {
    explore(
        "lost answers",
        Budget {
            runs: 2,
            losses: 1,
            ..Budget::default()
        },
    );
}

/// A request that was not answered is sent again, is answered then, and lands once more when a
/// later run has deleted what it made.
#[test]
fn requests_that_are_sent_again() {
    let budget = Budget {
        retries: 1,
        ..Budget::default()
    };
    explore("sent again", budget);
    let budget = Budget {
        retries: 1,
        tasks: vec![Task::Wide, Task::Delete],
        ..Budget::default()
    };
    explore("sent again, and deleted", budget);
}

/// Records whose parts have to move before the intent can be written down.
#[test]
fn locks_that_are_claimed_before_the_intent() {
    let budget = Budget {
        runs: 3,
        claims: true,
        ..Budget::default()
    };
    explore("claims", budget);
    let budget = Budget {
        runs: 3,
        claims: true,
        tasks: vec![Task::Wide, Task::Delete],
        ..Budget::default()
    };
    explore("claims and deletes", budget);
}

#[test]
fn a_stranger_with_objects_of_the_same_names() {
    explore(
        "a stranger",
        Budget {
            runs: 2,
            strangers: 1,
            ..Budget::default()
        },
    );
}

/// Somebody who may write the Secret sets its times far ahead: that costs time, and nothing else.
#[test]
fn times_that_are_far_ahead() {
    for tasks in [
        vec![Task::Wide, Task::Narrow],
        vec![Task::Wide, Task::Delete],
    ] {
        let budget = Budget {
            forgeries: 1,
            tasks,
            ..Budget::default()
        };
        explore("times ahead", budget);
    }
}

#[test]
fn deletes_among_applies() {
    let tasks = vec![Task::Wide, Task::Delete];
    explore(
        "deletes",
        Budget {
            runs: 3,
            tasks,
            ..Budget::default()
        },
    );
}

/// A release whose last object is kept when it is deleted: pruning that removes the record, and an
/// apply that comes in between takes the release up again.
#[test]
fn prunes_of_deleted_releases() {
    let budget = Budget {
        runs: 4,
        keeps: true,
        tasks: vec![Task::Wide, Task::Delete, Task::Prune],
        ..Budget::default()
    };
    let found = explore("deleted and pruned", budget);
    assert!(found.removed > 0, "no record was ever removed by a prune");
    let budget = Budget {
        runs: 3,
        keeps: true,
        claims: true,
        tasks: vec![Task::Wide, Task::Delete, Task::Prune],
        ..Budget::default()
    };
    explore("deleted and pruned, with claims", budget);
    let budget = Budget {
        runs: 3,
        losses: 1,
        keeps: true,
        tasks: vec![Task::Wide, Task::Delete, Task::Prune],
        ..Budget::default()
    };
    explore("deleted and pruned, with answers lost", budget);
}

/// Replicas of a controller, of which a lease names one, and somebody at a command line. Whoever had
/// the lease goes on without it, as a paused one does that wakes up, or stops in the middle.
#[test]
fn leaders_that_come_and_go() {
    for (resource, moves, changes) in [(Resource::Active, 2, 0), (Resource::Gone, 1, 2)] {
        let budget = Budget {
            runs: 2,
            management: Some(Management::of(resource, moves, changes)),
            ..Budget::default()
        };
        explore(&format!("leaders, {changes} changes"), budget);
    }
}

#[test]
fn deeper() {
    if std::env::var("OPM_EXPLORE").as_deref() != Ok("deep") {
        return skip::skip("it takes long: OPM_EXPLORE=deep asks for it");
    }
    let all = vec![Task::Wide, Task::Narrow, Task::Delete];
    let budget = Budget {
        runs: 2,
        losses: 1,
        strangers: 1,
        tasks: all,
        renewals: true,
        ..Budget::default()
    };
    explore("everything, twice", budget);
    let budget = Budget {
        runs: 4,
        ..Budget::default()
    };
    explore("crashes, four times", budget);
    let budget = Budget {
        runs: 3,
        management: Some(Management::of(Resource::Active, 1, 1)),
        ..Budget::default()
    };
    explore("leaders, three times", budget);
    let budget = Budget {
        runs: 3,
        forgeries: 1,
        ..Budget::default()
    };
    explore("times ahead, three times", budget);
    let budget = Budget {
        runs: 3,
        retries: 1,
        ..Budget::default()
    };
    explore("sent again, three times", budget);
}

fn limit() -> usize {
    std::env::var("OPM_EXPLORE_LIMIT")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(4_000_000)
}
