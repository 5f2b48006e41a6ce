//! `opm mod show`.

use clap::ValueEnum;
use opm_engine::request::ShowRequest;

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Show what is recorded of a change: its values or its manifests
///
/// Values are printed as they were recorded, as CUE (with -o json or yaml, as that), and may hold
/// secrets that the module was given. In manifests the values of Secrets are masked unless --reveal is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// What to show
    what: ShowTarget,

    /// Which change: the beginning of its digits, ~1, previous, last-good, or a deployment (#7); by default the current one
    #[arg(long, value_name = "CHANGE")]
    revision: Option<String>,

    /// Show what Secrets hold
    #[arg(long)]
    reveal: bool,
}

/// What is recorded of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShowTarget {
    /// The resolved values
    Values,
    /// The rendered manifests, as they were applied
    Manifests,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, release, namespace) = args.release.open(invocation, false).await?;
    let request = ShowRequest {
        release,
        namespace,
        revision: args.revision.clone(),
        reveal: args.reveal,
    };
    let caller = session.caller();
    match args.what {
        ShowTarget::Values => {
            let shown = session.engine.show_values(&request, &caller).await;
            answers::show::values(shown, &session)
        }
        ShowTarget::Manifests => {
            let shown = session.engine.show_manifests(&request, &caller).await;
            answers::show::manifests(shown, &session)
        }
    }
}
