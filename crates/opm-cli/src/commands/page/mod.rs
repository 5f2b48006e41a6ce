//! `opm ui`.

mod plan;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use opm_core::name::ReleaseName;
use opm_engine::FailureKind;
use opm_page::{PageServer, PageSettings, PlanSource};
use plan::ModulePlan;

use crate::answers;
use crate::cluster::Session;
use crate::commands::module::{RenderArgs, Rendering};
use crate::error::{CliError, ErrorKind, Exit};
use crate::invocation::Invocation;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// What opens an address in the browser of this desktop.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// How long a look at a release's objects may take before its page is shown without them: what
/// comes within it is there at once, and nobody waits for what does not.
const PATIENCE: Duration = Duration::from_millis(200);

/// Look at releases in a browser
///
/// Serves a page on a loopback port until it is interrupted, prints its address, and opens it in
/// the browser. The page shows all releases, how each stands and what drifted, what Kubernetes
/// made of its objects, changes and deployments, any two changes side by side, what going back
/// would do, events and logs; it follows what happens. Of a module that is named, it also shows
/// what applying it would do, as its files are at the moment. It is for reading, unless
/// --allow-changes is given. What Secrets hold is not in it. The address has a token, new each
/// time: whoever has it sees what you may see.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A module's directory: the page shows what applying it would do
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,

    /// A file with values for it; can be repeated, later beats earlier
    #[arg(long, short = 'f', value_name = "FILE", requires = "dir")]
    values: Vec<String>,

    /// A value for it; can be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "dir")]
    set: Vec<String>,

    /// The name of its release; by default the module's name
    #[arg(long, value_name = "RELEASE", requires = "dir")]
    name: Option<ReleaseName>,

    /// The optional components to have; an empty list selects none
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "dir")]
    components: Option<Vec<String>>,

    /// The port; 0 takes any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Let the page apply, roll back, prune, unlock and delete, each after its plan was shown and
    /// the release's name typed
    #[arg(long)]
    allow_changes: bool,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

pub(super) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let invocation = Invocation::new(settings, ui);
    runtime::run(async {
        let session = Session::open(&invocation, false).await?;
        let page = PageSettings {
            cluster: session.account(),
            home: session.namespace_or_default()?,
            hints: answers::hints,
            plan: args.plan(&invocation, &session).await?,
            allow_changes: args.allow_changes,
            patience: PATIENCE,
        };
        let cancel = invocation.interrupt.token();
        let server = PageServer::bind(session.engine, page, args.port, cancel).await;
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

impl Args {
    /// What applying the module would do, if one is named.
    async fn plan(
        &self,
        invocation: &Invocation<'_>,
        session: &Session,
    ) -> Result<Option<Arc<dyn PlanSource>>, CliError> {
        let Some(dir) = self.dir.clone() else {
            return Ok(None);
        };
        let args = RenderArgs {
            module: vec![dir.display().to_string()],
            values: self.values.clone(),
            set: self.set.clone(),
            set_string: Vec::new(),
            set_file: Vec::new(),
            name: self.name.clone(),
            components: self.components.clone(),
            strict: false,
        };
        let mut rendering = Rendering::prepare(&args, invocation)?;
        rendering.ask_cluster(invocation.settings, session).await?;
        Ok(Some(Arc::new(ModulePlan {
            args,
            dir,
            rendering,
        })))
    }
}

/// Opens the address in a browser, if this desktop has a way to do so.
fn open(address: &str, ui: &Ui) {
    let mut programs = OPENERS
        .iter()
        .filter_map(|name| opm_render::find_program(name).ok());
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
