//! Records how objects look on the real control plane, for the tables of health in the core:
//!
//! ```text
//! cargo test -p opm-e2e --test record_health -- --ignored
//! ```
//!
//! What each object should be judged to be is written down in the cases, by hand: the recorder
//! does not ask the code under test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a recorder fails loudly"
)]

mod cases;
mod stage;

use std::path::Path;

use futures::future::join_all;
use opm_testkit::ControlPlane;

use stage::Stage;

#[tokio::test]
#[ignore = "writes the recordings that the core's tests read"]
async fn record() {
    let Some(plane) = ControlPlane::for_test().await else {
        panic!("there is no control plane to record from");
    };
    let stage = Stage::new(plane).await;
    let cases = cases::all(&stage);
    let recorded = join_all(cases.iter().map(|case| stage.record(case))).await;
    stage.let_go().await;
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../opm-core/tests/health");
    if dir.exists() {
        std::fs::remove_dir_all(&dir).unwrap();
    }
    std::fs::create_dir_all(&dir).unwrap();
    for (case, recording) in cases.iter().zip(recorded) {
        let text = serde_json::to_string_pretty(&recording).unwrap() + "\n";
        std::fs::write(dir.join(format!("{}.json", case.name)), text).unwrap();
    }
    eprintln!("{} recordings in {}", cases.len(), dir.display());
}
