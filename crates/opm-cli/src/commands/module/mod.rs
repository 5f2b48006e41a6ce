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
    match command {
        Command::Init(args) => init::run(args, settings, ui),
        Command::Vet(args) => vet::run(args, settings, ui),
        Command::Build(args) => build::run(args, settings, ui),
        Command::Apply(args) => apply::run(args, settings, ui),
        Command::Diff(args) => diff::run(args, settings, ui),
        Command::Delete(args) => delete::run(args, settings, ui),
        Command::Status(args) => status::run(args, settings, ui),
        Command::List(args) => list::run(args, settings, ui),
        Command::History(args) => history::run(args, settings, ui),
        Command::Show(args) => show::run(args, settings, ui),
        Command::Rollback(args) => rollback::run(args, settings, ui),
        Command::Test(args) => test::run(args, settings, ui),
        Command::Prune(args) => prune::run(args, settings, ui),
        Command::Forget(args) => forget::run(args, settings, ui),
        Command::Repair(args) => repair::run(args, settings, ui),
        Command::Unlock(args) => unlock::run(args, settings, ui),
        Command::Rbac(args) => rbac::run(args, settings, ui),
        Command::Tree(args) => tree::run(args, settings, ui),
        Command::Events(args) => events::run(args, settings, ui),
        Command::Logs(args) => logs::run(args, settings, ui),
    }
}
