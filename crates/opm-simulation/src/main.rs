//! Runs histories, and tells the story of one.

#![expect(clippy::print_stdout, reason = "telling is what it is for")]

mod logs;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use opm_simulation::{Coverage, Figures, Mistake, Plan, Visit, ordinary, run, shrink};

const HELP: &str = "opm-simulation run FIRST COUNT         many in a row, and what they came to
opm-simulation ordinary [REVISION]     those of an ordinary run of this commit, or of another
opm-simulation replay PLAN [logs]      the whole story of one, with the engine's logs
opm-simulation shrink PLAN [WORDS]     the shortest that still goes wrong, and its plan
opm-simulation mistakes FIRST COUNT [WORDS]
                                       after how many histories each planted mistake is found
A PLAN is a seed, or a file with a plan. WORDS are part of what a planted mistake is called";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |at: usize| arguments.get(at).map_or("", String::as_str);
    let number = |at: usize| text(at).parse::<u64>().ok();
    match (text(0), number(1), plan(text(1))) {
        ("run", Some(first), _) => many(first, number(2).unwrap_or(1000)),
        ("ordinary", ..) => {
            let revision = Some(text(1)).filter(|text| !text.is_empty());
            let first = ordinary::first_seed(revision.unwrap_or("HEAD"));
            println!("histories from seed {first}");
            many(first, ordinary::HISTORIES)
        }
        ("mistakes", Some(first), _) => mistakes(first, number(2).unwrap_or(600), text(3)),
        ("replay", _, Some(plan)) => {
            if text(2) == "logs" {
                logs::show();
            }
            let history = run(&plan, mistake(text(2)));
            println!("{}", history.story);
            code(history.violations.is_empty())
        }
        ("shrink", _, Some(plan)) => {
            let mistake = mistake(text(2));
            let plan = shrink(&plan, mistake, 2_000);
            let text = serde_json::to_string(&plan).unwrap_or_default();
            println!("{}\n{text}", run(&plan, mistake).story);
            ExitCode::FAILURE
        }
        _ => {
            println!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// The planted mistake that is called so.
fn mistake(words: &str) -> Option<Mistake> {
    let mut all = Mistake::ALL.into_iter();
    all.find(|mistake| !words.is_empty() && mistake.words().contains(words))
}

/// The plan that a seed or a file stands for.
fn plan(text: &str) -> Option<Plan> {
    if let Ok(seed) = text.parse() {
        return Some(Plan::draw(seed));
    }
    let text = std::fs::read_to_string(text).ok()?;
    serde_json::from_str(&text).ok()
}

fn many(first: u64, count: u64) -> ExitCode {
    let begun = Instant::now();
    let mut figures = Figures::default();
    let mut coverage = Coverage::default();
    let mut broken = BTreeMap::<&str, Vec<u64>>::new();
    for seed in first..first + count {
        let history = run(&Plan::draw(seed), None);
        figures.add(history.figures);
        coverage.add(&history.coverage);
        if let Some(violation) = history.violations.first() {
            println!("{seed}: {}: {}", violation.rule, violation.text);
            broken.entry(violation.rule).or_default().push(seed);
        }
    }
    for visit in Visit::ALL {
        let times = coverage.times(*visit);
        println!("| {} | {} | {times} |", visit.area(), visit.words());
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{count} histories in {seconds:.1} s: {figures:?}");
    for (rule, seeds) in &broken {
        let some = &seeds[..seeds.len().min(8)];
        println!("{rule}: {} ({some:?})", seeds.len());
    }
    code(broken.is_empty())
}

fn mistakes(first: u64, count: u64, words: &str) -> ExitCode {
    let mut all = true;
    let sought = Mistake::ALL.into_iter();
    for mistake in sought.filter(|mistake| mistake.words().contains(words)) {
        let mut seeds = first..first + count;
        let found = seeds.find_map(|seed| {
            let plan = Plan::draw(seed);
            let violation = run(&plan, Some(mistake)).violations.into_iter().next()?;
            // What goes wrong without the mistake shows nothing of it.
            let right = run(&plan, None).violations.is_empty();
            right.then_some((seed - first + 1, violation))
        });
        match &found {
            Some((after, found)) => {
                println!("| {} | {after} | {} |", mistake.words(), found.rule);
                println!("{}", found.text);
            }
            None => println!("| {} | not within {count} | |", mistake.words()),
        }
        all &= found.is_some();
    }
    code(all)
}

fn code(fine: bool) -> ExitCode {
    match fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
