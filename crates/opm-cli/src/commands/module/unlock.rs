//! `opm mod unlock`.

use opm_engine::request::UnlockRequest;

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Remove the lock of a dead holder, after showing it
///
/// Rarely needed: a lock that is not renewed expires by itself within half a minute.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// Answer prompts with yes
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    runtime::run(async {
        let release = args.release.resolve(settings, ui, &interrupt).await?;
        let session = Session::open(settings, ui, &interrupt, args.yes).await?;
        let request = UnlockRequest {
            release,
            namespace: session.namespace_or_default()?,
        };
        let ended = session.engine.unlock(&request, &session.caller()).await;
        answers::report::answer(ended, &session)
    })
}
