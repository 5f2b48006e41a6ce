//! The same service on a loopback port, for kubectl and everything else that speaks HTTP.

use std::net::{Ipv4Addr, SocketAddr};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

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
        source: std::io::Error,
    },
}

/// A sandbox that listens. Stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig that leads there.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: sandbox\n  cluster:\n    server: \
             http://{}\ncontexts:\n- name: sandbox\n  context:\n    cluster: sandbox\n    user: \
             sandbox\ncurrent-context: sandbox\nusers:\n- name: sandbox\n  user: {{}}\n",
            self.address
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
    let listen = |source| ServeError::Listen { port, source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let task = tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let service = TowerToHyperService::new(sandbox.clone());
            tokio::spawn(async move {
                // A client that goes away mid-request is no error of ours.
                let connection = Builder::new(TokioExecutor::new());
                let _ = connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(Server { address, task })
}
