//! What every relay has: an address on loopback, a way in through a kubeconfig, and a thread
//! that serves until the relay is dropped.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::kubeconfig::Access;

/// A listening address of a relay. Dropping it ends the thread behind it.
#[derive(Debug)]
pub(super) struct Endpoint {
    address: SocketAddr,
    access: Access,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// A listener on a free port of loopback.
    pub(super) fn listen() -> io::Result<(TcpListener, SocketAddr)> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    /// Serves behind `address`. A thread of its own, so that a test that blocks its own runtime
    /// (waiting for a process, say) does not block the relay.
    pub(super) fn open(
        address: SocketAddr,
        mut access: Access,
        serving: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        access.server = format!("https://{address}");
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(async {
                tokio::select! {
                    () = serving => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            access,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Writes a kubeconfig that leads here.
    pub(super) fn write_kubeconfig(&self, path: &Path) -> io::Result<PathBuf> {
        self.access.write(path)?;
        Ok(path.to_owned())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
