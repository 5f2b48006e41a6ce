//! `opm mod apply`.

use std::time::Duration;

use opm_core::identity::ObjectSelector;
use opm_core::name::{ComponentName, NameError};
use opm_engine::request::{Adopt, ApplyRequest};
use opm_render::Loaded;

use super::guard_args::GuardArgs;
use super::rendering::{RenderArgs, Rendering};
use crate::cluster::{self, Session};
use crate::duration;
use crate::error::{CliError, ErrorKind, Exit};
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::Ui;

/// Render a module and apply it to the cluster
///
/// Creates and changes what the module renders, then removes what an earlier apply of the same
/// release left behind and is rendered no more. Nothing is touched unless all checks pass;
/// nothing is removed unless everything was applied.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,

    /// Only show what would happen
    #[arg(long)]
    dry_run: bool,

    /// Leave what became stale standing; `opm mod prune` removes it later
    #[arg(long)]
    no_prune: bool,

    /// How many changes to keep in the history
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    max_history: usize,

    /// Create the namespace of the release if it does not exist
    #[arg(long)]
    create_namespace: bool,

    /// Take over existing objects that no release tracks: all of them, or these
    #[arg(long, value_name = "KIND/NAME", value_delimiter = ',', num_args = 0..=1, require_equals = true)]
    adopt: Option<Vec<ObjectSelector>>,

    /// Delete and recreate objects whose immutable fields changed
    #[arg(long)]
    recreate: bool,

    /// Let a module that renders nothing remove everything
    #[arg(long)]
    allow_empty: bool,

    /// The same as --recreate and --allow-empty together
    #[arg(long)]
    force: bool,

    /// Take over fields that somebody else manages
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    guards: GuardArgs,

    /// Wait until everything that was applied is ready
    #[arg(long)]
    wait: bool,

    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,

    /// Wait for objects that are being deleted, instead of refusing
    #[arg(long)]
    wait_for_deletion: bool,

    /// How long to wait for somebody else who is changing the release
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    lock_timeout: Duration,

    /// Do not keep the rendered manifests of this change
    #[arg(long)]
    no_record: bool,

    /// How many requests to send at a time
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = at_least_one)]
    concurrency: usize,

    /// What the log says about this deployment
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,

    /// Answer prompts with yes
    #[arg(long, short)]
    yes: bool,
}

fn at_least_one(given: &str) -> Result<usize, String> {
    match given.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it must be a number".to_owned()),
    }
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    let loaded = Rendering::prepare(&args.render, settings, ui, &interrupt)?.load()?;
    let request = request(args, loaded)?;
    cluster::run(async {
        let session = Session::open(settings, ui, &interrupt, args.yes).await?;
        session.finish(session.engine.apply(&request, session.audience()).await)
    })
}

/// The optional components that were asked for; none leaves what is recorded.
fn selected(args: &RenderArgs) -> Result<Option<Vec<ComponentName>>, CliError> {
    let names = args.components.as_ref().map(|names| {
        let named = names.iter().filter(|name| !name.is_empty());
        named.map(ComponentName::new).collect::<Result<Vec<_>, _>>()
    });
    let invalid = |error: NameError| CliError::new(ErrorKind::Invalid, error.to_string());
    names.transpose().map_err(invalid)
}

fn request(args: &Args, loaded: Loaded) -> Result<ApplyRequest, CliError> {
    Ok(ApplyRequest {
        rendered: loaded.rendered,
        name: loaded.name,
        namespace: loaded.namespace,
        selection: selected(&args.render)?,
        dry_run: args.dry_run,
        no_prune: args.no_prune,
        max_history: args.max_history,
        create_namespace: args.create_namespace,
        adopt: match &args.adopt {
            None => Adopt::None,
            Some(named) if named.is_empty() => Adopt::All,
            Some(named) => Adopt::Named(named.clone()),
        },
        take_ownership: false,
        recreate: args.recreate || args.force,
        allow_empty: args.allow_empty || args.force,
        force_conflicts: args.force_conflicts,
        guards: args.guards.flags(),
        wait: args.wait,
        prune_after_ready: false,
        timeout: args.timeout,
        wait_for_deletion: args.wait_for_deletion,
        lock_timeout: args.lock_timeout,
        atomic: false,
        record: !args.no_record,
        concurrency: args.concurrency,
        message: args.message.clone(),
    })
}
