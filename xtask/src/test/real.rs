//! The suite of real applications by itself, and the page of its results.

use std::{env, fs};

use opm_testkit::compatibility;

use super::{REAL, Summary, banner, command, watched};
use crate::{Outcome, docs};

const PAGE: &str = "docs/compatibility.md";

/// Takes all applications through their lives. The page is written if all of them passed.
pub(super) fn run() -> Outcome {
    let results = tempfile::tempdir()?;
    let skipped = env::temp_dir().join(format!("opm-skipped-{}", std::process::id()));
    let mut tests = command(&[REAL, &["--", "--include-ignored"]].concat());
    tests.env("OPM_TEST_RESULTS", results.path());
    let mut summary = Summary::default();
    let outcome = watched(tests, &skipped, &mut summary);
    summary.read_skipped(&fs::read_to_string(&skipped).unwrap_or_default());
    let _ = fs::remove_file(&skipped);
    let mut lines = summary.lines();
    if outcome.is_ok() && !summary.has_skipped() {
        let page = compatibility::page(&compatibility::read(results.path())?);
        fs::write(docs::full(PAGE), page)?;
        lines.push(format!("wrote {PAGE}"));
    }
    banner(&lines);
    outcome
}
