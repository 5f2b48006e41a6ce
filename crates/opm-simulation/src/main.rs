//! Runs histories, and tells the story of one.

#![expect(clippy::print_stdout, reason = "telling is what it is for")]

mod logs;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use opm_simulation::{Coverage, Figures, Mistake, Plan, Visit, run, shrink};

const HELP: &str = "opm-simulation run FIRST COUNT         many in a row, and what they came to
opm-simulation replay SEED [logs]      the whole story of one, with the engine's logs
opm-simulation shrink SEED             the shortest that still goes wrong
opm-simulation mistakes FIRST COUNT    after how many histories each planted mistake is found";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    match (arguments.first().map(String::as_str), number(1)) {
        (Some("run"), Some(first)) => many(first, number(2).unwrap_or(1000)),
        (Some("mistakes"), Some(first)) => mistakes(first, number(2).unwrap_or(600)),
        (Some("replay"), Some(seed)) => {
            if arguments.get(2).is_some_and(|word| word == "logs") {
                logs::show();
            }
            let history = run(&Plan::draw(seed), None);
            println!("{}", history.story);
            code(history.violations.is_empty())
        }
        (Some("shrink"), Some(seed)) => {
            let plan = shrink(&Plan::draw(seed), None, 2_000);
            println!("{plan:#?}\n{}", run(&plan, None).story);
            ExitCode::FAILURE
        }
        _ => {
            println!("{HELP}");
            ExitCode::from(2)
        }
    }
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

fn mistakes(first: u64, count: u64) -> ExitCode {
    let mut all = true;
    for mistake in Mistake::ALL {
        let mut seeds = first..first + count;
        let found = seeds.find_map(|seed| {
            let history = run(&Plan::draw(seed), Some(mistake));
            let violation = history.violations.into_iter().next()?;
            Some((seed - first + 1, violation.rule))
        });
        match found {
            Some((after, rule)) => println!("| {} | {after} | {rule} |", mistake.words()),
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
