//! `opm sandbox serve`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opm_engine::FailureKind;
use opm_sandbox::Server;

use super::open;
use crate::error::{CliError, ErrorKind, Exit};
use crate::ui::Ui;

/// Serve the sandbox on a loopback port, for kubectl and other clients
///
/// Writes a kubeconfig that only its owner can read, prints its path, and serves until it is
/// interrupted. The kubeconfig has a token, new each time: whoever has it may do everything, and
/// requests without it are refused. kubectl shows it in the
/// address, so keep that to yourself too.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The port; 0 takes any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Where to write the kubeconfig [default: kubeconfig in the sandbox's directory]
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
}

pub(super) fn run(args: &Args, dir: &Path, ui: &Ui) -> Result<Exit, CliError> {
    let sandbox = open(dir)?;
    let file = args
        .write_kubeconfig
        .clone()
        .unwrap_or_else(|| dir.join("kubeconfig"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|e| failed(&format!("failed to start: {e}")))?;
    runtime.block_on(async {
        let server = opm_sandbox::serve(sandbox, args.port).await;
        let server = server.map_err(|error| failed(&error.to_string()))?;
        announce(&server, &file, ui)?;
        let stopped = tokio::signal::ctrl_c().await;
        stopped.map_err(|e| failed(&format!("failed to wait for an interrupt: {e}")))?;
        Ok(ErrorKind::from(FailureKind::Interrupted).exit())
    })
}

fn announce(server: &Server, file: &Path, ui: &Ui) -> Result<(), CliError> {
    let written = write_private(file, &server.kubeconfig());
    written.map_err(|e| failed(&format!("failed to write {}: {e}", file.display())))?;
    ui.info(&format!(
        "serving on http://{}, until interrupted",
        server.address()
    ));
    ui.text(&format!("{}\n", file.display()))
}

/// Writes a file that only its owner can read, from its first byte on, in place of any other.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(&new)?;
    let written = opened
        .write_all(text.as_bytes())
        .and_then(|()| fs::rename(&new, file));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn failed(message: &str) -> CliError {
    CliError::new(ErrorKind::Io, message.to_owned())
}
