//! Completion of what is typed in a shell, the cluster's own names included: releases, changes,
//! components, contexts and namespaces. What cannot be told in time is left out, in silence.

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use clap::{Command, FromArgMatches as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};
use opm_core::ids::ChangeId;
use opm_core::name::ReleaseName;
use opm_engine::request::{HistoryRequest, ListRequest, ReleaseRef, StatusRequest};

use crate::args::{self, GlobalArgs};
use crate::cluster::Session;
use crate::env::Environment;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;
use crate::runtime;
use crate::settings::{ConfigFile, Settings, Surroundings, resolve};
use crate::ui::{Color, Ui, Verbosity};

/// The variable by which a shell's script asks for completions.
pub(crate) const VARIABLE: &str = "OPM_COMPLETE";

/// How long a cluster may take. A shell waits at most 300 ms.
const PATIENCE: Duration = Duration::from_millis(220);

/// The script that makes a shell ask.
pub(crate) fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let completer: &dyn EnvCompleter = shells.completer(shell)?;
    let written = completer.write_registration(VARIABLE, "opm", "opm", "opm", &mut script);
    written.ok().map(|()| script)
}

/// Answers a shell that asks, if one does.
pub(crate) fn answer(arguments: &[OsString], given: &Surroundings) -> Option<Exit> {
    let shell = given.env.get(VARIABLE)?.to_str()?.to_owned();
    let shells = Shells::builtins();
    let completer = shells.completer(&shell)?;
    let typed = arguments.iter().position(|word| word == "--");
    let typed: Vec<OsString> = match typed {
        Some(at) => arguments[at + 1..].to_vec(),
        None => Vec::new(),
    };
    let known = Arc::new(Known::of(&typed, &given.env, given));
    let mut command = with_names(args::command(), &known);
    let mut out = Vec::new();
    let ui = Ui::new(None, Verbosity::Quiet, Color::Never);
    if completer
        .write_complete(&mut command, typed, None, &mut out)
        .is_ok()
    {
        let _ = ui.verbatim(&String::from_utf8_lossy(&out));
    }
    Some(Exit::DONE)
}

/// What is known of the line that is being typed.
struct Known {
    settings: Option<Settings>,
    /// The release that is named on the line, if one is.
    release: Option<ReleaseName>,
}

impl Known {
    fn of(typed: &[OsString], _env: &Environment, given: &Surroundings) -> Self {
        // Half a line: what can be understood of it counts.
        let command = args::command().ignore_errors(true);
        let matches = command.try_get_matches_from(typed).ok();
        let global = matches
            .as_ref()
            .and_then(|matches| GlobalArgs::from_arg_matches(matches).ok());
        let settings = global.and_then(|global| resolve(&global, given, ConfigFile::Read).ok());
        let mut words = typed.iter().filter_map(|word| word.to_str());
        let release = words
            .by_ref()
            .skip_while(|word| args::command_of_module(word).is_none())
            .nth(1)
            .and_then(|word| ReleaseName::new(word).ok());
        Self { settings, release }
    }

    /// Asks the cluster, unless that takes too long.
    fn ask<T, F>(&self, question: impl FnOnce(Session) -> F) -> Option<T>
    where
        F: Future<Output = Option<T>>,
    {
        let settings = self.settings.as_ref()?;
        let usable = settings
            .check_trust()
            .and_then(|()| settings.check_sandbox());
        usable.ok()?;
        let ui = Ui::new(None, Verbosity::Quiet, Color::Never);
        let asked = async {
            let invocation = Invocation::new(settings, &ui);
            let answered = async {
                let session = Session::open(&invocation, false).await.ok()?;
                question(session).await
            };
            let answer = tokio::time::timeout(PATIENCE, answered).await;
            Ok::<Option<T>, CliError>(answer.ok().flatten())
        };
        runtime::run(asked).ok().flatten()
    }

    fn releases(&self) -> Vec<String> {
        let listed = self.ask(|session| async move {
            let home = session.namespace_or_default().ok()?;
            let request = ListRequest {
                namespace: Some(home.clone()),
                home,
                health: false,
                deleted: false,
            };
            let listing = session.engine.list(&request, &session.observer()).await;
            let names = listing.ok()?.releases.into_iter();
            Some(names.map(|listed| listed.summary.name).collect())
        });
        listed.unwrap_or_default()
    }

    fn changes(&self) -> Vec<String> {
        let words = ["previous", "last-good"].map(str::to_owned);
        let Some(name) = self.release.clone() else {
            return words.to_vec();
        };
        let history = self.ask(|session| async move {
            let request = HistoryRequest {
                release: ReleaseRef::Name(name),
                namespace: session.namespace_or_default().ok()?,
            };
            let history = session.engine.history(&request, &session.observer()).await;
            let changes = history.ok()?.changes.into_iter();
            let short = |id: String| id.strip_prefix(ChangeId::PREFIX).map(str::to_owned);
            Some(changes.filter_map(|change| short(change.id)).collect())
        });
        let mut all: Vec<String> = history.unwrap_or_default();
        all.extend(words);
        all
    }

    fn components(&self) -> Vec<String> {
        let Some(name) = self.release.clone() else {
            return Vec::new();
        };
        let status = self.ask(|session| async move {
            let request = StatusRequest {
                release: ReleaseRef::Name(name),
                namespace: session.namespace_or_default().ok()?,
                scan: false,
            };
            let status = session.engine.status(&request, &session.observer()).await;
            let mut names: Vec<String> = status
                .ok()?
                .objects()
                .map(|object| object.entry.component.clone())
                .collect();
            names.sort();
            names.dedup();
            Some(names)
        });
        status.unwrap_or_default()
    }

    fn contexts(&self) -> Vec<String> {
        let Some(settings) = &self.settings else {
            return Vec::new();
        };
        opm_cluster::contexts(settings.kubeconfig.as_ref(), &settings.cluster)
    }

    fn namespaces(&self) -> Vec<String> {
        let names =
            self.ask(
                |session| async move { session.engine.namespaces(&session.observer()).await.ok() },
            );
        names.unwrap_or_default()
    }
}

/// Which arguments take which of the cluster's names.
fn with_names(command: Command, known: &Arc<Known>) -> Command {
    let completer = |names: fn(&Known) -> Vec<String>| {
        let known = Arc::clone(known);
        ArgValueCompleter::new(move |current: &OsStr| {
            let begin = current.to_string_lossy().into_owned();
            let names = names(&known).into_iter();
            let fitting = names.filter(|name| name.starts_with(&begin));
            fitting.map(CompletionCandidate::new).collect::<Vec<_>>()
        })
    };
    let names: [(&str, ArgValueCompleter); 6] = [
        ("given", completer(Known::releases)),
        ("revision", completer(Known::changes)),
        ("diff", completer(Known::changes)),
        ("component", completer(Known::components)),
        ("context", completer(Known::contexts)),
        ("namespace", completer(Known::namespaces)),
    ];
    adding(command, &names)
}

fn adding(command: Command, names: &[(&'static str, ArgValueCompleter)]) -> Command {
    let command = command.mut_args(|argument| {
        let found = names.iter().find(|(id, _)| argument.get_id() == *id);
        match found {
            Some((_, completer)) => argument.add(completer.clone()),
            None => argument,
        }
    });
    command.mut_subcommands(|subcommand| adding(subcommand, names))
}
