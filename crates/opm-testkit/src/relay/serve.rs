//! The side of the relay that faces the program under test.

use std::convert::Infallible;
use std::io;
use std::net::{TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustix::net::sockopt::set_socket_linger;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

use super::request::RequestInfo;
use super::rules::{Fault, Moment};
use super::upstream::{Body, Upstream};
use super::{Protocol, RelayState};
use crate::keys::Identity;

pub(crate) fn tls(identity: &Identity, protocol: Protocol) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.expect("our own PEM")],
            key.expect("our own PEM"),
        )
        .expect("our own certificate");
    config.alpn_protocols = protocol.alpn();
    TlsAcceptor::from(Arc::new(config))
}

pub(super) async fn serve(
    listener: StdListener,
    tls: TlsAcceptor,
    upstream: Upstream,
    shared: Arc<RelayState>,
) {
    let listener = TcpListener::from_std(listener).expect("a non-blocking listener");
    while let Ok((stream, _)) = listener.accept().await {
        let connection = Connection {
            upstream: upstream.clone(),
            shared: shared.clone(),
            reset: Arc::default(),
        };
        let tls = tls.clone();
        tokio::spawn(async move {
            // A client that goes away is none of our concern.
            let _ = connection.serve(stream, tls).await;
        });
    }
}

/// One connection of a client.
#[derive(Debug, Clone)]
struct Connection {
    upstream: Upstream,
    shared: Arc<RelayState>,
    reset: Arc<Notify>,
}

impl Connection {
    async fn serve(self, stream: TcpStream, tls: TlsAcceptor) -> io::Result<()> {
        stream.set_nodelay(true)?;
        // A second handle on the socket: the first one disappears into the layers above.
        let handle = stream.into_std()?;
        let socket = handle.try_clone()?;
        let stream = tls.accept(TcpStream::from_std(handle)?).await?;
        let reset = self.reset.clone();
        let service = service_fn(move |request| {
            let this = self.clone();
            async move { Ok::<_, Infallible>(this.answer(request).await) }
        });
        let server = auto::Builder::new(TokioExecutor::new());
        let serving = server.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            _ = serving => {}
            () = reset.notified() => close_with_reset(&socket)?,
        }
        Ok(())
    }

    async fn answer(self, request: Request<Incoming>) -> Response<Body> {
        let mut seen = RequestInfo::read(request.method(), request.uri());
        let agent = request
            .headers()
            .get(USER_AGENT)
            .and_then(|value| value.to_str().ok());
        agent.unwrap_or_default().clone_into(&mut seen.user_agent);
        // The whole request first: a fault strikes at one that really was sent.
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return self.gone().await;
        };
        let request = Request::from_parts(head, body.to_bytes());
        let (n, fault, released) = self.shared.receive(seen);
        let on_its_way = matches!(fault, Some(Fault::Stall(..)));
        let answering = async move {
            let answer = self.meet(request, fault, released).await;
            self.shared.answered(n, answer.status().as_u16());
            answer
        };
        match on_its_way {
            // It goes on also when the client no longer waits for it, as on a network.
            true => tokio::spawn(answering).await.expect("it does not panic"),
            false => answering.await,
        }
    }

    async fn meet(
        &self,
        request: Request<Bytes>,
        fault: Option<Fault>,
        released: watch::Receiver<()>,
    ) -> Response<Body> {
        match fault {
            None => self.forward(request).await,
            Some(Fault::Answer {
                code,
                reason,
                retry_after,
                message,
            }) => status(code, reason.as_deref(), retry_after, message),
            Some(Fault::Text(text)) => Response::builder()
                .header(CONTENT_TYPE, "text/plain")
                .body(full(Bytes::from(text)))
                .expect("a valid answer"),
            Some(Fault::Reset(Moment::Before)) => self.gone().await,
            Some(Fault::Reset(Moment::After)) => {
                self.forward_whole(request).await;
                self.gone().await
            }
            Some(Fault::Stall(Moment::Before, time)) => {
                stall(time, released).await;
                self.forward(request).await
            }
            Some(Fault::Stall(Moment::After, time)) => {
                let answer = self.forward_whole(request).await;
                stall(time, released).await;
                answer
            }
            Some(Fault::Kill(Moment::Before)) => {
                self.shared.kill().await;
                self.gone().await
            }
            Some(Fault::Kill(Moment::After)) => {
                self.forward_whole(request).await;
                self.shared.kill().await;
                self.gone().await
            }
        }
    }

    async fn forward(&self, request: Request<Bytes>) -> Response<Body> {
        if !self.upstream.lets_in(&request) {
            return status(StatusCode::UNAUTHORIZED, Some("Unauthorized"), None, None);
        }
        match self.upstream.send(request).await {
            Ok(answer) => answer,
            Err(error) => {
                eprintln!("the relay did not reach the API server: {error}");
                self.gone().await
            }
        }
    }

    /// Forwards and reads the whole answer, so that the API server is done with it. The answer to
    /// a watch has no end: there it is enough that it has begun.
    async fn forward_whole(&self, request: Request<Bytes>) -> Response<Body> {
        let watches = RequestInfo::read(request.method(), request.uri()).verb == "watch";
        let answer = self.forward(request).await;
        if watches {
            return answer;
        }
        let (head, body) = answer.into_parts();
        match body.collect().await {
            Ok(body) => Response::from_parts(head, full(body.to_bytes())),
            Err(_) => self.gone().await,
        }
    }

    /// Resets the connection; no answer will be made.
    async fn gone(&self) -> Response<Body> {
        self.reset.notify_one();
        // The connection is dropped, and this future with it.
        std::future::pending().await
    }
}

async fn stall(time: Duration, mut released: watch::Receiver<()>) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        _ = released.changed() => {}
    }
}

fn close_with_reset(socket: &StdStream) -> io::Result<()> {
    set_socket_linger(socket, Some(Duration::ZERO))?;
    Ok(())
}

fn status(
    code: StatusCode,
    reason: Option<&str>,
    retry_after: Option<u32>,
    message: Option<String>,
) -> Response<Body> {
    let mut object = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message.unwrap_or_else(|| format!("the relay answers {code}")),
        "code": code.as_u16(),
    });
    if let Some(reason) = reason {
        object["reason"] = json!(reason);
    }
    if let Some(seconds) = retry_after {
        object["details"] = json!({ "retryAfterSeconds": seconds });
    }
    let mut answer = Response::builder()
        .status(code)
        .header(CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after {
        answer = answer.header(RETRY_AFTER, seconds);
    }
    answer
        .body(full(Bytes::from(object.to_string())))
        .expect("a valid answer")
}

fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed()
}
