//! `opm mod tree`.

use super::release_arg::ReleaseOrHereArgs;
use crate::answers;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Show what lies below a release's objects: what each owns, and what that owns
///
/// Follows owner references from the release's objects down, through the kinds that Kubernetes'
/// own controllers make: ReplicaSets, Pods, Jobs and the like. Nothing is written.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseOrHereArgs,

    /// Look through all kinds that the cluster serves, not only the usual ones
    #[arg(long)]
    scan: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, request) = args.release.ask(args.scan, invocation).await?;
    let tree = session.engine.tree(&request, &session.caller()).await;
    answers::below::tree(tree, &session)
}
