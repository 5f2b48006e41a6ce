//! `opm mod tree`.

use super::release_arg::ReleaseOrHereArgs;
use crate::answers;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

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

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    runtime::run(async {
        let asked = args.release.ask(args.scan, settings, ui, &interrupt);
        let (session, request) = asked.await?;
        let tree = session.engine.tree(&request, &session.caller()).await;
        answers::below::tree(tree, &session)
    })
}
