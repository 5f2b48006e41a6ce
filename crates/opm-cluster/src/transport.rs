//! The connections that requests travel on.
//!
//! What `kube` would build, but for two things. Small writes are sent at once: without that, the
//! kernel holds the first request of every connection back until the server has acknowledged the
//! end of the handshake, and the server takes its time: 40 ms of each command. And connections can
//! be opened before they are needed.

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::ServiceBuilder;
use tower_http::decompression::DecompressionLayer;

use crate::early_connections::{EarlyConnector, OpenEarly};

/// A client for a server, and what opens connections to it early. Nothing is sent yet.
pub(crate) fn client(config: Config) -> Result<(Client, Option<OpenEarly>), kube::Error> {
    if config.proxy_url.is_some() {
        return Ok((Client::try_from(config)?, None));
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let tls = config.rustls_https_connector_with_connector(tcp)?;
    let mut connector = TimeoutConnector::new(tls);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let connector = EarlyConnector::new(connector);
    let open_early = connector.opening(config.cluster_url.clone());
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let unpack = DecompressionLayer::new().gzip(!config.disable_compression);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(unpack)
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(tower::BoxError::from)
        .service(http);
    let client = Client::new(service, config.default_namespace);
    Ok((client, Some(open_early)))
}
