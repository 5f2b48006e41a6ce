//! The user's wish to stop: SIGINT or SIGTERM, noticed on a thread of its own.
//!
//! Programs that `opm` starts have a process group of their own, so Ctrl-C does not reach them:
//! who runs one asks here whether to go on, and ends it. A second signal ends `opm` at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::error::Exit;

/// Whether the user wants to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to listen. Where that is not possible, signals end the process as always.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        let noticed = Arc::clone(&interrupt.0);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        if let Ok(runtime) = runtime {
            thread::spawn(move || runtime.block_on(notice(&noticed)));
        }
        interrupt
    }

    /// Whether a signal has come.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

async fn notice(noticed: &AtomicBool) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    loop {
        let came = std::future::poll_fn(|context| match interrupt.poll_recv(context) {
            std::task::Poll::Pending => terminate.poll_recv(context),
            ready => ready,
        });
        if came.await.is_none() {
            return;
        }
        if noticed.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Interrupted as u8));
        }
    }
}
