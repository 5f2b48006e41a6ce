//! What happens to a test that needs a control plane where there can be none.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;

use crate::plane::{ControlPlane, PlaneError};
use crate::programs::BuildError;

/// Must there be a control plane? `OPM_REQUIRE_CLUSTER=1` says so.
#[must_use]
pub fn cluster_required() -> bool {
    env::var_os("OPM_REQUIRE_CLUSTER").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Are the long variants of the tests wanted? `cargo xtask test --full` says so.
#[must_use]
pub fn full() -> bool {
    env::var_os("OPM_TEST_FULL").is_some_and(|value| !value.is_empty() && value != "0")
}

impl ControlPlane {
    /// The shared control plane, or nothing where Go is missing and the test is to be skipped.
    ///
    /// The skip is written down for `cargo xtask test` to report. Every other reason for not
    /// having a control plane fails the test.
    pub async fn for_test() -> Option<&'static Self> {
        match Self::shared().await {
            Ok(plane) => Some(plane),
            Err(PlaneError::Build(BuildError::NoGo)) if !cluster_required() => {
                note_skipped();
                None
            }
            Err(error) => panic!("no control plane: {error}"),
        }
    }
}

fn note_skipped() {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    eprintln!("SKIPPED: {test} needs a control plane, and there is no Go to build one");
    let Some(list) = env::var_os("OPM_TEST_SKIPPED") else {
        return;
    };
    // One short write per line: lines of several test programs do not mix.
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(list) {
        let _ = file.write_all(format!("{test}\n").as_bytes());
    }
}
