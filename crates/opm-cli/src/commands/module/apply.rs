//! `opm mod apply`.

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use opm_core::review::ReviewedPlan;
use opm_engine::ports::{Answer, Prompt, Question};
use opm_engine::request::ApplyRequest;
use opm_render::Loaded;

use super::deploy_args::DeployArgs;
use super::rendering::{RenderArgs, Rendering};
use super::to_resource;
use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, ErrorKind, Exit};
use crate::invocation::Invocation;
use crate::settings::Settings;
use crate::ui::{Format, difference};

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

    /// Start from the values that the release has now, instead of the module's own
    #[arg(long, help_heading = "Values")]
    reuse_values: bool,

    #[command(flatten)]
    deploy: DeployArgs,

    /// Create the namespace of the release, and those that a Zarf package names, if they do not exist
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

    /// Carry out the plan that `opm mod diff --save` wrote to this file, and nothing else
    ///
    /// If the module, the release or its live objects have moved since, it is refused, and says
    /// what differs.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// Apply nothing, and print the ModuleRelease that asks the controller for the same
    ///
    /// With it comes a ConfigMap (a Secret, if there is one in the module) of the module's files, unless the module is named by a reference.
    #[arg(long, conflicts_with_all = ["plan", "dry_run", "reuse_values"])]
    to_resource: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    args.deploy.plan.check_adopt(&args.render.module)?;
    let mut rendering = Rendering::prepare(&args.render, invocation)?;
    if args.to_resource {
        let loaded = rendering.load().await?;
        let source = to_resource::source(&rendering.module, &loaded)?;
        let request = request(args, loaded.clone(), invocation.settings)?;
        return to_resource::print(&loaded, &request, &source, &invocation.ui);
    }
    if args.reuse_values {
        let session = Session::open(invocation, false).await?;
        rendering.reuse_values(&session).await?;
    }
    let (loaded, session) = rendering
        .load_and_connect(invocation, args.deploy.yes)
        .await?;
    let request = request(args, loaded, invocation.settings)?;
    let prompt = ReviewPrompt {
        session: &session,
        request: &request,
    };
    let mut caller = session.caller();
    caller.frontend.prompt = &prompt;
    let applied = session.engine.apply(&request, &caller).await;
    answers::report::answer(applied, &session)
}

fn request(args: &Args, loaded: Loaded, settings: &Settings) -> Result<ApplyRequest, CliError> {
    let mut options = args.deploy.options(settings);
    options.strict = args.render.strict;
    options.wait |= args.atomic;
    options.reviewed = args.plan.as_deref().map(saved_plan).transpose()?;
    Ok(ApplyRequest {
        selection: args.render.selected()?,
        create_namespace: args.create_namespace,
        atomic: args.atomic,
        record: !args.no_record,
        options,
        ..ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace)
    })
}

/// The plan in a file.
fn saved_plan(path: &Path) -> Result<ReviewedPlan, CliError> {
    let unusable = |why: String| {
        let message = format!("the plan {} cannot be used: {why}", path.display());
        CliError::new(ErrorKind::Invalid, message)
    };
    let bytes = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    ReviewedPlan::decode(&bytes).map_err(|error| unusable(error.to_string()))
}

/// Asks as always; whoever reviews the plan can see its details, as `diff` shows them.
struct ReviewPrompt<'a> {
    session: &'a Session,
    request: &'a ApplyRequest,
}

impl Prompt for ReviewPrompt<'_> {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let details = move || async move {
            let session = self.session;
            let report = session.engine.diff(self.request, &session.unheard()).await;
            match report {
                Ok(report) => difference::text(&report, Format::Table),
                Err(failure) => format!("the details could not be found out: {failure}\n"),
            }
        };
        Box::pin(self.session.prompt.ask_with(question, details))
    }
}
