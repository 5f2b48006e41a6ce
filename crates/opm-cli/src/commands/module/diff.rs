//! `opm mod diff`.

use std::path::{Path, PathBuf};

use opm_engine::diff::DiffReport;
use opm_engine::request::{ApplyOptions, ApplyRequest};

use super::plan_args::PlanArgs;
use super::rendering::{RenderArgs, Rendering};
use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, ErrorKind, Exit};
use crate::invocation::Invocation;

/// Show what an apply would do, field by field
///
/// Plans and checks as apply does, with the same flags, and lets the server pretend to carry it
/// out. Takes no lock and writes nothing. What a Secret holds is never shown, only which of its
/// keys would change.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,

    /// Start from the values that the release has now, instead of the module's own
    #[arg(long, help_heading = "Values")]
    reuse_values: bool,

    #[command(flatten)]
    plan: PlanArgs,

    /// The namespace of the release, and those that a Zarf package names, would be created if they do not exist
    #[arg(long)]
    create_namespace: bool,

    /// End with code 6 if there are differences, or orphans
    #[arg(long)]
    exit_code: bool,

    /// Save the plan in this file; `opm mod apply --plan` carries out exactly that
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    args.plan.check_adopt(&args.render.module)?;
    let mut rendering = Rendering::prepare(&args.render, invocation)?;
    if args.reuse_values {
        let session = Session::open(invocation, false).await?;
        rendering.reuse_values(&session).await?;
    }
    let (loaded, session) = rendering.load_and_connect(invocation, false).await?;
    let request = ApplyRequest {
        selection: args.render.selected()?,
        create_namespace: args.create_namespace,
        options: ApplyOptions {
            strict: args.render.strict,
            ..args.plan.options()
        },
        ..ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace)
    };
    let report = session.engine.diff(&request, &session.caller()).await;
    if let (Some(path), Ok(report)) = (&args.save, &report) {
        save(path, report)?;
    }
    answers::diff::answer(report, args.exit_code, &session)
}

/// Writes the plan of something that can be applied; what cannot is not saved.
fn save(path: &Path, report: &DiffReport) -> Result<(), CliError> {
    let (Some(plan), None) = (&report.plan, &report.would_fail) else {
        return Ok(());
    };
    std::fs::write(path, plan.encode()).map_err(|error| {
        let message = format!("failed to save the plan in {}: {error}", path.display());
        CliError::new(ErrorKind::Io, message)
    })
}
