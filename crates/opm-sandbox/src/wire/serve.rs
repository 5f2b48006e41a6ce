//! The same service on a loopback port, for kubectl and everything else that speaks HTTP.
//!
//! How many connections there are and how long a client may take to send a request is bounded
//! here; who may ask at all is for `guard`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use super::guard::{Guard, Token};
use crate::sandbox::Sandbox;

/// Serving is not possible.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port cannot be had.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Listen {
        /// The wanted port; 0 for any.
        port: u16,
        /// Why not.
        source: io::Error,
    },
}

/// Where to serve, and what a client may take.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// How many connections are served at a time; more have to wait.
    pub connections: usize,
    /// How long a client may take to send the head of a request, or to send another request.
    pub head_timeout: Duration,
    /// How long a client may take to send the body of a request.
    pub body_timeout: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            port: 0,
            connections: 512,
            head_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(60),
        }
    }
}

/// A sandbox that listens. Stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    token: Token,
    task: JoinHandle<()>,
}

impl Server {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig that leads there, with the token that every request has to show.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: sandbox\n  cluster:\n    server: \
             http://{}/{}\ncontexts:\n- name: sandbox\n  context:\n    cluster: sandbox\n    user: \
             sandbox\ncurrent-context: sandbox\nusers:\n- name: sandbox\n  user:\n    token: {}\n",
            self.address,
            self.token.secret(),
            self.token.secret()
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens on loopback; port 0 takes any that is free.
///
/// # Errors
/// When the port cannot be had.
pub async fn serve(sandbox: Sandbox, port: u16) -> Result<Server, ServeError> {
    let options = ServeOptions {
        port,
        ..ServeOptions::default()
    };
    serve_with(sandbox, &options).await
}

/// Like [`serve`], with bounds of one's own.
///
/// # Errors
/// When the port cannot be had.
pub async fn serve_with(sandbox: Sandbox, options: &ServeOptions) -> Result<Server, ServeError> {
    let port = options.port;
    let listen = |source| ServeError::Listen { port, source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let token = Token::new();
    let guard = Guard::new(sandbox, token.clone(), options.body_timeout);
    let task = tokio::spawn(serve_all(listener, guard, options.clone()));
    Ok(Server {
        address,
        token,
        task,
    })
}

async fn serve_all(listener: TcpListener, guard: Guard, options: ServeOptions) {
    let free = Arc::new(Semaphore::new(options.connections));
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(options.head_timeout);
    // Connections end with the server.
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = free.clone().acquire_owned().await else {
            return;
        };
        let (stream, _) = next_connection(|| listener.accept(), tokio::time::sleep).await;
        let (builder, service) = (builder.clone(), TowerToHyperService::new(guard.clone()));
        connections.spawn(async move {
            // A client that goes away mid-request is no error of ours.
            let _ = builder
                .serve_connection(TokioIo::new(stream), service)
                .await;
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
}

/// How long to wait after a failed accept. Most failures are ours, such as having no file
/// descriptors left, and stay until a connection ends.
const AFTER_A_FAILURE: Duration = Duration::from_millis(100);

async fn next_connection<S, A, P>(
    mut accept: impl FnMut() -> A,
    mut pause: impl FnMut(Duration) -> P,
) -> S
where
    A: Future<Output = io::Result<S>>,
    P: Future<Output = ()>,
{
    loop {
        match accept().await {
            Ok(stream) => return stream,
            Err(_) => pause(AFTER_A_FAILURE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failed_accept_is_waited_out() {
        let (mut tries, mut pauses) = (0, 0);
        let accept = || {
            tries += 1;
            std::future::ready(match tries {
                1..=20 => Err(io::Error::other("too many open files")),
                _ => Ok(tries),
            })
        };
        let pause = |_| {
            pauses += 1;
            std::future::ready(())
        };
        let connected = next_connection(accept, pause).await;
        assert_eq!((connected, pauses), (21, 20));
    }
}
