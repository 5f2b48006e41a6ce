//! The threads that a command waits on.

use std::future::Future;

use tokio::runtime::Builder;

use crate::error::{CliError, ErrorKind};

/// Runs a command that waits: for a cluster, or for a module to render.
pub(crate) fn run<T>(command: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
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
