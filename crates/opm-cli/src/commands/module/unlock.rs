//! `opm mod unlock`.

use opm_engine::request::UnlockRequest;

use super::release_arg::ReleaseArg;
use crate::cluster::{self, Session};
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::Ui;

/// Remove the lock of a dead holder, after showing it
///
/// Rarely needed: a lock that is not renewed expires by itself within half a minute.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release: its name, its id, or the directory of its module
    release: ReleaseArg,

    /// Answer prompts with yes
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let release = args.release.resolve(settings)?;
    cluster::run(async {
        let session = Session::open(settings, ui, &Interrupt::listen(*ui), args.yes).await?;
        let request = UnlockRequest {
            release,
            namespace: session.namespace_or_default()?,
        };
        session.finish(session.engine.unlock(&request, session.frontend()).await)
    })
}
