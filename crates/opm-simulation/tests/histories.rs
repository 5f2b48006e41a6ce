//! Histories: known ones again, fresh ones, and ones with a mistake planted that must be found.

#![allow(clippy::print_stdout, reason = "a run says what it did")]

#[path = "../../opm-testkit/src/tier.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with crates that use more of it"
)]
mod tier;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opm_simulation::{Coverage, Figures, Mistake, Plan, Visit, run, shrink};

/// Histories that once went wrong, each with what it showed. They must not go wrong again.
const KNOWN: &[(u64, &str)] = &[
    (69, "a controller's copy of a shared object, after a repair"),
    (285, "a controller's copy of an object without labels"),
    (
        5120,
        "a delete of a component removed objects of a release without a current change, and \
         then refused",
    ),
    (357, "a controller's copy of an object, after a repair"),
];

/// Where planted mistakes begin to be looked for: the same everywhere, so that it is known how
/// long each takes.
const MISTAKES_FROM: u64 = 1;

/// How many histories a planted mistake may take: less than fit into an ordinary run.
const ENOUGH: u64 = 300;

/// Mistakes that histories do not find within so many: docs/testing.md says so.
const STILL_HIDDEN: &[Mistake] = &[
    Mistake::DeleteWithoutUid,
    Mistake::DoubtForgotten,
    Mistake::StaleListIsAbsence,
    Mistake::RecordWithoutVersion,
    Mistake::RemovalWithoutVersion,
    Mistake::RepairTrustsTime,
    Mistake::AdoptionIsCreation,
    Mistake::NoLockAfterFailure,
    Mistake::CreateMerges,
];

/// How long histories are tried for, and how many at most. Fresh seeds still break rules now and
/// then, so only the full tier takes them.
fn budget() -> (Duration, u64) {
    match tier::full() {
        true => (Duration::from_secs(30 * 60), u64::MAX),
        false => (Duration::from_secs(60), 330),
    }
}

/// Where histories begin: in the full tier at a number of this moment, unless one is given.
fn first_seed() -> u64 {
    let given = std::env::var("OPM_TEST_SEED").ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_millis() as u64);
    let first = if tier::full() { now } else { 5_000 };
    given.and_then(|seed| seed.parse().ok()).unwrap_or(first)
}

/// The shortest story that still goes wrong.
fn shortest(seed: u64) -> String {
    let plan = shrink(&Plan::draw(seed), None, 300);
    let history = run(&plan, None);
    format!(
        "seed {seed} breaks a rule: {:#?}\n{}\nagain, whole: cargo run --profile simulation -p \
         opm-simulation -- replay {seed} logs",
        history.violations.first(),
        history.story
    )
}

#[test]
fn the_same_seed_gives_the_same_history_to_the_last_byte() {
    for seed in 1..60 {
        let plan = Plan::draw(seed);
        assert_eq!(run(&plan, None), run(&plan, None), "seed {seed}");
    }
}

#[test]
fn what_once_went_wrong_does_not_again() {
    for (seed, showed) in KNOWN {
        let history = run(&Plan::draw(*seed), None);
        assert_eq!(history.violations, [], "{showed}\n{}", history.story);
    }
}

#[test]
fn histories_break_no_rule() {
    let (budget, most) = budget();
    let (first, until) = (first_seed(), Instant::now() + budget);
    println!("histories from seed {first}");
    let mut figures = Figures::default();
    let mut coverage = Coverage::default();
    let mut seed = first;
    while Instant::now() < until && seed - first < most {
        let history = run(&Plan::draw(seed), None);
        figures.add(history.figures);
        coverage.add(&history.coverage);
        assert!(history.violations.is_empty(), "{}", shortest(seed));
        seed += 1;
    }
    let count = seed - first;
    println!("{count} histories from seed {first}: {figures:?}");
    let missed = Visit::ALL
        .iter()
        .filter(|visit| coverage.times(**visit) == 0);
    for visit in missed {
        println!("not visited: {}: {}", visit.area(), visit.words());
    }
    assert!(count > 0);
}

#[test]
fn every_planted_mistake_is_found() {
    let mut missed = Vec::new();
    let sought = Mistake::ALL.iter().copied();
    for mistake in sought.filter(|mistake| !STILL_HIDDEN.contains(mistake)) {
        let mut seeds = MISTAKES_FROM..MISTAKES_FROM + ENOUGH;
        let found = seeds.find(|seed| {
            let history = run(&Plan::draw(*seed), Some(mistake));
            !history.violations.is_empty()
        });
        match found {
            Some(seed) => println!("| {} | {} |", mistake.words(), seed - MISTAKES_FROM + 1),
            None => missed.push(mistake.words()),
        }
    }
    assert!(missed.is_empty(), "not found within {ENOUGH}: {missed:?}");
}
