//! `opm mod apply`.

use opm_engine::request::ApplyRequest;
use opm_render::Loaded;

use super::deploy_args::DeployArgs;
use super::rendering::{RenderArgs, Rendering};
use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Render a module and apply it to the cluster
///
/// Creates and changes what the module renders, then removes what an earlier apply of the same
/// release left behind and is rendered no more. Nothing is touched unless all checks pass;
/// nothing is removed unless everything was applied. `opm mod diff` shows beforehand what it
/// would do.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,

    #[command(flatten)]
    deploy: DeployArgs,

    /// Create the namespace of the release if it does not exist
    #[arg(long)]
    create_namespace: bool,

    /// Go back to the change before when the apply fails or is not ready in time
    ///
    /// Implies --wait and --preflight. Nothing is recorded before everything is ready. After a first apply, what
    /// it created is removed again. Refused beforehand where there is no way back.
    #[arg(long, conflicts_with = "no_record")]
    atomic: bool,

    /// Do not keep the rendered manifests of this change
    #[arg(long)]
    no_record: bool,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    let rendering = Rendering::prepare(&args.render, settings, ui, &interrupt)?;
    runtime::run(async {
        let request = request(args, rendering.load().await?, settings)?;
        let session = Session::open(settings, ui, &interrupt, args.deploy.yes).await?;
        let applied = session.engine.apply(&request, &session.caller()).await;
        answers::report::answer(applied, &session)
    })
}

fn request(args: &Args, loaded: Loaded, settings: &Settings) -> Result<ApplyRequest, CliError> {
    let mut options = args.deploy.options(settings);
    options.wait |= args.atomic;
    Ok(ApplyRequest {
        selection: args.render.selected()?,
        create_namespace: args.create_namespace,
        atomic: args.atomic,
        record: !args.no_record,
        options,
        ..ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace)
    })
}
