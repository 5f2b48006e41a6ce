//! Which tests run: the three tiers of docs/testing.md.

use std::env;

/// How much of a suite runs. Each tier includes the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// `cargo xtask test`: ten minutes when everything is built, thirty when nothing is.
    Ordinary,
    /// `cargo xtask test --full`: every request of the matrices; less than ninety minutes.
    Full,
    /// `OPM_TEST_SCALE=1`: thousands of objects. On request only, as benchmarks are.
    Scale,
}

impl Tier {
    /// The tier of this run.
    #[must_use]
    pub fn of_this_run() -> Self {
        match (is_set("OPM_TEST_SCALE"), is_set("OPM_TEST_FULL")) {
            (true, _) => Self::Scale,
            (false, true) => Self::Full,
            (false, false) => Self::Ordinary,
        }
    }
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Are the long variants of the tests wanted? `cargo xtask test --full` says so.
#[must_use]
pub fn full() -> bool {
    Tier::of_this_run() >= Tier::Full
}

/// Are thousands of objects wanted? `OPM_TEST_SCALE=1` says so.
#[must_use]
pub fn scale() -> bool {
    Tier::of_this_run() >= Tier::Scale
}
