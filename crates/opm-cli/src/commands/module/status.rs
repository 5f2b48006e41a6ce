//! `opm mod status`.

use std::time::Duration;

use super::release_arg::ReleaseOrHereArgs;
use crate::answers;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Show how a release stands: its objects by component, with health and drift
///
/// Reads the release's record and the objects it names, and nothing is written. An object is
/// Ready, Progressing, Degraded, Failed, Missing, or Unknown when it could not be looked at; a
/// workload that is not ready says which pod keeps it, and why. An object has drifted when
/// somebody else has changed a field that was applied; who and when is told. Without a record
/// that can be read, objects are found by their labels.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseOrHereArgs,

    /// Look for objects with the release's labels in all kinds and namespaces, not only where
    /// its recorded changes have put any
    #[arg(long)]
    scan: bool,

    /// Keep watching, and show what changes
    #[arg(long, short)]
    watch: bool,

    /// Stop watching after this time; without it, only an interrupt ends the watch
    #[arg(long, value_name = "DURATION", requires = "watch", value_parser = duration::parse)]
    timeout: Option<Duration>,

    /// End with code 8 if something is not ready or has failed, else with 6 if something has
    /// drifted, is missing, orphaned or pending
    #[arg(long)]
    exit_code: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, request) = args.release.ask(args.scan, invocation).await?;
    if args.watch {
        return answers::watch::answer(&request, args.timeout, args.exit_code, &session).await;
    }
    let status = session.engine.status(&request, &session.caller()).await;
    answers::status::answer(status, args.exit_code, &session)
}
