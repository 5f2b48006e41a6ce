//! The flags that say how a deployment is carried out: the same for `apply` and `rollback`.

use std::time::Duration;

use opm_core::record::history::DEFAULT_MAX_HISTORY;
use opm_engine::request::ApplyOptions;

use super::plan_args::{PlanArgs, at_least_one};
use crate::duration;
use crate::settings::Settings;

/// `--dry-run`, also as other tools spell it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct DryRunArg {
    /// Only show what would happen; the server is asked either way
    #[arg(long, value_name = "client|server", num_args = 0..=1, require_equals = true,
          default_missing_value = "server", hide_possible_values = true)]
    dry_run: Option<DryRun>,
}

/// Where other tools pretend. Here the server does, which knows best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DryRun {
    #[value(alias = "true")]
    Server,
    Client,
    #[value(alias = "false")]
    None,
}

impl DryRunArg {
    pub(crate) fn is_asked_for(self) -> bool {
        self.dry_run.is_some_and(|where_| where_ != DryRun::None)
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct DeployArgs {
    #[command(flatten)]
    dry_run: DryRunArg,

    #[command(flatten)]
    pub(crate) plan: PlanArgs,

    /// How many changes to keep in the history
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_HISTORY, value_parser = at_least_one)]
    max_history: usize,

    /// Wait until everything that was applied is ready
    #[arg(long, help_heading = "Waiting", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true", hide_possible_values = true,
          hide_default_value = true)]
    wait: bool,

    /// Remove what became stale only when everything that was applied is ready
    #[arg(long, help_heading = "Waiting")]
    prune_after_ready: bool,

    /// How long to wait
    #[arg(long, help_heading = "Waiting", value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, help_heading = "Waiting", value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
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
            review: settings.review.into(),
            dry_run: self.dry_run.is_asked_for(),
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
