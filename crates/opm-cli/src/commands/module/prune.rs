//! `opm mod prune`.

use std::time::Duration;

use opm_core::identity::ObjectSelector;
use opm_engine::request::{ObjectSelection, PruneRequest};

use super::plan_args::CONCURRENCY;
use super::release_arg::ReleaseArg;
use crate::cluster::{self, Session};
use crate::duration;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::Ui;

/// Delete kept objects by name
///
/// What a guard, an opt-out or --no-prune left standing is never deleted on its own. This
/// deletes it, by name. Objects that have become somebody else's are spared.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release: its name, its id, or the directory of its module
    release: ReleaseArg,

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

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let release = args.release.resolve(settings)?;
    cluster::run(async {
        let session = Session::open(settings, ui, &Interrupt::listen(*ui), args.yes).await?;
        let request = PruneRequest {
            release,
            namespace: session.namespace_or_default()?,
            objects: if args.all {
                ObjectSelection::All
            } else {
                ObjectSelection::Named(args.objects.clone())
            },
            dry_run: args.dry_run,
            lock_timeout: args.lock_timeout,
            concurrency: CONCURRENCY,
        };
        session.finish(session.engine.prune(&request, session.frontend()).await)
    })
}
