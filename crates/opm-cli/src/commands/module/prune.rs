//! `opm mod prune`.

use std::time::Duration;

use opm_core::identity::ObjectSelector;
use opm_engine::request::{Concurrency, ObjectSelection, PruneRequest};

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Delete kept objects by name
///
/// What a guard, an opt-out or --no-prune left standing is never deleted on its own. This
/// deletes it, by name. Objects that have become somebody else's are spared.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// The kept objects to delete, such as PersistentVolumeClaim/data
    #[arg(
        value_name = "KIND/NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    objects: Vec<ObjectSelector>,

    /// Delete all kept objects, after a confirmation that lists them
    #[arg(long)]
    all: bool,

    /// Only show what would happen
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
    let request = PruneRequest {
        release,
        namespace,
        objects: if args.all {
            ObjectSelection::All
        } else {
            ObjectSelection::Named(args.objects.clone())
        },
        dry_run: args.dry_run,
        lock_timeout: args.lock_timeout,
        concurrency: Concurrency::default(),
    };
    let ended = session.engine.prune(&request, &session.caller()).await;
    answers::report::answer(ended, &session)
}
