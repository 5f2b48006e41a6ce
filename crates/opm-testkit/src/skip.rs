//! A test that cannot run says so here, and nowhere else.
//!
//! libtest counts a test that returns early as passed. So a skip is written to standard error
//! (past libtest's capture) and to the list that `cargo xtask test` shows at its end. Needs nothing
//! but the standard library: crates that do without this kit include the file.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::thread;

/// Notes that the calling test does not run, and why. The test returns after it.
///
/// A scenario that makes no sense on a cluster is not skipped but ignored, which `scenarios!`
/// says where the scenario is listed.
pub fn skip(why: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(io::stderr(), "SKIPPED: {test}: {why}");
    let Some(list) = env::var_os("OPM_TEST_SKIPPED") else {
        return;
    };
    // One short write per line: lines of several test programs do not mix.
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(list) {
        let _ = file.write_all(format!("{test}\t{why}\n").as_bytes());
    }
}

/// Skips the calling test for want of something that the machine lacks.
///
/// # Panics
/// When `OPM_REQUIRE_CLUSTER=1` says that nothing may be lacking.
pub fn skip_without(what: &str) {
    skip_unless(cluster_required(), what);
}

fn skip_unless(required: bool, what: &str) {
    assert!(!required, "there is no {what}");
    skip(&format!("there is no {what}"));
}

/// Skips the calling test for want of a browser, or of what is used with one.
///
/// # Panics
/// When `OPM_REQUIRE_BROWSER=1` says that there has to be one.
pub(crate) fn skip_without_browser(what: &str) {
    skip_unless(browser_required(), what);
}

/// Must there be a browser? `OPM_REQUIRE_BROWSER=1` says so.
#[must_use]
pub fn browser_required() -> bool {
    is_set("OPM_REQUIRE_BROWSER")
}

/// Must there be a control plane, and all else that tests need? `OPM_REQUIRE_CLUSTER=1` says so.
#[must_use]
pub fn cluster_required() -> bool {
    is_set("OPM_REQUIRE_CLUSTER")
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}
