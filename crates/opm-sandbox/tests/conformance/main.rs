//! The conformance suite: the same requests to the sandbox and to a real control plane, and the
//! answers compared. The requests are data, in `requests/`; what may differ is in `normal`.
//! Differences are failures. What the sandbox deliberately does not do is listed in one place,
//! `src/gaps.rs`, and not requested here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail loudly"
)]

mod normal;
mod random;
mod request;
mod side;

use std::path::Path;

use request::{Scenario, Step};
use side::Side;

/// Runs one step on both sides and says how the answers differ.
async fn check(real: &mut Side, sandbox: &mut Side, step: &Step) -> Vec<String> {
    let (theirs, ours) = (real.send(step).await, sandbox.send(step).await);
    let mut differences = Vec::new();
    if theirs.code != ours.code {
        differences.push(format!("code: real {}, sandbox {}", theirs.code, ours.code));
    }
    if step.compare.as_deref() != Some("code") {
        let (theirs, ours) = (
            real.normal(step, &theirs.body),
            sandbox.normal(step, &ours.body),
        );
        normal::differences(&theirs, &ours, "", &mut differences);
    }
    differences
}

fn scenarios() -> Vec<Scenario> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/requests");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    let read = |file: &std::path::PathBuf| -> Vec<Scenario> {
        let text = std::fs::read_to_string(file).unwrap();
        serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    };
    files.iter().flat_map(read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_answers_as_the_real_server() {
    let all = scenarios();
    let requests: usize = all.iter().map(|s| s.steps.len()).sum();
    let applies = all
        .iter()
        .flat_map(|s| &s.steps)
        .filter(|s| s.run.starts_with("APPLY"))
        .count();
    assert!(
        requests >= 200 && applies >= 60,
        "{requests} requests, {applies} applies"
    );
    let Some(plane) = opm_testkit::ControlPlane::for_test().await else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    for scenario in &all {
        let mut real = Side::real(plane).await;
        let mut sandbox = Side::sandbox(dir.path()).await;
        for (index, step) in scenario.steps.iter().enumerate() {
            for difference in check(&mut real, &mut sandbox, step).await {
                failures.push(format!(
                    "{}, step {}, {}\n    {difference}",
                    scenario.name,
                    index + 1,
                    step.run
                ));
            }
        }
        real.clean_up().await;
        sandbox.clean_up().await;
    }
    eprintln!("{requests} requests compared, {applies} of them applies");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
