//! `opm mod events`.

use super::release_arg::ReleaseOrHereArgs;
use crate::answers;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

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

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, request) = args.release.ask(false, invocation).await?;
    let events = session
        .engine
        .events(&request, args.limit, &session.caller())
        .await;
    answers::below::events(events, &session)
}
