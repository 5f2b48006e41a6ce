//! `opm sandbox`: the cluster that is built into opm.

mod reset;
mod serve;
mod status;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use opm_core::feature::SANDBOX;
use opm_sandbox::{Sandbox, StoreError};

use crate::error::{CliError, ErrorKind, Exit};
use crate::settings::{Key, Settings};
use crate::ui::Ui;
use opm_engine::FailureKind;

/// Look at, reset or serve the cluster that is built into opm
///
/// `--sandbox` makes any command use it instead of a real cluster: to try opm, to rehearse an
/// upgrade, to test a module where there is no cluster. It is one file in `--sandbox-dir`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Status(status::Args),
    Reset(reset::Args),
    Serve(serve::Args),
}

pub(super) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    check_feature(settings)?;
    let dir = directory(settings)?;
    match command {
        Command::Status(args) => status::run(args, &dir, ui),
        Command::Reset(args) => reset::run(args, &dir, ui),
        Command::Serve(args) => serve::run(args, &dir, ui),
    }
}

fn check_feature(settings: &Settings) -> Result<(), CliError> {
    if settings.features.is_enabled(&SANDBOX) {
        return Ok(());
    }
    let message = format!("`opm sandbox` needs the feature `{SANDBOX}`, which is disabled");
    let hint = format!("enable it with --{} {SANDBOX}", Key::FeatureEnable.flag());
    Err(CliError::new(FailureKind::Refused, message).hint(hint))
}

/// Where the sandbox lives.
pub(crate) fn directory(settings: &Settings) -> Result<PathBuf, CliError> {
    settings.sandbox_dir.clone().ok_or_else(|| {
        let message = "there is no directory for the sandbox: the user has no home";
        let hint = format!("name one with --{}", Key::SandboxDir.flag());
        CliError::new(ErrorKind::Config, message).hint(hint)
    })
}

/// Opens the sandbox in a directory. It is a tower service, as `kube::Client::new` wants one.
pub(crate) fn open(dir: &Path) -> Result<Sandbox, CliError> {
    Sandbox::open(dir).map_err(|error| unusable(&error))
}

/// The file's own words, with its advice as the hint.
fn unusable(error: &StoreError) -> CliError {
    let kind = match error {
        StoreError::Busy { .. } | StoreError::InUse { .. } => FailureKind::Locked.into(),
        _ => ErrorKind::Io,
    };
    CliError::new(kind, error.to_string()).hint(error.hint())
}
