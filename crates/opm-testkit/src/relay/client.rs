//! A `kube` client that speaks a chosen version of HTTP and never retries, to look at faults with.

use std::path::Path;

use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::{Body, ConfigExt as _};
use tower::{BoxError, ServiceBuilder};

use super::{Protocol, RelayError};

/// A client for the cluster of a kubeconfig.
pub async fn client(kubeconfig: &Path, protocol: Protocol) -> Result<Client, RelayError> {
    let config = crate::plane::config_of(kubeconfig).await?;
    let mut tls = config.rustls_client_config()?;
    tls.alpn_protocols.clear();
    let builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_only();
    let connector = match protocol {
        Protocol::Http1 => builder.enable_http1().build(),
        Protocol::Http2 => builder.enable_http2().build(),
        Protocol::Either => builder.enable_all_versions().build(),
    };
    let mut http = HttpClient::builder(TokioExecutor::new());
    http.http2_only(protocol == Protocol::Http2);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http.build::<_, Body>(connector));
    Ok(Client::new(service, config.default_namespace))
}
