//! `opm mod rollback`.

use opm_engine::request::RollbackRequest;

use super::deploy_args::DeployArgs;
use super::release_arg::ReleaseOrHereArgs;
use super::rendering;
use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Apply a recorded change again
///
/// By default the current change if the last deployment did not succeed, else the change before
/// it. The manifests come from the cluster, verified by their digest: neither the module nor a
/// registry is needed. Where they are not kept, the module is rendered again with the recorded
/// values, and refused if that does not come to the same. From there on it is an ordinary apply.
/// The content of volumes does not come back.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseOrHereArgs,

    /// Which change: the beginning of its digits, ~1, previous, last-good, or a deployment (#7)
    #[arg(long, value_name = "CHANGE")]
    revision: Option<String>,

    #[command(flatten)]
    deploy: DeployArgs,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    let renderer = rendering::renderer(settings, ui).recorded_in(args.release.directory());
    runtime::run(async {
        let release = args.release.resolve(settings, ui, &interrupt).await?;
        let session = Session::open(settings, ui, &interrupt, args.deploy.yes).await?;
        let request = RollbackRequest {
            release,
            namespace: session.namespace_or_default()?,
            revision: args.revision.clone(),
            options: args.deploy.options(settings),
        };
        let caller = session.caller();
        let rolled_back = session.engine.rollback(&request, &renderer, &caller).await;
        answers::report::answer(rolled_back, &session)
    })
}
