//! Ctrl-C: once stops cleanly (no new request is sent, the lock is released, what is known stays
//! recorded), twice stops at once.

use std::sync::Arc;

use opm_engine::ports::Gate;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Exit;
use crate::ui::Ui;

/// Watches for interrupts for as long as the command runs.
pub(crate) fn stop_on_interrupts(gate: Arc<Gate>, ui: Ui) -> std::io::Result<()> {
    let interrupt = signal(SignalKind::interrupt())?;
    let terminate = signal(SignalKind::terminate())?;
    tokio::spawn(watch(interrupt, terminate, gate, ui));
    Ok(())
}

async fn watch(mut interrupt: Signal, mut terminate: Signal, gate: Arc<Gate>, ui: Ui) {
    next(&mut interrupt, &mut terminate).await;
    gate.interrupt();
    ui.warn("stopping after the requests in flight; press Ctrl-C again to stop at once");
    next(&mut interrupt, &mut terminate).await;
    std::process::exit(Exit::Interrupted as i32);
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
