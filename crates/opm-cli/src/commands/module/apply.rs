//! `opm mod apply`.

use std::time::Duration;

use opm_core::record::history::DEFAULT_MAX_HISTORY;
use opm_engine::request::ApplyRequest;
use opm_render::Loaded;

use super::plan_args::{PlanArgs, at_least_one};
use super::rendering::{RenderArgs, Rendering};
use crate::cluster::{self, Session};
use crate::duration;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
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

    /// Only show what would happen
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    plan: PlanArgs,

    /// How many changes to keep in the history
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_HISTORY, value_parser = at_least_one)]
    max_history: usize,

    /// Wait until everything that was applied is ready
    #[arg(long)]
    wait: bool,

    /// Remove what became stale only when everything that was applied is ready
    #[arg(long)]
    prune_after_ready: bool,

    /// Go back to the change before when the apply fails or is not ready in time
    ///
    /// Implies --wait. Nothing is recorded before everything is ready. After a first apply, what
    /// it created is removed again. Refused beforehand where there is no way back.
    #[arg(long, conflicts_with = "no_record")]
    atomic: bool,

    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    lock_timeout: Duration,

    /// Do not keep the rendered manifests of this change
    #[arg(long)]
    no_record: bool,

    /// What the log says about this deployment
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,

    /// Answer prompts with yes
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    let loaded = Rendering::prepare(&args.render, settings, ui, &interrupt)?.load()?;
    let request = request(args, loaded)?;
    cluster::run(async {
        let session = Session::open(settings, ui, &interrupt, args.yes).await?;
        session.finish(session.engine.apply(&request, session.audience()).await)
    })
}

fn request(args: &Args, loaded: Loaded) -> Result<ApplyRequest, CliError> {
    Ok(ApplyRequest {
        dry_run: args.dry_run,
        max_history: args.max_history,
        wait: args.wait || args.atomic,
        atomic: args.atomic,
        prune_after_ready: args.prune_after_ready,
        timeout: args.timeout,
        lock_timeout: args.lock_timeout,
        record: !args.no_record,
        message: args.message.clone(),
        ..args.plan.request(&args.render, loaded)?
    })
}
