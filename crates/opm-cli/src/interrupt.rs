//! The user's wish to stop: SIGINT or SIGTERM, noticed on a thread of its own.
//!
//! Once stops cleanly: no new request is sent, programs that `opm` started are ended (they have
//! a process group of their own, so Ctrl-C does not reach them), the lock is released and what
//! is known stays recorded. Twice ends `opm` at once.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use opm_engine::ports::Gate;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::Exit;
use crate::ui::Ui;

/// Whether the user wants to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(Arc<Gate>);

impl Interrupt {
    /// Begins to listen. Where that is not possible, signals end the process as always.
    pub(crate) fn listen(ui: Ui) -> Self {
        let gate = Arc::<Gate>::default();
        let noticed = Arc::clone(&gate);
        if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
            thread::spawn(move || runtime.block_on(notice(&noticed, ui)));
        }
        Self(gate)
    }

    /// Whether a signal has come.
    pub(crate) fn requested(&self) -> bool {
        self.0.is_interrupted()
    }

    /// The gate that the signal closes.
    pub(crate) fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.0)
    }
}

async fn notice(gate: &Gate, ui: Ui) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    loop {
        let came = poll_fn(|context| match interrupt.poll_recv(context) {
            Poll::Pending => terminate.poll_recv(context),
            ready => ready,
        });
        if came.await.is_none() {
            return;
        }
        if gate.is_interrupted() {
            std::process::exit(i32::from(Exit::Interrupted as u8));
        }
        gate.interrupt();
        ui.info("stopping; press Ctrl-C again to stop at once");
    }
}
