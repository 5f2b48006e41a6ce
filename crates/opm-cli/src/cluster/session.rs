//! One command's dealings with a cluster: client, engine, interrupts, in one place.

use std::collections::BTreeSet;
use std::time::Duration;

use opm_cluster::{ClusterClient, SentRequest, SystemClock};
use opm_core::event::Event;
use opm_core::name::NamespaceName;
use opm_core::record::size::MAX_RECORD_BYTES;
use opm_core::takeover::RetiredManagers;
use opm_engine::ports::{ApiError, Caller, Cluster as _, Events, Frontend, ServedKinds};
use opm_engine::{Engine, FailureKind, Settings as EngineSettings, Timing};
use opm_render::Capabilities;
use tokio_util::sync::CancellationToken;

use super::actor::actor;
use super::connect::connect;
use super::progress::Progress;
use super::prompt::TerminalPrompt;
use crate::error::{CliError, ErrorKind};
use crate::invocation::Invocation;
use crate::settings::Settings;
use crate::ui::{Ui, Verbosity};

/// A connected engine, and what belongs to it.
pub(crate) struct Session {
    client: ClusterClient,
    /// The use cases.
    pub(crate) engine: Engine,
    /// The namespace that the flag, or else the context, sets.
    pub(crate) namespace: Option<NamespaceName>,
    /// Where the cluster is, for messages.
    pub(crate) server: String,
    context: Option<String>,
    pub(crate) ui: Ui,
    progress: Progress,
    pub(crate) prompt: TerminalPrompt,
    cancel: CancellationToken,
}

impl Session {
    /// Connects to the cluster that the settings name.
    pub(crate) async fn open(invocation: &Invocation<'_>, yes: bool) -> Result<Self, CliError> {
        let Invocation {
            settings,
            ui,
            interrupt,
        } = invocation;
        let cancel = interrupt.token();
        // A credential plugin may take its time.
        let connection = tokio::select! {
            connection = connect(settings) => connection?,
            () = cancel.cancelled() => {
                return Err(CliError::new(FailureKind::Interrupted, "interrupted"));
            }
        };
        let clock = SystemClock::wrong_by(settings.for_tests.clock_shift.unwrap_or_default());
        let engine_settings = engine_settings(settings);
        let mut client = connection.client.with_clock(clock);
        if settings.verbosity == Verbosity::Debug {
            let ui = *ui;
            client = client.with_request_log(move |request| ui.detail(&request_words(request)));
        }
        let progress = Progress::new(*ui, settings.events);
        interrupt.told_by(progress.clone());
        let prompt = TerminalPrompt::new(*ui, yes, progress.clone(), &connection.server);
        Ok(Self {
            client: client.clone(),
            engine: Engine::new(client, engine_settings),
            namespace: settings.namespace.clone().or(connection.namespace),
            server: connection.server,
            context: connection.context,
            ui: *ui,
            prompt,
            progress,
            cancel,
        })
    }

    /// What the cluster can do, as charts ask for it.
    pub(crate) async fn capabilities(&self) -> Result<Capabilities, CliError> {
        let asked =
            async { futures::join!(self.client.kubernetes_version(), self.client.served()) };
        let (version, served) = tokio::select! {
            asked = asked => asked,
            () = self.cancel.cancelled() => {
                return Err(CliError::new(FailureKind::Interrupted, "interrupted"));
            }
        };
        let failed = |error: ApiError| {
            let message = format!("cannot ask the cluster what charts may rely on: {error}");
            CliError::new(FailureKind::before_writing(&error), message)
        };
        Ok(Capabilities {
            kube_version: version.map_err(failed)?,
            api_versions: api_versions(&*served.map_err(failed)?),
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

    /// The cluster and the context by which it is reached, for messages.
    pub(crate) fn account(&self) -> String {
        match &self.context {
            Some(context) => format!("{} (context {context})", self.server),
            None => self.server.clone(),
        }
    }

    /// Who calls: this command, until it is interrupted. What happens is shown as it goes on.
    pub(crate) fn caller(&self) -> Caller<'_> {
        self.progress.begin();
        self.observer()
    }

    /// The same for a use case within another, of which nothing is shown.
    pub(crate) fn unheard(&self) -> Caller<'_> {
        let mut caller = self.observer();
        caller.frontend.events = &Unheard;
        caller
    }

    /// The same for a use case that shows by itself what it sees.
    pub(crate) fn observer(&self) -> Caller<'_> {
        Caller {
            frontend: Frontend {
                events: &self.progress,
                prompt: &self.prompt,
            },
            cancel: self.cancel.clone(),
            act_as: None,
            manager: None,
        }
    }
}

/// Nobody hears of it.
struct Unheard;

impl Events for Unheard {
    fn emit(&self, _: Event) {}
}

/// What holds for every use case.
pub(crate) fn engine_settings(settings: &Settings) -> EngineSettings {
    let for_tests = &settings.for_tests;
    EngineSettings {
        actor: actor(settings.user.as_deref(), settings.pipeline.as_deref()),
        timing: for_tests.lock_ttl.map_or_else(Timing::default, timing),
        record_limit: for_tests.record_limit.unwrap_or(MAX_RECORD_BYTES),
        log_entries: settings.log_entries,
        retired_managers: match &settings.retired_managers {
            Some(names) => RetiredManagers::new(names.iter().cloned()),
            None => RetiredManagers::default(),
        },
        features: settings.features.states(),
    }
}

/// What is served, as charts ask for it: `apps/v1`, and `apps/v1/Deployment`.
fn api_versions(served: &ServedKinds) -> Vec<String> {
    let mut all = BTreeSet::new();
    for (kind, served) in &served.kinds {
        for version in &served.versions {
            let version = match kind.group.as_str() {
                "" => version.clone(),
                group => format!("{group}/{version}"),
            };
            all.insert(format!("{version}/{}", kind.kind));
            all.insert(version);
        }
    }
    all.into_iter().collect()
}

/// A request in a line: what was asked, what was answered, and how long that took.
fn request_words(request: &SentRequest) -> String {
    let status = request.status.map(|status| status.to_string());
    format!(
        "{} {} {} {}ms",
        request.method,
        request.target,
        status.as_deref().unwrap_or("no answer"),
        request.took.as_millis()
    )
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
