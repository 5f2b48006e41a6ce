//! The user's wish to stop: SIGINT or SIGTERM, noticed on a thread of its own.
//!
//! Once stops cleanly: no new request is sent, programs that `opm` started are ended (they have
//! a process group of their own, so Ctrl-C does not reach them), the lock is released and what
//! is known stays recorded. Twice ends `opm` at once.

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::thread;

use opm_engine::FailureKind;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cluster::Progress;
use crate::ui::Ui;

/// Whether the user wants to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    token: CancellationToken,
    /// Who knows what is under way, once something is.
    progress: Arc<OnceLock<Progress>>,
}

impl Interrupt {
    /// Begins to listen. Where that is not possible, signals end the process as always.
    pub(crate) fn listen(ui: Ui) -> Self {
        let interrupt = Self {
            token: CancellationToken::new(),
            progress: Arc::default(),
        };
        let noticed = interrupt.clone();
        if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
            thread::spawn(move || runtime.block_on(notice(&noticed, ui)));
        }
        interrupt
    }

    /// From now on `progress` says what an interrupt does.
    pub(crate) fn told_by(&self, progress: Progress) {
        // Only the first session of a command counts; there is one.
        let _ = self.progress.set(progress);
    }

    /// What the signal cancels.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}

async fn notice(interrupted: &Interrupt, ui: Ui) {
    let token = &interrupted.token;
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
            ui.clear_live();
            std::process::exit(i32::from(FailureKind::Interrupted.exit_code()));
        }
        match interrupted.progress.get() {
            Some(progress) => progress.interrupted(),
            None => ui.info("stopping; press Ctrl-C again to stop at once"),
        }
        token.cancel();
    }
}
