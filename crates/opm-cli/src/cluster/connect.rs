//! From settings to a client of the cluster that is meant.

use std::time::Duration;

use opm_cluster::{
    ClientSettings, ClusterClient, ConnectError, ConnectOptions, Environment, KubeClient,
};
use opm_core::name::NamespaceName;

use crate::commands::sandbox;
use crate::error::{CliError, ErrorKind};
use crate::settings::Settings;

/// A client, and what its context says.
pub(crate) struct Connection {
    pub(crate) client: ClusterClient,
    /// Where the cluster is, for messages.
    pub(crate) server: String,
    /// The context of the kubeconfig; none for the sandbox and in a pod.
    pub(crate) context: Option<String>,
    /// The namespace that the context sets.
    pub(crate) namespace: Option<NamespaceName>,
}

/// Makes a client. Nothing is sent yet.
pub(crate) async fn connect(settings: &Settings) -> Result<Connection, CliError> {
    match settings.sandbox {
        true => open_sandbox(settings),
        false => reach_cluster(settings).await,
    }
}

fn open_sandbox(settings: &Settings) -> Result<Connection, CliError> {
    let dir = sandbox::directory(settings)?;
    let sandbox = sandbox::open(&dir)?;
    Ok(Connection {
        client: ClusterClient::from_client(KubeClient::new(sandbox, "default")),
        server: format!("the sandbox in {}", dir.display()),
        context: None,
        namespace: None,
    })
}

async fn reach_cluster(settings: &Settings) -> Result<Connection, CliError> {
    let options = ConnectOptions {
        kubeconfig: settings.kubeconfig.clone(),
        context: settings.context.clone(),
        impersonate: settings.as_user.clone(),
        environment: Environment::of_this_process(),
        settings: client_settings(settings.for_tests.patience),
        discovery: settings.discovery_dir.clone(),
    };
    let connected = opm_cluster::connect(options)
        .await
        .map_err(|error| unusable(&error))?;
    let namespace = connected.namespace.map(NamespaceName::new).transpose();
    let namespace = namespace.map_err(|error| {
        CliError::new(
            ErrorKind::Config,
            format!("the context of the kubeconfig: {error}"),
        )
    })?;
    Ok(Connection {
        client: connected.client,
        server: connected.server,
        context: connected.context,
        namespace,
    })
}

fn client_settings(patience: Option<Duration>) -> ClientSettings {
    let mut settings = ClientSettings::default();
    if let Some(patience) = patience {
        settings.attempt_timeout = patience;
        settings.retry.budget = patience;
        settings.plugin_timeout = patience;
    }
    settings
}

fn unusable(error: &ConnectError) -> CliError {
    CliError::new(ErrorKind::Config, error.to_string())
        .hint("name a cluster with --kubeconfig and --context, or try --sandbox")
}
