//! An admission webhook that takes everything, and that comes up late: its address is known from
//! the beginning, and until it comes up, connections to it are refused.

use std::convert::Infallible;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::keys::Authority;
use crate::relay::Protocol;
use crate::relay::serve::tls;

/// A webhook on loopback. It is gone when it is dropped.
#[derive(Debug)]
pub struct LateWebhook {
    authority: Authority,
    address: SocketAddr,
    /// Bound, so that nobody else takes the port, and not listening yet.
    socket: Option<TcpSocket>,
    serving: Option<JoinHandle<()>>,
}

impl LateWebhook {
    /// A webhook that is not up yet.
    ///
    /// # Panics
    /// If loopback has no free port.
    #[must_use]
    pub fn not_up_yet() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(loopback).expect("a free port");
        Self {
            authority: Authority::generate(),
            address: socket.local_addr().expect("a bound socket"),
            socket: Some(socket),
            serving: None,
        }
    }

    /// How the API server reaches it: the `clientConfig` of a webhook.
    #[must_use]
    pub fn client_config(&self) -> Value {
        json!({
            "url": format!("https://{}/", self.address),
            "caBundle": STANDARD.encode(&self.authority.certificate),
        })
    }

    /// From now on it answers.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn come_up(&mut self) {
        let Some(socket) = self.socket.take() else {
            return;
        };
        let listener = socket.listen(64).expect("a bound socket");
        let tls = tls(&self.authority.server(), Protocol::Http1);
        self.serving = Some(tokio::spawn(serve(listener, tls)));
    }
}

impl Drop for LateWebhook {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
    }
}

async fn serve(listener: TcpListener, tls: TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        let tls = tls.clone();
        tokio::spawn(async move {
            // A client that goes away is none of our concern.
            let _ = converse(stream, tls).await;
        });
    }
}

async fn converse(stream: TcpStream, tls: TlsAcceptor) -> std::io::Result<()> {
    let stream = tls.accept(stream).await?;
    let service = service_fn(|request| async { Ok::<_, Infallible>(allow(request).await) });
    let server = auto::Builder::new(TokioExecutor::new());
    let served = server.serve_connection(TokioIo::new(stream), service);
    let _ = served.await;
    Ok(())
}

async fn allow(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": true},
    });
    Response::builder()
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(answer.to_string())))
        .expect("a valid answer")
}
