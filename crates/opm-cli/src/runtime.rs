//! The threads that a command waits on.

use std::future::Future;

use tokio::runtime::Builder;

use crate::error::{CliError, ErrorKind};

/// How many threads answer for the sandbox, or wait at the terminal. Each has memory of its own that
/// is not given back to the others: a dozen of them take more than twice as much.
const BLOCKING_THREADS: usize = 4;

/// Runs a command that waits: for a cluster, or for a module to render.
pub(crate) fn run<T>(command: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        CliError::new(ErrorKind::Io, format!("failed to start threads: {error}"))
    })?;
    let result = runtime.block_on(command);
    // A thread that waits for an answer at the terminal must not keep the command from ending.
    runtime.shutdown_background();
    result
}
