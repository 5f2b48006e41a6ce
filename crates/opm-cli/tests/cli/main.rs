//! The built command, run as users run it: in a directory of its own, with an environment of
//! its own, its words compared with what they should be.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect by failing loudly"
)]

mod checkouts;
mod completions;
mod config;
mod config_errors;
mod contract;
mod features;
mod help;
mod json_manifests;
mod modules;
mod out_dirs;
mod outputs;
mod private_values;
mod programs;
mod rollback;
mod runner;
mod sandbox;
mod terminal;
mod unquoted_words;
mod vet;
