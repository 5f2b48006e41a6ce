//! Reaching a cluster: kubeconfig or pod, credentials, impersonation, proxy, time-outs.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::Config;
use kube::config::KubeConfigOptions;
use thiserror::Error;

use crate::client::{ClientSettings, ClusterClient};
use crate::discovery::KeptDiscovery;
use crate::identity::ActingIdentity;
use crate::kubeconfig::{Environment, KubeconfigError, SelectedContext, choose};
use crate::plugin;
use crate::proxy;
use crate::send::{chain, network_message};
use crate::transport;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Which cluster, as whom.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// A kubeconfig that counts before all others.
    pub kubeconfig: Option<PathBuf>,
    /// The context to use instead of the current one.
    pub context: Option<String>,
    /// The user to act as.
    pub impersonate: Option<String>,
    /// What the environment says.
    pub environment: Environment,
    /// How patient the client is.
    pub settings: ClientSettings,
    /// The directory that keeps what clusters serve; none if that is not kept.
    pub discovery: Option<PathBuf>,
}

/// A client, and what is known about the cluster from the configuration alone.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The client. Nothing has been sent yet.
    pub client: ClusterClient,
    /// The context's name; none in a pod.
    pub context: Option<String>,
    /// The namespace that the context (or the pod) sets; none if it sets none.
    pub namespace: Option<String>,
    /// The server's address.
    pub server: String,
}

/// Why no client can be made.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig is missing or not usable.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The context's cluster or user is not usable.
    #[error("failed to use the context {context:?} of the kubeconfig: {cause}")]
    Context {
        /// The context.
        context: String,
        /// What is wrong.
        cause: String,
    },
    /// The pod's own configuration is not usable.
    #[error("failed to use the configuration of this pod: {0}")]
    InCluster(String),
    /// The user to act as cannot be named in a header.
    #[error("--as: {0:?} cannot be a user's name")]
    Impersonate(String),
    /// Certificates, credentials or a proxy that cannot be used.
    #[error("failed to set up the connection to {server}: {cause}")]
    Client {
        /// The server's address.
        server: String,
        /// What is wrong.
        cause: String,
    },
}

/// Makes a client. Runs a credential plugin if the kubeconfig names one; sends nothing.
pub async fn connect(options: ConnectOptions) -> Result<Connection, ConnectError> {
    let environment = &options.environment;
    let chosen = choose(
        options.kubeconfig.as_ref(),
        options.context.as_deref(),
        environment,
    )?;
    let (mut config, context, namespace) = match chosen {
        Some(chosen) => from_context(chosen, environment).await?,
        None => in_cluster()?,
    };
    let server = config.cluster_url.to_string();
    let configured = ActingIdentity::take_from(&mut config.auth_info);
    let identity = match &options.impersonate {
        // Groups and the rest that the kubeconfig sets are those of somebody else.
        Some(user) => ActingIdentity::user(user),
        None => configured,
    };
    let empty = options.impersonate.as_ref().is_some_and(String::is_empty);
    if empty || identity.headers().is_err() {
        let user = options.impersonate.clone().unwrap_or_default();
        return Err(ConnectError::Impersonate(user));
    }
    let failed = |cause: String| ConnectError::Client {
        server: server.clone(),
        cause,
    };
    let plugin = plugin::take_from(&mut config.auth_info, options.settings.plugin_timeout)
        .await
        .map_err(failed)?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.write_timeout = Some(WRITE_TIMEOUT);
    // Reads are timed per request, not per connection: a watch is silent for long.
    config.read_timeout = None;
    // Requests are repeated here, where it is known which may be and what they mean then.
    config.default_retry = false;
    let agent = HeaderValue::from_static(concat!("opm/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, agent));
    let authorities = config.root_cert.clone().unwrap_or_default();
    let kept = options.discovery.clone();
    let kept = kept.map(|directory| KeptDiscovery::of(directory, &server, &authorities));
    let client = transport::client(config).map_err(|error| failed(network_message(&error)))?;
    let (client, open_early) = client;
    Ok(Connection {
        client: ClusterClient::from_client(client)
            .with_early_connections(open_early)
            .with_settings(options.settings)
            .with_identity(identity)
            .with_plugin(plugin)
            .with_kept_discovery(kept),
        context,
        namespace,
        server,
    })
}

type Configured = (Config, Option<String>, Option<String>);

async fn from_context(
    chosen: SelectedContext,
    environment: &Environment,
) -> Result<Configured, ConnectError> {
    let SelectedContext {
        kubeconfig,
        context,
        namespace,
        proxy_url,
    } = chosen;
    let failed = |cause: String| ConnectError::Context {
        context: context.clone(),
        cause,
    };
    let options = KubeConfigOptions {
        context: Some(context.clone()),
        ..KubeConfigOptions::default()
    };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| failed(chain(&error)))?;
    if config.cluster_url.host().is_none() {
        return Err(failed("the cluster's `server` is not a URL".to_owned()));
    }
    config.proxy_url = proxy::choose(
        proxy_url.as_deref(),
        environment.https_proxy.as_deref(),
        environment.no_proxy.as_deref(),
        &config.cluster_url,
    )
    .map_err(failed)?;
    Ok((config, Some(context), namespace))
}

fn in_cluster() -> Result<Configured, ConnectError> {
    let config = Config::incluster().map_err(|error| ConnectError::InCluster(chain(&error)))?;
    let namespace = Some(config.default_namespace.clone()).filter(|name| !name.is_empty());
    Ok((config, None, namespace))
}
