//! The side of the relay that faces the API server.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderName, HeaderValue, Request, Response, Uri, Version};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;

/// A body that is passed on piece by piece, as a watch needs it.
pub(super) type Body = BoxBody<Bytes, hyper::Error>;

/// Headers that concern one connection only.
const HOP_BY_HOP: [HeaderName; 5] = [CONNECTION, TRANSFER_ENCODING, UPGRADE, TE, HOST];

/// The API server behind a relay.
#[derive(Debug, Clone)]
pub(super) struct Upstream {
    server: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// The `Authorization` for which our certificate stands in.
    instead_of: Option<String>,
}

impl Upstream {
    pub(super) fn new(config: &kube::Config) -> kube::Result<Self> {
        let builder = HttpsConnectorBuilder::new()
            .with_tls_config(config.rustls_client_config()?)
            .https_or_http();
        let builder = match config.tls_server_name.clone().map(TryInto::try_into) {
            Some(Ok(name)) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
            _ => builder,
        };
        let connector = builder.enable_all_versions().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self {
            server: config.cluster_url.clone(),
            client,
            instead_of: None,
        })
    }

    /// The certificate of the connection speaks for those who show this token.
    pub(super) fn standing_in_for(self, token: &str) -> Self {
        Self {
            instead_of: Some(format!("Bearer {token}")),
            ..self
        }
    }

    /// May this request be sent on? One without the token must not borrow the certificate.
    pub(super) fn lets_in(&self, request: &Request<Bytes>) -> bool {
        let shown = request
            .headers()
            .get(AUTHORIZATION)
            .map(HeaderValue::as_bytes);
        self.instead_of
            .as_ref()
            .is_none_or(|token| shown == Some(token.as_bytes()))
    }

    /// Sends a request on. The answer's body is still to be read.
    pub(super) async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Body>, String> {
        for name in HOP_BY_HOP {
            request.headers_mut().remove(name);
        }
        if self.instead_of.is_some() {
            request.headers_mut().remove(AUTHORIZATION);
        }
        let mut parts = self.server.clone().into_parts();
        parts.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() = Uri::from_parts(parts).map_err(|error| error.to_string())?;
        *request.version_mut() = Version::HTTP_11;
        let answer = self.client.request(request.map(Full::new)).await;
        let mut answer = answer.map_err(|error| format!("{error:?}"))?;
        for name in HOP_BY_HOP {
            answer.headers_mut().remove(name);
        }
        *answer.version_mut() = Version::HTTP_11;
        Ok(answer.map(BodyExt::boxed))
    }
}
