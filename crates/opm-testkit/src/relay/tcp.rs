//! A relay below TLS: every byte arrives later by a fixed time, and connections can be cut.
//!
//! It brings the regime of a distant API server to loopback. It does not see requests.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use super::RelayError;
use super::endpoint::Endpoint;
use crate::kubeconfig::Access;

/// A relay of bytes. It serves from a thread of its own until it is dropped.
#[derive(Debug)]
pub struct TcpRelay {
    endpoint: Endpoint,
    cut: Arc<Notify>,
}

impl TcpRelay {
    /// Starts a relay to the cluster of a kubeconfig's current context, with this much delay for a
    /// round trip: half of it each way.
    pub fn start(kubeconfig: &Path, round_trip: Duration) -> Result<Self, RelayError> {
        let (listener, address) = Endpoint::listen()?;
        let mut access = Access::of_file(kubeconfig);
        let upstream: http::Uri = access.server.parse().map_err(io::Error::other)?;
        let host = upstream
            .host()
            .unwrap_or("127.0.0.1")
            .trim_matches(['[', ']'])
            .to_owned();
        let port = upstream.port_u16().unwrap_or(443);
        // The certificate is the API server's own, for the API server's own name.
        access.tls_server_name.get_or_insert(host.clone());
        let cut = Arc::<Notify>::default();
        let serving = accept(listener, (host, port), round_trip / 2, cut.clone());
        let endpoint = Endpoint::open(address, access, serving);
        Ok(Self { endpoint, cut })
    }

    /// Writes a kubeconfig that leads to the relay, with the credentials of the original.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<PathBuf> {
        self.endpoint.write_kubeconfig(path)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.endpoint.address()
    }

    /// Cuts all connections that are open now. New ones are welcome.
    pub fn cut(&self) {
        self.cut.notify_waiters();
    }
}

async fn accept(listener: StdListener, upstream: (String, u16), delay: Duration, cut: Arc<Notify>) {
    let listener = TcpListener::from_std(listener).expect("a non-blocking listener");
    while let Ok((client, _)) = listener.accept().await {
        let (upstream, cut) = (upstream.clone(), cut.clone());
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(upstream).await else {
                return;
            };
            let _ = client.set_nodelay(true);
            let _ = server.set_nodelay(true);
            connection(client, server, delay, &cut).await;
        });
    }
}

async fn connection(mut client: TcpStream, mut server: TcpStream, delay: Duration, cut: &Notify) {
    let cut_off = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        tokio::select! {
            _ = async { tokio::join!(
                pass(from_client, to_server, delay),
                pass(from_server, to_client, delay),
            ) } => false,
            () = cut.notified() => true,
        }
    };
    if cut_off {
        let _ = client.set_zero_linger();
        let _ = server.set_zero_linger();
    }
}

/// Passes bytes on, each after the delay. Reading goes on while earlier bytes wait, so the delay
/// costs time, not throughput.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    delay: Duration,
) -> io::Result<()> {
    let (send, mut waiting) = mpsc::channel::<(Instant, Bytes)>(1024);
    let reading = async move {
        let mut buffer = BytesMut::with_capacity(64 * 1024);
        while let Ok(1..) = from.read_buf(&mut buffer).await {
            let due = Instant::now() + delay;
            if send.send((due, buffer.split().freeze())).await.is_err() {
                break;
            }
            buffer.reserve(64 * 1024);
        }
    };
    let writing = async move {
        while let Some((due, bytes)) = waiting.recv().await {
            if !delay.is_zero() {
                sleep_until(due).await;
            }
            to.write_all(&bytes).await?;
        }
        to.shutdown().await
    };
    let ((), written) = tokio::join!(reading, writing);
    written
}
