//! `opm mod logs`.

use opm_core::name::ComponentName;
use opm_engine::request::LogRequest;

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::error::{CliError, ErrorKind, Exit};
use crate::invocation::Invocation;
use crate::ui::Format;

/// Show what the containers of a release write
///
/// Finds the pods below the release's objects and asks each of their containers. Every line says
/// which pod and container wrote it. The sandbox runs no containers, so it has no logs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// Only the pods of this component
    #[arg(value_name = "COMPONENT")]
    component: Option<ComponentName>,

    /// Go on, and show what is written until an interrupt
    #[arg(long, short)]
    follow: bool,

    /// How many of the last lines of each container to show
    #[arg(long, value_name = "N", default_value_t = 100)]
    tail: u32,

    /// What the container wrote before it was last restarted
    #[arg(long, conflicts_with = "follow")]
    previous: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let is_document = matches!(
        invocation.ui.asked_format(),
        Some(Format::Json | Format::Yaml)
    );
    if args.follow && is_document {
        let message = "--follow has no end, so it cannot be one document";
        return Err(CliError::new(ErrorKind::Usage, message).hint("leave out -o, or --follow"));
    }
    let (session, release, namespace) = args.release.open(invocation, false).await?;
    let request = LogRequest {
        release,
        namespace,
        component: args.component.clone(),
        tail: args.tail,
        previous: args.previous,
    };
    if args.follow {
        let mut lines = answers::below::FollowedLogs::new(&session);
        let caller = session.observer();
        let logs = session
            .engine
            .follow_logs(&request, &mut lines, &caller)
            .await;
        return answers::below::logs(logs, invocation.settings.sandbox, &session);
    }
    let logs = session.engine.logs(&request, &session.caller()).await;
    answers::below::logs(logs, invocation.settings.sandbox, &session)
}
