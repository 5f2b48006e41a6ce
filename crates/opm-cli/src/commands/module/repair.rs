//! `opm mod repair`.

use std::time::Duration;

use opm_engine::request::RepairRequest;

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Rebuild the record of a release that was deleted or damaged
///
/// Keeps what can still be read, brings changes back from the records beside it, and finds the
/// release's objects by their labels. Shows what it found and what it would write, and asks.
/// Nothing is taken in that the release did not apply. Run again, it changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// Only show what was found and what would be written
    #[arg(long)]
    dry_run: bool,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    lock_timeout: Duration,

    /// Answer prompts with yes
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, release, namespace) = args.release.open(invocation, args.yes).await?;
    let request = RepairRequest {
        release,
        namespace,
        dry_run: args.dry_run,
        lock_timeout: args.lock_timeout,
    };
    let repaired = session.engine.repair(&request, &session.caller()).await;
    answers::repair::answer(repaired, &session)
}
