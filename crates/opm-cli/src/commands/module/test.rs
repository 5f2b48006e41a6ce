//! `opm mod test`.

use std::time::Duration;

use opm_engine::request::TestRequest;

use super::release_arg::ReleaseArgs;
use crate::answers;
use crate::cluster::Session;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

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

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    runtime::run(async {
        let release = args.release.resolve(settings, ui, &interrupt).await?;
        let session = Session::open(settings, ui, &interrupt, false).await?;
        let request = TestRequest {
            release,
            namespace: session.namespace_or_default()?,
            timeout: args.timeout,
            lock_timeout: args.lock_timeout,
        };
        let ended = session.engine.test(&request, &session.caller()).await;
        answers::report::answer(ended, &session)
    })
}
