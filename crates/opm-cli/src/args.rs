//! What can be typed: the command and the flags that every command takes.
//!
//! Only what was typed; what it means together with the environment and the configuration file
//! is decided in `settings`. So every flag is optional here, and none has a default.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser};

use crate::commands::Command;
use crate::pre_settings;
use crate::ui::{Color, Format, Review};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// A release manager for Kubernetes
///
/// `opm` renders a module, applies it, remembers exactly what it applied, removes exactly what
/// became stale, and can show, explain, repair and roll back all of it.
#[derive(Debug, Parser)]
#[command(name = "opm", version, propagate_version = false, styles = STYLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The whole command line. The commands of `mod` are also there without it, and not listed
/// twice.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let modules = command.find_subcommand("mod").into_iter();
    let of_module = modules.flat_map(clap::Command::get_subcommands);
    let of_module: Vec<String> = of_module.map(|one| one.get_name().to_owned()).collect();
    command.mut_subcommands(|subcommand| {
        match of_module.iter().any(|name| name == subcommand.get_name()) {
            true => subcommand.hide(true),
            false => subcommand,
        }
    })
}

/// The command of `mod` that this word calls.
pub(crate) fn command_of_module(word: &str) -> Option<clap::Command> {
    let command = Cli::command();
    let modules = command.find_subcommand("mod")?;
    modules.find_subcommand(word).cloned()
}

/// What was typed, or what to answer instead.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command();
    // As kubectl calls it.
    if program(arguments).is_some_and(|name| name == "kubectl-opm") {
        command = command.bin_name("kubectl opm");
    }
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// What the program is called.
fn program(arguments: &[OsString]) -> Option<&str> {
    let path = std::path::Path::new(arguments.first()?);
    path.file_stem()?.to_str()
}

impl Cli {
    /// Takes the lists of features from the whole command line: of a list that stands before
    /// and after the subcommand, clap keeps only the latter half.
    pub(crate) fn with_lists_of(mut self, arguments: &[OsString]) -> Self {
        let typed = pre_settings::scan(arguments);
        self.global.feature_enable = typed.feature_enable;
        self.global.feature_disable = typed.feature_disable;
        self
    }
}

/// The flags that every command takes.
///
/// A switch can also be given a value (`--sandbox=false`), to overrule the environment or the
/// configuration file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// The kubeconfig file that says how to reach the cluster [env: OPM_KUBECONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig to use [env: OPM_CONTEXT]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// The namespace of the release [env: OPM_NAMESPACE]
    #[arg(long, short, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Act as this user, if the cluster permits it [env: OPM_AS]
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) as_user: Option<String>,

    /// Use the cluster that is built into opm, instead of a real one [env: OPM_SANDBOX]
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", hide_possible_values = true)]
    pub(crate) sandbox: Option<bool>,

    /// The directory that holds the built-in cluster [env: OPM_SANDBOX_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) sandbox_dir: Option<PathBuf>,

    /// The format of the answer on standard output [env: OPM_OUTPUT]
    #[arg(long, short, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,

    /// Read this configuration file, and no other [env: OPM_CONFIG]
    ///
    /// Without it, opm reads `opm-config.yaml` (or `.yml`) or `opm-config.toml` in the working directory,
    /// or else in the user's configuration directory.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Say more about what is being done; twice for everything [env: OPM_VERBOSE]
    #[arg(long, short, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,

    /// Say nothing but errors and warnings [env: OPM_QUIET]
    #[arg(long, short, global = true, value_name = "BOOL", num_args = 0..=1,
          require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) quiet: Option<bool>,

    /// Whether to colour the output [env: OPM_COLOR]
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<Color>,

    /// Write every event of the run as a line of JSON to standard error [env: OPM_EVENTS]
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", hide_possible_values = true)]
    pub(crate) events: Option<bool>,

    /// How many deployments a release's log remembers, 50 if nobody says otherwise [env: OPM_LOG_ENTRIES]
    #[arg(long, global = true, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) log_entries: Option<usize>,

    /// The tools that opm replaces: their managed fields are taken over with an object [env: OPM_RETIRED_MANAGERS]
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) retired_managers: Option<Vec<String>>,
    /// Before an apply or rollback, let the server pretend to take everything first [env: OPM_PREFLIGHT]
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", hide_possible_values = true)]
    pub(crate) preflight: Option<bool>,

    /// When a person is shown the plan of an apply or rollback and asked [env: OPM_REVIEW]
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) review: Option<Review>,

    /// Keep renderings of CUE modules in the user's cache, on if nobody says otherwise [env: OPM_RENDER_CACHE]
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", hide_possible_values = true)]
    pub(crate) render_cache: Option<bool>,

    /// Keep what clusters serve in the user's cache, on if nobody says otherwise [env: OPM_DISCOVERY_CACHE]
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", hide_possible_values = true)]
    pub(crate) discovery_cache: Option<bool>,

    /// Enable these features; `opm feature list` shows them [env: OPM_FEATURE_ENABLE]
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) feature_enable: Vec<String>,

    /// Disable these features [env: OPM_FEATURE_DISABLE]
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) feature_disable: Vec<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;
    use crate::settings::Key;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_setting_has_a_flag_whose_help_names_its_variable() {
        let command = Cli::command();
        for key in Key::ALL {
            let flag = command
                .get_arguments()
                .find(|arg| arg.get_long() == Some(key.flag()));
            let help = flag.and_then(|arg| arg.get_help()).map(ToString::to_string);
            let variable = format!("[env: {}]", key.variable());
            assert!(
                help.is_some_and(|help| help.ends_with(&variable)),
                "--{}",
                key.flag()
            );
        }
    }

    #[test]
    fn every_global_flag_is_a_setting() {
        for arg in Cli::command().get_arguments() {
            let long = arg.get_long().unwrap_or_default();
            assert!(Key::ALL.iter().any(|key| key.flag() == long), "--{long}");
        }
    }
}
