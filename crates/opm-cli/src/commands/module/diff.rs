//! `opm mod diff`.

use opm_engine::request::ApplyRequest;

use super::plan_args::PlanArgs;
use super::rendering::{RenderArgs, Rendering};
use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Show what an apply would do, field by field
///
/// Plans and checks as apply does, with the same flags, and lets the server pretend to carry it
/// out. Takes no lock and writes nothing. What a Secret holds is never shown, only which of its
/// keys would change.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,

    #[command(flatten)]
    plan: PlanArgs,

    /// The namespace of the release would be created if it does not exist
    #[arg(long)]
    create_namespace: bool,

    /// End with code 6 if there are differences, or orphans
    #[arg(long)]
    exit_code: bool,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    let rendering = Rendering::prepare(&args.render, settings, ui, &interrupt)?;
    runtime::run(async {
        let loaded = rendering.load().await?;
        let request = ApplyRequest {
            selection: args.render.selected()?,
            create_namespace: args.create_namespace,
            options: args.plan.options(),
            ..ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace)
        };
        let session = Session::open(settings, ui, &interrupt, false).await?;
        let report = session.engine.diff(&request, &session.caller()).await;
        answers::diff::answer(report, args.exit_code, &session)
    })
}
