//! `opm mod delete`.

use std::time::Duration;

use opm_core::name::ComponentName;
use opm_engine::request::DeleteRequest;

use super::deploy_args::DryRunArg;
use super::guard_args::GuardArgs;
use super::release_arg::ReleaseOrHereArgs;
use crate::answers;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Remove a release, or one of its components
///
/// Deletes the objects that the release's record names, in reverse order, then the record.
/// Guarded objects and those that opted out stay, are reported, and keep their labels, so that a
/// later apply of the same release takes them up again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseOrHereArgs,

    /// Remove only this component, and record that as a change
    #[arg(long, value_name = "NAME")]
    component: Option<ComponentName>,

    #[command(flatten)]
    dry_run: DryRunArg,

    #[command(flatten)]
    guards: GuardArgs,

    /// Wait until everything is gone
    #[arg(long, help_heading = "Waiting", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true", hide_possible_values = true,
          hide_default_value = true)]
    wait: bool,

    /// How long to wait: for custom resources always, for the rest with --wait
    #[arg(long, help_heading = "Waiting", value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, help_heading = "Waiting", value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    lock_timeout: Duration,

    /// Keep changes and log: `rollback` can bring the release back, `list --deleted` shows it
    #[arg(long, conflicts_with = "component")]
    keep_history: bool,

    /// Do not run the hooks of charts
    #[arg(long)]
    no_hooks: bool,

    /// Succeed if there is no such release
    #[arg(long)]
    ignore_not_found: bool,

    /// What the log says about this deployment
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,

    /// Answer prompts with yes
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, release, namespace) = args.release.open(invocation, args.yes).await?;
    let request = DeleteRequest {
        component: args.component.clone(),
        dry_run: args.dry_run.is_asked_for(),
        guards: args.guards.flags(),
        wait: args.wait,
        timeout: args.timeout,
        lock_timeout: args.lock_timeout,
        hooks: !args.no_hooks,
        keep_history: args.keep_history,
        ignore_not_found: args.ignore_not_found,
        message: args.message.clone(),
        ..DeleteRequest::new(release, namespace)
    };
    let ended = session.engine.delete(&request, &session.caller()).await;
    answers::report::answer(ended, &session)
}
