//! One command's dealings with a cluster: client, engine, interrupts, in one place.

use std::future::Future;
use std::time::Duration;

use opm_cluster::{ClusterClient, SystemClock};
use opm_core::name::NamespaceName;
use opm_core::record::size::MAX_RECORD_BYTES;
use opm_engine::ports::Frontend;
use opm_engine::request::StatusRequest;
use opm_engine::status::Status;
use opm_engine::{Engine, Failure, Report, Settings as EngineSettings, Timing};
use tokio::runtime::Builder;

use super::actor::actor;
use super::connect::connect;
use super::observer::Watching;
use super::progress::Progress;
use super::prompt::TerminalPrompt;
use super::{report, status};
use crate::error::{CliError, ErrorKind, Exit};
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::{Format, Ui};

/// A connected engine, and what belongs to it.
pub(crate) struct Session {
    /// The use cases.
    pub(crate) engine: Engine<ClusterClient, ClusterClient, SystemClock>,
    /// The namespace that the flag, or else the context, sets.
    pub(crate) namespace: Option<NamespaceName>,
    server: String,
    pub(super) ui: Ui,
    progress: Progress,
    prompt: TerminalPrompt,
}

impl Session {
    /// Connects to the cluster that the settings name.
    pub(crate) async fn open(
        settings: &Settings,
        ui: &Ui,
        interrupt: &Interrupt,
        yes: bool,
    ) -> Result<Self, CliError> {
        let connection = connect(settings).await?;
        let for_tests = &settings.for_tests;
        let clock = SystemClock::wrong_by(for_tests.clock_shift.unwrap_or_default());
        let engine_settings = EngineSettings {
            actor: actor(settings.user.as_deref(), settings.pipeline.as_deref()),
            timing: for_tests.lock_ttl.map_or_else(Timing::default, timing),
            record_limit: for_tests.record_limit.unwrap_or(MAX_RECORD_BYTES),
            features: settings.features.states(),
        };
        let client = connection.client.with_now(move || clock.now());
        let (cluster, secrets) = (client.clone(), client);
        Ok(Self {
            engine: Engine::new(cluster, secrets, clock, interrupt.gate(), engine_settings),
            namespace: settings.namespace.clone().or(connection.namespace),
            server: connection.server,
            ui: *ui,
            progress: Progress::new(*ui, settings.events),
            prompt: TerminalPrompt::new(*ui, yes),
        })
    }

    /// The namespace of a release that is named without its module.
    pub(crate) fn namespace_or_default(&self) -> Result<NamespaceName, CliError> {
        match &self.namespace {
            Some(namespace) => Ok(namespace.clone()),
            None => NamespaceName::new("default")
                .map_err(|error| CliError::new(ErrorKind::Invalid, error.to_string())),
        }
    }

    /// Ends the command with what became of its use case.
    pub(crate) fn finish(&self, result: Result<Report, Failure>) -> Result<Exit, CliError> {
        match result {
            Ok(report) => report::answer(&report, &self.ui),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// The failure of a use case, in the words of this command.
    pub(crate) fn failed(&self, failure: Failure) -> CliError {
        let error = report::failed(failure, &self.ui);
        match error.kind {
            ErrorKind::Unreachable => error.hint(format!("the cluster is at {}", self.server)),
            _ => error,
        }
    }

    /// Shows how a release stands. With `exit_code`, drift is told by the exit code.
    pub(crate) fn show_status(
        &self,
        result: Result<Status, Failure>,
        exit_code: bool,
    ) -> Result<Exit, CliError> {
        let found = result.map_err(|failure| self.failed(failure))?;
        for warning in &found.warnings {
            self.ui.warn(warning);
        }
        let document = status::document(&found);
        self.ui
            .data(&document, |format| status::table(&found, format))?;
        if let Some(lock) = &found.lock {
            self.ui.info(&status::lock_words(lock));
        }
        self.ui.info(&status::summary(&found));
        Ok(exit(&found, exit_code))
    }

    /// Shows how a release stands, again and again.
    pub(crate) async fn watch_status(
        &self,
        request: &StatusRequest,
        timeout: Option<Duration>,
        exit_code: bool,
    ) -> Result<Exit, CliError> {
        let mut watching = Watching::new(self.ui);
        let watched = self
            .engine
            .watch_status(request, timeout, &mut watching)
            .await;
        match watched {
            Ok(last) => {
                // Where tables go, everything has been shown by now.
                if matches!(
                    self.ui.format_or(Format::Table),
                    Format::Json | Format::Yaml
                ) {
                    let document = status::document(&last);
                    self.ui
                        .data(&document, |format| status::table(&last, format))?;
                }
                Ok(exit(&last, exit_code))
            }
            Err(failure) => {
                let mut error = self.failed(failure);
                if let Some(last) = &watching.last {
                    error.document = status::document(last);
                }
                Err(error)
            }
        }
    }

    /// Who watches, and who answers questions.
    pub(crate) fn frontend(&self) -> Frontend<'_> {
        Frontend {
            events: &self.progress,
            prompt: &self.prompt,
        }
    }
}

fn exit(status: &Status, exit_code: bool) -> Exit {
    match exit_code && status.has_strayed() {
        true => Exit::Differences,
        false => Exit::Done,
    }
}

/// A lock that is good for `ttl`: renewed three times in that time, held for two thirds of it.
fn timing(ttl: Duration) -> Timing {
    Timing {
        ttl,
        renew: ttl / 3,
        hold: ttl * 2 / 3,
        take_over_rest: ttl * 3,
        request: ttl * 2,
    }
}

/// Runs a command that waits for a cluster.
pub(crate) fn run<T>(command: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        CliError::new(ErrorKind::Io, format!("failed to start threads: {error}"))
    })?;
    let result = runtime.block_on(command);
    // A thread that waits for an answer at the terminal must not keep the command from ending.
    runtime.shutdown_background();
    result
}
