//! `opm mod unlock`.

use opm_engine::request::UnlockRequest;

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

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

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, release, namespace) = args.release.open(invocation, args.yes).await?;
    let request = UnlockRequest { release, namespace };
    let ended = session.engine.unlock(&request, &session.caller()).await;
    answers::report::answer(ended, &session)
}
