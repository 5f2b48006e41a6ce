//! `opm mod rollback`.

use futures::future::BoxFuture;
use opm_engine::ports::{Answer, Prompt, Question};
use opm_engine::request::RollbackRequest;
use opm_render::ModuleRenderer;

use super::deploy_args::DeployArgs;
use super::release_arg::ReleaseOrHereArgs;
use super::rendering;
use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;
use crate::ui::{Format, difference};

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

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let renderer = rendering::renderer(invocation).recorded_in(args.release.directory());
    let (session, release, namespace) = args.release.open(invocation, args.deploy.yes).await?;
    let request = RollbackRequest {
        release,
        namespace,
        revision: args.revision.clone(),
        options: args.deploy.options(invocation.settings),
    };
    let prompt = RollbackPrompt {
        session: &session,
        request: &request,
        renderer: &renderer,
    };
    let mut caller = session.caller();
    caller.frontend.prompt = &prompt;
    let rolled_back = session.engine.rollback(&request, &renderer, &caller).await;
    answers::report::answer(rolled_back, &session)
}

/// Asks as always; whoever reviews the plan can see its details, as `diff` shows them.
struct RollbackPrompt<'a> {
    session: &'a Session,
    request: &'a RollbackRequest,
    renderer: &'a ModuleRenderer,
}

impl Prompt for RollbackPrompt<'_> {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let details = move || async move {
            let session = self.session;
            let caller = session.unheard();
            let engine = &session.engine;
            let report = engine.diff_rollback(self.request, self.renderer, &caller);
            match report.await {
                Ok(report) => difference::text(&report, Format::Table),
                Err(failure) => format!("the details could not be found out: {failure}\n"),
            }
        };
        Box::pin(self.session.prompt.ask_with(question, details))
    }
}
