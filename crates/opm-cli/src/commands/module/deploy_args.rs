//! The flags that say how a deployment is carried out: the same for `apply` and `rollback`.

use std::time::Duration;

use opm_core::record::history::DEFAULT_MAX_HISTORY;
use opm_engine::request::ApplyOptions;

use super::plan_args::{PlanArgs, at_least_one};
use crate::duration;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
pub(crate) struct DeployArgs {
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

    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    lock_timeout: Duration,

    /// What the log says about this deployment
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,

    /// Answer prompts with yes
    #[arg(long, short)]
    pub(crate) yes: bool,
}

impl DeployArgs {
    /// What these flags ask for.
    pub(crate) fn options(&self, settings: &Settings) -> ApplyOptions {
        ApplyOptions {
            preflight: settings.preflight,
            dry_run: self.dry_run,
            max_history: self.max_history,
            wait: self.wait,
            prune_after_ready: self.prune_after_ready,
            timeout: self.timeout,
            lock_timeout: self.lock_timeout,
            message: self.message.clone(),
            ..self.plan.options()
        }
    }
}
