//! Histories: known ones again, fresh ones, and ones with a mistake planted that must be found.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opm_simulation::{Figures, Mistake, Plan, run, shrink};

/// Histories that once went wrong, each with what it showed. They must not go wrong again.
const KNOWN: &[(u64, &str)] = &[];

/// How long fresh histories are tried for.
fn budget() -> Duration {
    match is_full() {
        true => Duration::from_secs(30 * 60),
        false => Duration::from_secs(20),
    }
}

fn is_full() -> bool {
    let set = std::env::var_os("OPM_TEST_FULL");
    set.is_some_and(|set| set != "0" && !set.is_empty())
}

/// Where histories begin: in the full tier at a moment's number, else where they are told to.
fn first_seed() -> u64 {
    let given = std::env::var("OPM_TEST_SEED").ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    let fresh = if is_full() { now } else { 1 };
    given.and_then(|seed| seed.parse().ok()).unwrap_or(fresh)
}

/// The shortest story that still goes wrong.
fn shortest(seed: u64) -> String {
    let plan = shrink(&Plan::draw(seed), None, 300);
    let history = run(&plan, None);
    format!(
        "seed {seed} breaks a rule: {:#?}\n{}\nagain, whole: cargo run -p opm-simulation -- \
         replay {seed}",
        history.violations.first(),
        history.story
    )
}

#[test]
fn the_same_seed_gives_the_same_history_to_the_last_byte() {
    for seed in 1..12 {
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
    let (first, until) = (first_seed(), Instant::now() + budget());
    let mut figures = Figures::default();
    let mut seed = first;
    while Instant::now() < until {
        let history = run(&Plan::draw(seed), None);
        figures.add(history.figures);
        assert!(history.violations.is_empty(), "{}", shortest(seed));
        seed += 1;
    }
    let count = seed - first;
    println!("{count} histories from seed {first}: {figures:?}");
    assert!(count > 0);
}

#[test]
#[ignore = "on request: takes minutes in a build for debugging"]
fn every_planted_mistake_is_found() {
    const ENOUGH: u64 = 400;
    let mut found = BTreeMap::new();
    for mistake in Mistake::ALL {
        let broken = (1..=ENOUGH).find(|seed| {
            let history = run(&Plan::draw(*seed), Some(mistake));
            !history.violations.is_empty()
        });
        found.insert(mistake, broken);
    }
    println!("found after so many histories: {found:#?}");
    let missed: Vec<_> = found.iter().filter(|(_, after)| after.is_none()).collect();
    assert!(missed.is_empty(), "not found within {ENOUGH}: {missed:?}");
}
