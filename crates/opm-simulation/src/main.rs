//! Runs histories. `opm-simulation run FIRST COUNT` looks for one that breaks a rule, shrinks it
//! and tells its story; `opm-simulation replay SEED` tells the story of one.

#![expect(clippy::print_stdout, reason = "telling is what it is for")]

use std::process::ExitCode;
use std::time::Instant;

use opm_simulation::{Figures, Plan, run, shrink};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    match (arguments.first().map(String::as_str), number(1)) {
        (Some("run"), Some(first)) => many(first, number(2).unwrap_or(1000)),
        (Some("replay"), Some(seed)) => {
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
            println!("opm-simulation run FIRST COUNT | replay SEED | shrink SEED");
            ExitCode::from(2)
        }
    }
}

fn many(first: u64, count: u64) -> ExitCode {
    let begun = Instant::now();
    let mut figures = Figures::default();
    let mut broken = std::collections::BTreeMap::<&str, Vec<u64>>::new();
    for seed in first..first + count {
        let history = run(&Plan::draw(seed), None);
        figures.add(history.figures);
        if let Some(violation) = history.violations.first() {
            println!("{seed}: {}: {}", violation.rule, violation.text);
            broken.entry(violation.rule).or_default().push(seed);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{count} histories in {seconds:.1} s: {figures:?}");
    for (rule, seeds) in &broken {
        println!(
            "{rule}: {} ({:?})",
            seeds.len(),
            &seeds[..seeds.len().min(8)]
        );
    }
    code(broken.is_empty())
}

fn code(fine: bool) -> ExitCode {
    match fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
