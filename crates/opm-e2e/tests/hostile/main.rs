//! Every command against everything that a hostile API server does: an exit code of the contract
//! and a message, never a panic, a hang, or more memory than a command needs.
//!
//! A sample by seed in the ordinary tier, everything in the full one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails loudly"
)]

mod plugin;
mod release;
mod run;
mod truth;

use futures::StreamExt as _;
use opm_e2e::{Seed, full, note};
use opm_testkit::hostile::{Behaviour, behaviours};

use release::PreparedRelease;
use run::{CASES_AT_ONCE, Case, CaseResult};

/// Every command, as it is typed after `opm mod`.
const COMMANDS: &[&[&str]] = &[
    &["apply", "web", "--yes"],
    &["apply", "web", "--yes", "--wait", "--timeout", "2s"],
    &["apply", "web", "--yes", "--atomic", "--timeout", "2s"],
    &["apply", "web", "--dry-run"],
    &["diff", "web"],
    &["status", "web", "--scan"],
    &["status", "web", "--watch", "--timeout", "2s"],
    &["list"],
    &["list", "-A", "--health"],
    &["history", "web", "--log"],
    &["show", "web", "values"],
    &["show", "web", "manifests"],
    &["rollback", "web", "--yes"],
    &["delete", "web", "--yes", "--wait", "--timeout", "2s"],
    &["prune", "web", "--all", "--yes"],
    &["forget", "web", "PersistentVolumeClaim/world"],
    &["repair", "web", "--yes"],
    &["unlock", "web", "--yes"],
];

/// How many honest answers come first: lies meet a command at its beginning, and in its middle.
const AFTER: [usize; 4] = [0, 2, 5, 9];

/// How many cases an ordinary run tries.
const SAMPLE: usize = 16;

#[test]
fn there_are_more_than_forty_behaviours_and_each_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<&str> = behaviours().iter().map(|b| b.name).collect();
    assert_eq!(names.len(), behaviours().len());
    assert!(names.len() > 40, "{}", names.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_panics_hangs_or_swells() {
    let mut seed = Seed::of_this_run("hostile");
    let release = PreparedRelease::new().await;
    let mut cases: Vec<Case> = Vec::new();
    for behaviour in chosen() {
        for command in COMMANDS {
            let after = AFTER[seed.below(AFTER.len())];
            cases.push(Case {
                behaviour,
                command,
                after,
            });
        }
    }
    if !full() && std::env::var_os("OPM_TEST_HOSTILE").is_none() {
        cases = seed.some_of(cases, SAMPLE);
    }
    let count = cases.len();
    let runs = cases.into_iter().map(|case| case.run(&release));
    let results: Vec<CaseResult> = futures::stream::iter(runs)
        .buffer_unordered(CASES_AT_ONCE)
        .collect()
        .await;
    let most = results
        .iter()
        .max_by_key(|result| result.kilobytes)
        .unwrap();
    note(&format!(
        "{count} cases; most memory: {} MB ({})",
        most.kilobytes / 1024,
        most.case
    ));
    let wrong: Vec<String> = results
        .into_iter()
        .filter_map(|result| result.wrong)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// All behaviours, or those whose names contain `OPM_TEST_HOSTILE`.
fn chosen() -> Vec<Behaviour> {
    let wanted = std::env::var("OPM_TEST_HOSTILE").unwrap_or_default();
    let all = behaviours().into_iter();
    all.filter(|behaviour| behaviour.name.contains(&wanted))
        .collect()
}
