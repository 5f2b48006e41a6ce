//! Histories: known ones again, fresh ones, and ones with a mistake planted that must be found.

#![allow(clippy::print_stdout, reason = "a run says what it did")]
#![allow(clippy::expect_used, reason = "what is stored can be read")]

#[path = "../../opm-testkit/src/tier.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with crates that use more of it"
)]
mod tier;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opm_simulation::{Coverage, Figures, Mistake, Plan, Visit, ordinary, run, shrink};

/// Histories that once went wrong, each with what it showed, as plans: what a seed stands for
/// changes whenever something new can happen. They must not go wrong again.
const KNOWN: &[(&str, &str)] = &[
    (
        include_str!("known/shared-copy-after-repair.json"),
        "a controller's copy of a shared object, after a repair",
    ),
    (
        include_str!("known/copy-without-labels.json"),
        "a controller's copy of an object without labels",
    ),
    (
        include_str!("known/component-without-current-change.json"),
        "a delete of a component removed objects of a release without a current change, and \
         then refused",
    ),
    (
        include_str!("known/copy-after-repair.json"),
        "a controller's copy of an object, after a repair",
    ),
    (
        include_str!("known/manager-that-cannot-be-told.json"),
        "a release was said not to be there because nobody could tell who manages it",
    ),
    (
        include_str!("known/place-of-a-record.json"),
        "an object was created in the place of the record of a release that was still to come",
    ),
    (
        include_str!("known/forgotten-unseen.json"),
        "an object that was gone and may not be looked at was said to be kept by a forget",
    ),
    (
        include_str!("known/apply-after-a-closer-look.json"),
        "an object was applied that a closer look had shown to be another release's by now",
    ),
    (
        include_str!("known/hook-of-the-way-back.json"),
        "a hook of the change before, which the way back runs, was taken for an object that is kept",
    ),
    (
        include_str!("known/shared-without-labels.json"),
        "a shared object whose labels were gone was deleted by the first to leave",
    ),
    (
        include_str!("known/forgotten-with-labels.json"),
        "an object that was forgotten and could not lose its labels was taken for a foreign one",
    ),
    (
        include_str!("known/recreated-without-a-look.json"),
        "a guarded object was recreated because it could not be looked at when that was settled",
    ),
    (
        include_str!("known/joined-while-leaving.json"),
        "an object that another release had joined was said to be pruned, and stood",
    ),
    (
        include_str!("known/held-after-a-delete.json"),
        "a delete that waits for what a finalizer holds was taken for one that lies",
    ),
    (
        include_str!("known/forgotten-whole-unseen.json"),
        "an object that a release was given up without a look at was taken for a lost one",
    ),
    (
        include_str!("known/forgotten-untold.json"),
        "the same, where whoever gave it up died before it could tell",
    ),
    (
        include_str!("known/shared-taken-up-without-labels.json"),
        "a shared object that lost its labels and was adopted was taken for the first one's still",
    ),
    (
        include_str!("known/half-adopted-in-a-place.json"),
        "what took the place of a recorded object and was half adopted was deleted",
    ),
    (
        include_str!("known/taken-by-a-late-request.json"),
        "a take-over that was given up landed when the record was gone",
    ),
    (
        include_str!("known/shell-of-a-cluster-role.json"),
        "the shell of a ClusterRole that its controller wrote anew was taken for its release's",
    ),
    (
        include_str!("known/lost-with-its-label.json"),
        "an object whose label was gone was deleted by a release that could not know it lost it",
    ),
    (
        include_str!("known/hook-without-labels.json"),
        "a hook that lost its labels and managers while it ran was deleted by its run",
    ),
    (
        include_str!("known/hook-taken-over.json"),
        "a hook that another release took over while it ran was deleted by its run",
    ),
    (
        include_str!("known/test-hook-lands-late.json"),
        "a test was made once more when it was gone, by a request that nobody had waited for",
    ),
    (
        include_str!("known/write-that-renews-nothing.json"),
        "a run that had written its record under the lock believed to hold it for longer",
    ),
    (
        include_str!("known/forgotten-and-lands-late.json"),
        "an object was made once more, labels and all, when its whole release was forgotten",
    ),
];

/// Where planted mistakes begin to be looked for: the same everywhere, so that it is known how
/// long each takes.
const MISTAKES_FROM: u64 = 1;

/// How many histories a planted mistake may take: less than an ordinary run takes.
const ENOUGH: u64 = 1_200;

/// How many requests a soak has at least.
const SOAK: u64 = 2_000_000;

/// Where histories begin that are fresh each time.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

fn given_seed() -> Option<u64> {
    std::env::var("OPM_TEST_SEED").ok()?.parse().ok()
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

/// Runs histories one after the other as long as they are wanted, and says where they have been.
fn histories(first: u64, wanted: impl Fn(u64, &Figures) -> bool) {
    println!("histories from seed {first}");
    let mut figures = Figures::default();
    let mut coverage = Coverage::default();
    let mut seed = first;
    while wanted(seed - first, &figures) {
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
fn the_same_seed_gives_the_same_history_to_the_last_byte() {
    for seed in 1..60 {
        let plan = Plan::draw(seed);
        assert_eq!(run(&plan, None), run(&plan, None), "seed {seed}");
    }
}

#[test]
fn what_once_went_wrong_does_not_again() {
    for (plan, showed) in KNOWN {
        let plan: Plan = serde_json::from_str(plan).expect("a plan");
        let history = run(&plan, None);
        assert_eq!(history.violations, [], "{showed}\n{}", history.story);
    }
}

#[test]
fn histories_break_no_rule() {
    if tier::full() {
        let until = Instant::now() + Duration::from_secs(1800);
        histories(given_seed().unwrap_or_else(now), |_, _| {
            Instant::now() < until
        });
    } else {
        let first = given_seed().unwrap_or_else(|| ordinary::first_seed("HEAD"));
        histories(first, |count, _| count < ordinary::HISTORIES);
    }
}

#[test]
fn a_soak_of_two_million_requests_breaks_no_rule() {
    if tier::full() {
        // Others than those that run beside it.
        let first = given_seed().unwrap_or_else(|| 1_000 * now());
        histories(first, |_, figures| figures.requests < SOAK);
    }
}

#[test]
fn every_planted_mistake_is_found() {
    let mut missed = Vec::new();
    for mistake in Mistake::ALL {
        let mut seeds = MISTAKES_FROM..MISTAKES_FROM + ENOUGH;
        // What goes wrong without the mistake shows nothing of it.
        let found = seeds.find(|seed| {
            let plan = Plan::draw(*seed);
            let broken = |mistake| !run(&plan, mistake).violations.is_empty();
            broken(Some(mistake)) && !broken(None)
        });
        match found {
            Some(seed) => println!("| {} | {} |", mistake.words(), seed - MISTAKES_FROM + 1),
            None => missed.push(mistake.words()),
        }
    }
    assert!(missed.is_empty(), "not found within {ENOUGH}: {missed:?}");
}
