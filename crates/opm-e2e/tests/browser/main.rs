//! The page of the built binary in a real browser: every view as people see it, what they do
//! there, and what hostile content does to it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "scenarios fail loudly"
)]

mod doing;
mod hostile;
mod live;
mod page;
mod shapes;
mod shared;
mod views;
