//! `opm mod events`.

use super::release_arg::ReleaseOrHereArgs;
use crate::answers;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Show what happened to a release's objects, and to the pods and others below them
///
/// Shows the cluster's events, oldest first. A cluster keeps them for about an hour.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseOrHereArgs,

    /// The most events to show: the newest
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    runtime::run(async {
        let asked = args.release.ask(false, settings, ui, &interrupt);
        let (session, request) = asked.await?;
        let events = session
            .engine
            .events(&request, args.limit, &session.caller())
            .await;
        answers::below::events(events, &session)
    })
}
