//! From settings to a client of the cluster that is meant.

use opm_cluster::{ClusterClient, ConnectError, ConnectOptions, Environment, Settings as Patience};
use opm_core::name::NamespaceName;

use crate::error::{CliError, ErrorKind};
use crate::settings::Settings;

/// A client, and the namespace that its context sets.
pub(crate) struct Connection {
    pub(crate) client: ClusterClient,
    pub(crate) namespace: Option<NamespaceName>,
}

/// Makes a client. Nothing is sent yet.
pub(crate) async fn connect(settings: &Settings) -> Result<Connection, CliError> {
    let options = ConnectOptions {
        kubeconfig: settings.kubeconfig.clone(),
        context: settings.context.clone(),
        impersonate: settings.as_user.clone(),
        environment: Environment::of_this_process(),
        settings: Patience::default(),
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
        namespace,
    })
}

fn unusable(error: &ConnectError) -> CliError {
    CliError::new(ErrorKind::Config, error.to_string())
        .hint("name a cluster with --kubeconfig and --context, or try --sandbox")
}
