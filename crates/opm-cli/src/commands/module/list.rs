//! `opm mod list`.

use opm_engine::request::ListRequest;

use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// List the releases of a namespace, or of all of them
///
/// Reads the metadata of the releases' Secrets and, without --health, nothing else. Where not all namespaces may be
/// looked into, it shows what it can see and says what it cannot.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,

    /// Look at the releases' objects too, and say how they are doing
    #[arg(long)]
    health: bool,

    /// Only releases that were deleted with their history kept
    #[arg(long)]
    deleted: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let session = Session::open(invocation, false).await?;
    let home = session.namespace_or_default()?;
    let request = ListRequest {
        namespace: (!args.all_namespaces).then(|| home.clone()),
        home,
        health: args.health,
        deleted: args.deleted,
    };
    let listing = session.engine.list(&request, &session.caller()).await;
    answers::list::answer(listing, &request, &session)
}
