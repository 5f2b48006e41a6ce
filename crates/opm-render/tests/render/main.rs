//! Rendering, from modules on disk to components: real files, real processes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests say what they expect by failing loudly"
)]

mod bad_cue;
mod bad_values;
mod bad_yaml;
mod bad_zarf;
mod cue_modules;
mod describing;
mod examples;
mod fuzz;
mod hostile;
mod kept;
mod kubectl_yaml;
mod kustomize;
mod layered_values;
mod lint_and_init;
mod registry;
mod renderer;
mod support;
mod undeclared;
mod yaml_modules;
mod yaml_text;
mod yaml_values;
mod zarf;
