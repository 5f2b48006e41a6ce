//! The flags that change what an apply would do: the same for `apply`, for `rollback`, and for
//! `diff`, which shows it beforehand.

use opm_core::check::AdoptSelector;
use opm_engine::request::{Adopt, ApplyOptions, Concurrency};

use super::guard_args::GuardArgs;
use crate::error::{CliError, ErrorKind};

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// Leave what became stale standing; `opm mod prune` removes it later
    #[arg(long)]
    no_prune: bool,

    /// Take over existing objects that no release tracks: all of them, these, or those of a Helm
    /// release (helm/RELEASE)
    #[arg(long, help_heading = "What is in the way", value_name = "KIND/NAME", value_delimiter = ',', num_args = 0..=1, require_equals = true)]
    adopt: Option<Vec<AdoptSelector>>,

    /// Take over objects that belong to other releases, which then let go of them
    #[arg(long, help_heading = "What is in the way")]
    take_ownership: bool,

    /// Delete and recreate objects whose immutable fields changed
    #[arg(long, help_heading = "What is in the way")]
    recreate: bool,

    /// Let a module that renders nothing remove everything
    #[arg(long, help_heading = "What is in the way")]
    allow_empty: bool,

    /// Let what looks like another module of the same name remove everything that the release has
    #[arg(long, help_heading = "What is in the way")]
    replace_all: bool,

    /// The same as --recreate and --allow-empty together
    #[arg(long, help_heading = "What is in the way")]
    force: bool,

    /// Take over fields that somebody else manages
    #[arg(long, help_heading = "What is in the way")]
    force_conflicts: bool,

    /// Send every object, also those that would not change as far as can be told
    #[arg(long)]
    send_all: bool,

    /// Make up anew what charts make up (passwords, certificates), instead of keeping it
    #[arg(long)]
    rotate: bool,

    /// Do not run the hooks of charts
    #[arg(long)]
    no_hooks: bool,

    #[command(flatten)]
    guards: GuardArgs,

    /// Wait for objects that are being deleted, instead of refusing
    #[arg(long, help_heading = "Waiting")]
    wait_for_deletion: bool,

    /// How many requests to send at a time; without it, as many as the server takes well
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    concurrency: Option<usize>,
}

/// A count that makes sense only from one up.
pub(crate) fn at_least_one(given: &str) -> Result<usize, String> {
    match given.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it must be a number".to_owned()),
    }
}

impl PlanArgs {
    /// What these flags ask for; everything else as it is when nobody asks.
    pub(crate) fn options(&self) -> ApplyOptions {
        ApplyOptions {
            no_prune: self.no_prune,
            adopt: self.adopted(),
            take_ownership: self.take_ownership,
            recreate: self.recreate || self.force,
            allow_empty: self.allow_empty || self.force,
            replace_all: self.replace_all,
            force_conflicts: self.force_conflicts,
            send_all: self.send_all,
            hooks: !self.no_hooks,
            rotate: self.rotate,
            guards: self.guards.flags(),
            wait_for_deletion: self.wait_for_deletion,
            concurrency: self
                .concurrency
                .map_or_else(Concurrency::default, Concurrency::Fixed),
            ..ApplyOptions::default()
        }
    }

    /// Refuses `--adopt KIND/NAME` with a blank: then KIND/NAME would be the module.
    pub(crate) fn check_adopt(&self, modules: &[String]) -> Result<(), CliError> {
        let bare = self.adopt.as_ref().is_some_and(Vec::is_empty);
        let is_object = |module: &&String| {
            module.parse::<AdoptSelector>().is_ok()
                && !module.starts_with('.')
                && !std::path::Path::new(module).exists()
        };
        let Some(module) = modules.iter().find(is_object).filter(|_| bare) else {
            return Ok(());
        };
        let message = format!("{module} is taken for the module, and there is no such directory");
        let error = CliError::new(ErrorKind::Usage, message);
        Err(error.hint(format!("objects are named with `=`: --adopt={module}")))
    }

    fn adopted(&self) -> Adopt {
        match &self.adopt {
            None => Adopt::None,
            Some(named) if named.is_empty() => Adopt::All,
            Some(named) => Adopt::Named(named.clone()),
        }
    }
}
