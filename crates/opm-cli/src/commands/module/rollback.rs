//! `opm mod rollback`.

use std::path::PathBuf;

use futures::future::BoxFuture;
use opm_core::rendered::Rendered;
use opm_engine::ports::{RenderFailure, RenderRequest, Renderer};
use opm_engine::request::RollbackRequest;
use opm_render::{CueSettings, Inputs, ModuleRef, Values, load};
use tokio_util::sync::CancellationToken;

use super::deploy_args::DeployArgs;
use super::release_arg::ReleaseArg;
use super::rendering::{self, Progress};
use crate::cluster::{self, Session};
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::Ui;

/// Apply a recorded change again
///
/// By default the current change if the last deployment did not succeed, else the change before
/// it. The manifests come from the cluster, verified by their digest: neither the module nor a
/// registry is needed. Where they are not kept, the module is rendered again with the recorded
/// values, and refused if that does not come to the same. From there on it is an ordinary apply.
/// The content of volumes does not come back.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release: its name, its id, or the directory of its module
    release: ReleaseArg,

    /// Which change: its id or the beginning of its digits
    #[arg(long, value_name = "CHANGE")]
    revision: Option<String>,

    #[command(flatten)]
    deploy: DeployArgs,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen(*ui);
    let release = args.release.resolve(settings)?;
    let again = RollbackRenderer {
        directory: args.release.directory(),
        cue: &settings.cue,
        watch: Progress::new(*ui, interrupt.clone()),
    };
    cluster::run(async {
        let session = Session::open(settings, ui, &interrupt, args.deploy.yes).await?;
        let request = RollbackRequest {
            release,
            namespace: session.namespace_or_default()?,
            revision: args.revision.clone(),
            options: args.deploy.options(),
        };
        let frontend = session.frontend();
        session.finish(session.engine.rollback(&request, &again, frontend).await)
    })
}

/// Renders a module once more: from the directory that the command names, else from a registry.
struct RollbackRenderer<'a> {
    directory: Option<PathBuf>,
    cue: &'a CueSettings,
    watch: Progress,
}

impl Renderer for RollbackRenderer<'_> {
    fn render<'a>(
        &'a self,
        request: &'a RenderRequest,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Rendered, RenderFailure>> {
        let rendered = self.render_now(request).map_err(|message| RenderFailure {
            message,
            hints: Vec::new(),
        });
        Box::pin(async move { rendered })
    }
}

impl RollbackRenderer<'_> {
    fn render_now(&self, what: &RenderRequest) -> Result<Rendered, String> {
        let module = self.source(what)?;
        // A module without values takes none, not even an empty set.
        let values = match what.values.trim() {
            "" | "{}" => Values::default(),
            text => Values::recorded(text),
        };
        let inputs = Inputs {
            name: Some(what.release.clone()),
            namespace: Some(what.namespace.clone()),
            values,
        };
        let loaded = load(&module, &inputs, self.cue, &self.watch);
        let loaded = loaded.map_err(|error| rendering::failure(&error).message)?;
        Ok(loaded.rendered)
    }
}

impl RollbackRenderer<'_> {
    fn source(&self, what: &RenderRequest) -> Result<ModuleRef, String> {
        if let Some(directory) = &self.directory {
            return Ok(ModuleRef::Directory(directory.clone()));
        }
        let path = what.module.path.split('@').next().unwrap_or_default();
        match &what.module.version {
            Some(version) => Ok(ModuleRef::Registry {
                path: path.to_owned(),
                version: format!("v{}", version.trim_start_matches('v')),
            }),
            None => Err(format!(
                "{path} has no version; name its directory instead of the release if it is still there"
            )),
        }
    }
}
