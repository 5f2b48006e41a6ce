//! `opm mod forget`.

use std::time::Duration;

use opm_core::identity::ObjectSelector;
use opm_engine::request::{ForgetRequest, ObjectSelection};

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Stop tracking objects, and delete nothing
///
/// The objects lose the labels of the release, stay as they are otherwise, and are nobody's
/// afterwards. An apply that renders one of them again needs --adopt.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// The objects to forget, such as ConfigMap/settings
    #[arg(
        value_name = "KIND/NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    objects: Vec<ObjectSelector>,

    /// Forget everything: the release and its history are given up, after a confirmation that
    /// lists its objects
    #[arg(long)]
    all: bool,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    lock_timeout: Duration,

    /// Answer prompts with yes
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, release, namespace) = args.release.open(invocation, args.yes).await?;
    let request = ForgetRequest {
        release,
        namespace,
        objects: match args.all {
            true => ObjectSelection::All,
            false => ObjectSelection::Named(args.objects.clone()),
        },
        lock_timeout: args.lock_timeout,
    };
    let ended = session.engine.forget(&request, &session.caller()).await;
    answers::report::answer(ended, &session)
}
