//! Rendering runs on a thread of its own: reading deeply nested text takes more stack than
//! threads have by default, and what is nested too deeply must be an error, not a crash. The same
//! thread keeps an async caller's runtime free.

use std::io;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::thread;

use futures::channel::oneshot;
use futures::future::{Either, select};
use tokio_util::sync::CancellationToken;

use crate::cancellation::{CancelOnDrop, Cancellation};
use crate::error::RenderError;

const STACK: usize = 64 << 20;

fn builder() -> thread::Builder {
    thread::Builder::new()
        .name("render".to_owned())
        .stack_size(STACK)
}

fn no_thread(source: io::Error) -> RenderError {
    RenderError::Thread { source }
}

/// Does the work and waits for it.
pub(crate) fn run<T: Send>(
    work: impl FnOnce() -> Result<T, RenderError> + Send,
) -> Result<T, RenderError> {
    thread::scope(|scope| {
        let thread = builder().spawn_scoped(scope, work).map_err(no_thread)?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Does the work without blocking the caller. When `cancel` is cancelled, the work is given up
/// and this waits for its end, which comes soon; when the future is dropped, the work's program is
/// ended before the drop returns.
pub(crate) async fn spawn<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&Cancellation) -> Result<T, RenderError> + Send + 'static,
) -> Result<T, RenderError> {
    let cancellation = Arc::new(Cancellation::default());
    let shared = Arc::clone(&cancellation);
    let (sender, receiver) = oneshot::channel();
    let deliver = move || {
        // Nobody listens any more when the future is dropped.
        let _ = sender.send(work(&shared));
    };
    let _guard = CancelOnDrop(&cancellation);
    let thread = builder().spawn(deliver).map_err(no_thread)?;
    let delivered = match select(receiver, pin!(cancel.cancelled())).await {
        Either::Left((delivered, _)) => delivered,
        Either::Right(((), receiver)) => {
            cancellation.cancel();
            receiver.await
        }
    };
    match delivered {
        Ok(result) => result,
        // The thread ended without a word: it panicked.
        Err(oneshot::Canceled) => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => Err(no_thread(io::Error::other("it ended without a result"))),
        },
    }
}
