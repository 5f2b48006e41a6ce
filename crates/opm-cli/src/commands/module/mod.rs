//! `opm mod`: modules and their releases.

mod apply;
mod build;
mod delete;
mod deploy_args;
mod diff;
mod events;
mod forget;
mod guard_args;
mod history;
mod init;
mod list;
mod logs;
mod out_dir;
mod plan_args;
mod prune;
mod rbac;
mod release_arg;
mod rendering;
mod repair;
mod rollback;
mod show;
mod status;
mod test;
mod to_resource;
mod tree;
mod unlock;
mod vet;
mod vet_types;

use clap::Subcommand;

pub(crate) use rendering::{RenderArgs, Rendering, refused, renderer};
pub(crate) use to_resource::print_objects;

use crate::error::{CliError, Exit};
use crate::invocation::Invocation;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Work with modules and their releases
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Vet(vet::Args),
    Build(build::Args),
    Apply(Box<apply::Args>),
    Diff(Box<diff::Args>),
    #[command(visible_alias = "rm")]
    Delete(delete::Args),
    Status(status::Args),
    #[command(visible_alias = "ls")]
    List(list::Args),
    History(history::Args),
    Show(show::Args),
    Rollback(Box<rollback::Args>),
    Test(test::Args),
    Prune(prune::Args),
    Forget(forget::Args),
    Repair(repair::Args),
    Unlock(unlock::Args),
    Rbac(rbac::Args),
    Tree(tree::Args),
    Events(events::Args),
    Logs(logs::Args),
}

pub(super) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let invocation = Invocation::new(settings, ui);
    runtime::run(async {
        match command {
            Command::Init(args) => init::run(args, settings, ui),
            Command::Vet(args) => vet::run(args, &invocation).await,
            Command::Build(args) => build::run(args, &invocation).await,
            Command::Apply(args) => apply::run(args, &invocation).await,
            Command::Diff(args) => diff::run(args, &invocation).await,
            Command::Delete(args) => delete::run(args, &invocation).await,
            Command::Status(args) => status::run(args, &invocation).await,
            Command::List(args) => list::run(args, &invocation).await,
            Command::History(args) => history::run(args, &invocation).await,
            Command::Show(args) => show::run(args, &invocation).await,
            Command::Rollback(args) => rollback::run(args, &invocation).await,
            Command::Test(args) => test::run(args, &invocation).await,
            Command::Prune(args) => prune::run(args, &invocation).await,
            Command::Forget(args) => forget::run(args, &invocation).await,
            Command::Repair(args) => repair::run(args, &invocation).await,
            Command::Unlock(args) => unlock::run(args, &invocation).await,
            Command::Rbac(args) => rbac::run(args, &invocation).await,
            Command::Tree(args) => tree::run(args, &invocation).await,
            Command::Events(args) => events::run(args, &invocation).await,
            Command::Logs(args) => logs::run(args, &invocation).await,
        }
    })
}
