//! The user's wish to stop: SIGINT or SIGTERM, noticed on a thread of its own.
//!
//! Once stops cleanly: no new request is sent, programs that `opm` started are ended (they have
//! a process group of their own, so Ctrl-C does not reach them), the lock is released and what
//! is known stays recorded. Twice ends `opm` at once.

use std::future::poll_fn;
use std::task::Poll;
use std::thread;

use opm_engine::FailureKind;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::ui::Ui;

/// Whether the user wants to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(CancellationToken);

impl Interrupt {
    /// Begins to listen. Where that is not possible, signals end the process as always.
    pub(crate) fn listen(ui: Ui) -> Self {
        let token = CancellationToken::new();
        let noticed = token.clone();
        if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
            thread::spawn(move || runtime.block_on(notice(&noticed, ui)));
        }
        Self(token)
    }

    /// What the signal cancels.
    pub(crate) fn token(&self) -> CancellationToken {
        self.0.clone()
    }
}

async fn notice(token: &CancellationToken, ui: Ui) {
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
        if token.is_cancelled() {
            std::process::exit(i32::from(FailureKind::Interrupted.exit_code()));
        }
        token.cancel();
        ui.info("stopping; press Ctrl-C again to stop at once");
    }
}
