//! Answers for the Services of a control plane, whose pods are played and serve nothing.
//!
//! The API server is told to reach Services through a proxy (an egress selector). It resolves a
//! Service to a ready pod by itself, so there is nothing to reach before one is ready; whatever it
//! then connects to is answered here, over TLS, under the name that it asks for. What is said is in
//! `answers`; that the API server trusts it comes some time later, and is in `trust`.

mod answers;
mod tls;
mod trust;

use std::convert::Infallible;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio_rustls::TlsAcceptor;

use crate::plane::{ControlPlane, Plane, PlaneError, client_of};

/// What the API server is told: to use the proxy, and to look for ready pods behind a Service.
pub(crate) const FLAGS: &[&str] = &[
    "--egress-selector-config-file=egress.json",
    "--enable-aggregator-routing=true",
];

/// The longest head of a request to the proxy; the API server's have some dozens of bytes.
const LONGEST_HEAD: usize = 4096;

/// The configuration by which the API server finds the proxy.
pub(crate) fn egress(plane: &Plane) -> String {
    let transport = json!({ "uds": { "udsName": socket(&plane.dir) } });
    json!({
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{
            "name": "cluster",
            "connection": { "proxyProtocol": "HTTPConnect", "transport": transport },
        }],
    })
    .to_string()
}

fn socket(dir: &Path) -> PathBuf {
    dir.join("services.sock")
}

fn log(dir: &Path) -> PathBuf {
    dir.join("services.jsonl")
}

/// Begins to answer for the Services of a control plane, until this process ends.
pub(crate) async fn serve(plane: &Plane) -> Result<(), PlaneError> {
    let listener = UnixListener::bind(socket(&plane.dir))?;
    std::fs::write(log(&plane.dir), "")?;
    let authority = plane.authority()?;
    let client = client_of(&plane.dir.join("services.kubeconfig")).await?;
    tokio::spawn(trust::keep(client, authority.certificate.clone()));
    let server = Server {
        tls: tls::acceptor(authority),
        log: log(&plane.dir),
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let server = server.clone();
            tokio::spawn(async move {
                // An API server that hangs up, or does not trust us yet, is none of our concern.
                let _ = server.tunnel(stream).await;
            });
        }
    });
    Ok(())
}

#[derive(Clone)]
struct Server {
    tls: TlsAcceptor,
    log: PathBuf,
}

impl Server {
    /// Accepts every address that is asked for, and is the server behind it.
    async fn tunnel(self, mut stream: UnixStream) -> io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() > LONGEST_HEAD {
                return Err(io::ErrorKind::InvalidData.into());
            }
            head.push(stream.read_u8().await?);
        }
        stream
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await?;
        let stream = self.tls.accept(stream).await?;
        let name = stream
            .get_ref()
            .1
            .server_name()
            .unwrap_or_default()
            .to_owned();
        let service = service_fn(move |request| {
            let (this, name) = (self.clone(), name.clone());
            async move { Ok::<_, Infallible>(this.answer(&name, request).await) }
        });
        let server = auto::Builder::new(TokioExecutor::new());
        let serving = server.serve_connection(TokioIo::new(stream), service);
        serving.await.map_err(io::Error::other)
    }

    async fn answer(&self, name: &str, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        let body = match request.into_body().collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => Bytes::new(),
        };
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, answer) = answers::answer(&path, &asked);
        self.note(&ServiceCall {
            service: name.to_owned(),
            path,
            review: asked["kind"].as_str().unwrap_or_default().to_owned(),
        });
        Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(answer.to_string())))
            .expect("a valid answer")
    }

    /// One short write per line: lines do not mix.
    fn note(&self, call: &ServiceCall) {
        let line = serde_json::to_string(call).expect("strings") + "\n";
        let file = OpenOptions::new().append(true).open(&self.log);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// A request that the API server sent to a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCall {
    /// The Service, as in `webhook.system.svc`.
    pub service: String,
    /// The path of the request.
    pub path: String,
    /// The kind of review that was asked for; empty for other requests.
    pub review: String,
}

impl ControlPlane {
    /// What the API server asked of Services so far, in order.
    #[must_use]
    pub fn service_calls(&self) -> Vec<ServiceCall> {
        let text = self
            .directory()
            .map(|dir| std::fs::read_to_string(log(dir)));
        let text = text.and_then(Result::ok).unwrap_or_default();
        let calls = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        calls.collect()
    }
}
