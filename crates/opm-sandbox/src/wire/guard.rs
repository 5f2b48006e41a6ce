//! Who may ask: in front of the service when it is served on a port.
//!
//! Any program of this machine, and any web page in a browser on it, can reach a loopback port. A
//! request has to show the token of the kubeconfig; its Host has to be loopback, so that a name
//! that somebody else resolves to 127.0.0.1 leads nowhere; and a page of another origin is refused.
//!
//! The token is shown as a bearer token, or as the first segment of the path: kubectl sends no
//! credentials where there is no TLS, but keeps to the address that it is given.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use sha2::{Digest, Sha256};
use tower::Service;

use super::body::ResponseBody;
use super::reply::respond;
use super::service::{BoxError, read_body};
use crate::sandbox::Sandbox;
use crate::status::ApiError;

/// What a request has to show. Never printed.
#[derive(Clone)]
pub(crate) struct Token(Arc<str>);

impl Token {
    /// 244 random bits.
    pub(crate) fn new() -> Token {
        let random = || uuid::Uuid::new_v4().simple().to_string();
        Token(format!("{}{}", random(), random()).into())
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    /// Compares digests: how long that takes tells nothing about the token.
    fn is(&self, shown: &[u8]) -> bool {
        Sha256::digest(shown) == Sha256::digest(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The sandbox behind its token.
#[derive(Clone)]
pub(crate) struct Guard {
    sandbox: Sandbox,
    token: Token,
    body_timeout: Duration,
}

impl Guard {
    pub(crate) fn new(sandbox: Sandbox, token: Token, body_timeout: Duration) -> Guard {
        Guard {
            sandbox,
            token,
            body_timeout,
        }
    }

    /// Lets a request in, and takes the token out of its path.
    fn admit(&self, parts: &mut Parts) -> Result<(), ApiError> {
        let header = |name: HeaderName| parts.headers.get(name).map(|v| v.as_bytes());
        let host = header(HOST).unwrap_or_default();
        let named = parts.uri.authority().map(|a| a.as_str().as_bytes());
        if !is_loopback(host) || named.is_some_and(|n| !is_loopback(n)) {
            return Err(ApiError::refused("the Host of the request is not loopback"));
        }
        let own = [b"http://", host].concat();
        if header(ORIGIN).is_some_and(|origin| origin != own) {
            return Err(ApiError::refused("the request comes from another origin"));
        }
        let shown = header(AUTHORIZATION).and_then(|a| a.strip_prefix(b"Bearer "));
        let by_header = shown.is_some_and(|shown| self.token.is(shown));
        match self.without_token(&parts.uri) {
            Some(uri) => parts.uri = uri,
            None if by_header => {}
            None => return Err(ApiError::unauthorized()),
        }
        Ok(())
    }

    /// The address behind the token; none when it does not begin with it.
    fn without_token(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path().strip_prefix('/')?;
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        if !self.token.is(first.as_bytes()) {
            return None;
        }
        let query = uri.query().map(|q| format!("?{q}")).unwrap_or_default();
        format!("/{rest}{query}").parse().ok()
    }
}

fn is_loopback(host: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(host) else {
        return false;
    };
    let name = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|a| a.is_loopback())
}

impl Service<Request<Incoming>> for Guard {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let mut guard = self.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let body = match guard.admit(&mut parts) {
                Ok(()) => within(guard.body_timeout, body).await?,
                Err(error) => Err(error),
            };
            match body {
                Ok(body) => {
                    let request = Request::from_parts(parts, Full::new(body));
                    guard.sandbox.call(request).await
                }
                Err(error) => Ok(respond(Err(error), jiff::Timestamp::now())),
            }
        })
    }
}

async fn within<B>(limit: Duration, body: B) -> Result<Result<Bytes, ApiError>, BoxError>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    match tokio::time::timeout(limit, read_body(body)).await {
        Ok(read) => read,
        Err(_) => Ok(Err(ApiError::body_timeout())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts() {
        for (host, expected) in [
            ("127.0.0.1:8080", true),
            ("127.0.0.2", true),
            ("localhost:1", true),
            ("LOCALHOST", true),
            ("[::1]:1", true),
            ("localhost.example.com:1", false),
            ("example.com", false),
            ("127.0.0.1.example.com", false),
            ("10.0.0.1:80", false),
            ("", false),
            ("user@127.0.0.1", true),
            ("127.0.0.1@example.com", false),
        ] {
            assert_eq!(is_loopback(host.as_bytes()), expected, "{host}");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        let token = Token::new();
        assert_eq!(format!("{token:?}"), "Token");
        assert!(token.is(token.secret().as_bytes()) && !token.is(b""));
        assert_ne!(token.secret(), Token::new().secret());
        assert_eq!(token.secret().len(), 64);
    }
}
