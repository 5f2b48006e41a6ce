//! `opm controller run`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use opm_controller::{ControllerError, ControllerLog, ControllerSettings, LogLine, Sharding};
use opm_core::digest::ObjectHash;
use opm_core::name::NamespaceName;
use opm_engine::{Actor, FailureKind};

use crate::cluster::{connect, engine_settings};
use crate::duration;
use crate::error::{CliError, ErrorKind, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Run the controller until it is interrupted
///
/// Reconciles every ModuleRelease on changes of it, of the ConfigMaps and Secrets that it refers
/// to, of the objects of its release, and at its interval. Writes a log of JSON lines to standard
/// error. An interrupt ends what goes on, and lets go of its locks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the ModuleReleases of this namespace; without it, those of all
    #[arg(long, value_name = "NAME")]
    watch_namespace: Option<String>,

    /// The service account that ModuleReleases act as which name none; without it, they act as the
    /// controller itself
    #[arg(long, value_name = "NAME")]
    default_service_account: Option<String>,

    /// Let ModuleReleases refer to ConfigMaps, Secrets and ModuleReleases of other namespaces
    #[arg(long)]
    allow_cross_namespace: bool,

    /// How many releases are reconciled at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = RangedU64ValueParser::<u16>::new().range(1..))]
    concurrency: u16,

    /// How many of them in one namespace
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    concurrency_per_namespace: usize,

    /// How many modules are rendered at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    renders: usize,

    /// Where to serve /metrics, /healthz and /readyz; without it, they are not served
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// Share the work with other replicas: split it into so many parts, which replicas take by
    /// Leases; without it, this controller does all of it
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1024))]
    shards: Option<u32>,

    /// The namespace of the Leases; by default that of -n, or of the context or the pod
    #[arg(long, value_name = "NAME", requires = "shards")]
    lease_namespace: Option<String>,

    /// How long the parts of a replica that is dead stay with it
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    lease_time: Duration,

    /// Only log what would be done
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    runtime::run(async {
        let connection = connect(settings).await?;
        let engine = engine_settings(settings);
        let namespace = settings.namespace.clone().or(connection.namespace);
        let controller = ControllerSettings {
            sharding: args.sharding(namespace.as_ref(), &engine.actor),
            namespace: args.watch_namespace.clone(),
            default_service_account: args.default_service_account.clone(),
            cross_namespace: args.allow_cross_namespace,
            concurrency: args.concurrency,
            concurrency_per_namespace: args.concurrency_per_namespace,
            renders: args.renders,
            listen: args.listen,
            dry_run: args.dry_run,
            render: settings.render.clone(),
            engine,
        };
        let log = Arc::new(JsonLog { ui: *ui });
        let ran = opm_controller::run(connection.client, controller, log, interrupt.token());
        ran.await.map_err(|error| failed(&error))?;
        Ok(ErrorKind::from(FailureKind::Interrupted).exit())
    })
}

impl Args {
    fn sharding(&self, namespace: Option<&NamespaceName>, actor: &Actor) -> Option<Sharding> {
        let namespace = namespace.map_or("default", |namespace| namespace.as_str());
        let namespace = self.lease_namespace.as_deref().unwrap_or(namespace);
        // No other replica is the same process of the same machine, started at the same moment.
        let text = format!(
            "{} {} {:?}",
            actor.host,
            actor.pid,
            std::time::SystemTime::now()
        );
        Some(Sharding {
            shards: self.shards?,
            namespace: namespace.to_owned(),
            identity: ObjectHash::of_bytes(text.as_bytes()).as_str().to_owned(),
            lease_time: self.lease_time.max(Duration::from_secs(1)),
        })
    }
}

/// Every line as JSON.
struct JsonLog {
    ui: Ui,
}

impl ControllerLog for JsonLog {
    fn write(&self, line: &LogLine) {
        self.ui.event(line);
    }
}

fn failed(error: &ControllerError) -> CliError {
    match error {
        ControllerError::Resources(_) => CliError::new(FailureKind::Refused, error.to_string())
            .hint(
                "`opm controller install` defines the resource; \
                 `opm controller install --print` shows what it needs",
            ),
        ControllerError::Listen { .. } => CliError::new(ErrorKind::Io, error.to_string()),
    }
}
