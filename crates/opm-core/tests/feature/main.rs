//! Feature flags: the rules for declaring them, every function of the interface, what holds
//! when default and user disagree, and what concurrent readers and writers see.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect by failing loudly"
)]

mod declared;
mod rules;
mod samples;
mod set;
mod store;
mod stress;
