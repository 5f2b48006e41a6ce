//! The scenarios of RFC-0001 and what goes beyond them, told once and run on every kind of
//! cluster, through the built binary. The tests are in `tests/`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this crate is test code: a scenario fails loudly"
)]
