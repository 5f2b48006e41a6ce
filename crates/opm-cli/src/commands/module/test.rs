//! `opm mod test`.

use std::time::Duration;

use opm_engine::request::TestRequest;

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Run the tests that a release's charts bring along
///
/// Test hooks of the current change are made and waited for, one after the other. What a chart
/// does not delete afterwards stays, and goes with the release.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// How long each test may take
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    lock_timeout: Duration,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, release, namespace) = args.release.open(invocation, false).await?;
    let request = TestRequest {
        release,
        namespace,
        timeout: args.timeout,
        lock_timeout: args.lock_timeout,
    };
    let ended = session.engine.test(&request, &session.caller()).await;
    answers::report::answer(ended, &session)
}
