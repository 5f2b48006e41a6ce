//! `opm ui`.

use std::process::{Command, Stdio};

use opm_engine::FailureKind;
use opm_page::{PageServer, PageSettings};

use crate::answers;
use crate::cluster::Session;
use crate::error::{CliError, ErrorKind, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// What opens an address in the browser of this desktop.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Look at releases in a browser
///
/// Serves a page on a loopback port until it is interrupted, prints its address, and opens it in
/// the browser. The page shows all releases, how each stands and what drifted, what Kubernetes
/// made of its objects, changes and deployments, any two changes side by side, what going back
/// would do, events and logs; it follows what happens. It is for reading: nothing is changed, and
/// what Secrets hold is not in it. The address has a token, new each time: whoever has it sees
/// what you may see.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The port; 0 takes any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

pub(super) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    runtime::run(async {
        let session = Session::open(settings, ui, &interrupt, false).await?;
        let page = PageSettings {
            cluster: session.account(),
            home: session.namespace_or_default()?,
            hints: answers::hints,
        };
        let server = PageServer::bind(session.engine, page, args.port, interrupt.token()).await;
        let server = server.map_err(|error| failed("failed to serve the page", &error))?;
        let entrance = server.entrance();
        let entrance = entrance.map_err(|error| failed("failed to serve the page", &error))?;
        ui.text(&format!("{entrance}\n"))?;
        ui.info("serving until interrupted; whoever has this address sees what you may see");
        if !args.no_open {
            open(&entrance, ui);
        }
        let served = server.serve().await;
        served.map_err(|error| failed("failed to serve the page", &error))?;
        Ok(ErrorKind::from(FailureKind::Interrupted).exit())
    })
}

/// Opens the address in a browser, if this desktop has a way to do so.
fn open(address: &str, ui: &Ui) {
    let mut programs = OPENERS.iter().filter_map(|name| opm_render::find_program(name).ok());
    let opened = programs.next().map(|program| {
        let mut command = Command::new(program);
        let silent = command.arg(address).stdin(Stdio::null());
        silent.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
    match opened {
        Some(Ok(mut child)) => drop(std::thread::spawn(move || child.wait())),
        Some(Err(_)) | None => ui.hint("no browser could be opened: open the address yourself"),
    }
}

fn failed(what: &str, error: &std::io::Error) -> CliError {
    CliError::new(ErrorKind::Io, format!("{what}: {error}"))
}
