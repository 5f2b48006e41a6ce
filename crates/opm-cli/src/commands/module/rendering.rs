//! What every command that renders takes, and how it renders.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opm_core::candidate::{Candidate, CandidateError, Selection};
use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, NameError, NamespaceName, ReleaseName};
use opm_core::scope::Scopes;
use opm_engine::FailureKind;
use opm_engine::request::{ReleaseRef, ShowRequest};
use opm_render::{
    CueError, FieldOfObject, Inputs, Lint, Loaded, ModuleRef, ModuleRenderer, Place, RenderError,
};
use opm_render::{RenderObserver, ValueFlags, Values};
use tokio_util::sync::CancellationToken;

use crate::answers;
use crate::cluster::{LookedAt, Session, busy};
use crate::error::{CliError, ErrorKind};
use crate::invocation::Invocation;
use crate::settings::Settings;
use crate::ui::Ui;

/// The module, its values, and the release to render it for.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RenderArgs {
    /// The module: a directory, manifests (files, or `-` for standard input) or, for CUE, a
    /// reference such as `example.com/web@v1.2.3`
    #[arg(value_name = "MODULE", default_value = ".")]
    pub(crate) module: Vec<String>,

    /// A file with values, over the module's own: CUE, YAML or JSON; `-` is standard input; can be
    /// repeated, later beats earlier
    #[arg(long, short = 'f', value_name = "FILE", help_heading = "Values")]
    pub(crate) values: Vec<String>,

    /// A value: a JSON or CUE literal if it is one that fits, else a text; can be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Values")]
    pub(crate) set: Vec<String>,

    /// A value that is a text, whatever it looks like; can be repeated
    #[arg(long, value_name = "KEY=TEXT", help_heading = "Values")]
    pub(crate) set_string: Vec<String>,

    /// A value that is the content of a file; can be repeated
    #[arg(long, value_name = "KEY=FILE", help_heading = "Values")]
    pub(crate) set_file: Vec<String>,

    /// The name of the release; by default the module's name
    #[arg(long, value_name = "RELEASE")]
    pub(crate) name: Option<ReleaseName>,

    /// The optional components to have; an empty list selects none
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) components: Option<Vec<String>>,

    /// Refuse a module that asks for what opm does not carry out, instead of warning
    #[arg(long)]
    pub(crate) strict: bool,
}

impl RenderArgs {
    /// The module that is meant; files are read.
    fn source(&self) -> Result<ModuleRef, CliError> {
        if self
            .module
            .iter()
            .chain(&self.values)
            .filter(|file| *file == "-")
            .count()
            > 1
        {
            let message = "standard input (`-`) can be read only once";
            return Err(CliError::new(ErrorKind::Usage, message));
        }
        ModuleRef::read(&self.module).map_err(|error| failure(&error))
    }

    /// The values that were given, as their files are now.
    fn given(&self) -> Result<Values, CliError> {
        let flags = ValueFlags {
            files: self.values.clone(),
            set: self.set.clone(),
            set_string: self.set_string.clone(),
            set_file: self.set_file.clone(),
        };
        Values::read(&flags).map_err(|error| failure(&error.into()))
    }

    /// The optional components that were asked for; none leaves what is recorded.
    pub(crate) fn selected(&self) -> Result<Option<Vec<ComponentName>>, CliError> {
        let invalid = |error: NameError| CliError::new(ErrorKind::Invalid, error.to_string());
        let named = |names: &Vec<String>| {
            let names = names.iter().filter(|name| !name.is_empty());
            names.map(ComponentName::new).collect::<Result<_, _>>()
        };
        let selected = self.components.as_ref().map(named);
        selected.transpose().map_err(invalid)
    }
}

/// A module, ready to be rendered.
pub(crate) struct Rendering {
    pub(crate) module: ModuleRef,
    pub(crate) inputs: Inputs,
    pub(crate) renderer: ModuleRenderer,
    /// The cluster that charts look at, for as long as they are rendered.
    looked_at: Option<LookedAt>,
    cancel: CancellationToken,
}

impl Rendering {
    /// Reads what the arguments name.
    pub(crate) fn prepare(
        args: &RenderArgs,
        invocation: &Invocation<'_>,
    ) -> Result<Self, CliError> {
        let inputs = Inputs {
            name: args.name.clone(),
            namespace: namespace(invocation.settings)?,
            values: args.given()?,
            capabilities: None,
            lookup: None,
        };
        Ok(Self {
            module: args.source()?,
            inputs,
            renderer: renderer(invocation),
            looked_at: None,
            cancel: invocation.interrupt.token(),
        })
    }

    /// Starts from the values that the release's current change recorded, and says so.
    pub(crate) async fn reuse_values(&mut self, session: &Session) -> Result<(), CliError> {
        let (name, namespace) = (self.inputs.name.as_ref(), self.inputs.namespace.as_ref());
        let module = self
            .renderer
            .describe(&self.module, name, &self.cancel)
            .await;
        let module = module.map_err(|error| failure(&error))?;
        let (name, namespace) =
            opm_render::release(&module, name, namespace).map_err(|error| failure(&error))?;
        let request = ShowRequest {
            release: ReleaseRef::Module {
                path: module.path,
                name,
                namespace: namespace.clone(),
            },
            namespace,
            revision: None,
            reveal: false,
        };
        let shown = session
            .engine
            .show_values(&request, &session.observer())
            .await;
        match shown {
            Ok(shown) => {
                let change = &shown.change;
                session
                    .ui
                    .info(&format!("starting from the values of {change}"));
                let values = std::mem::take(&mut self.inputs.values);
                self.inputs.values = values.over_recorded(&shown.values, shown.set);
                Ok(())
            }
            Err(failure) if failure.kind == FailureKind::NotFound => {
                session
                    .ui
                    .info("there are no recorded values to start from");
                Ok(())
            }
            Err(failure) => Err(answers::failed(&failure, session)),
        }
    }

    /// Renders the module and connects. Charts want to know what the cluster can do; without any,
    /// a module that does not render is told before a cluster is looked for.
    pub(crate) async fn load_and_connect(
        self,
        invocation: &Invocation<'_>,
        yes: bool,
    ) -> Result<(Loaded, Session), CliError> {
        let ui = &invocation.ui;
        if !invocation.settings.events {
            ui.show_live(busy("rendering the module"));
        }
        let loaded = self.load_connected(invocation, yes).await;
        ui.clear_live();
        loaded
    }

    async fn load_connected(
        mut self,
        invocation: &Invocation<'_>,
        yes: bool,
    ) -> Result<(Loaded, Session), CliError> {
        if !opm_render::has_charts(&self.module) {
            let loaded = self.load().await?;
            return Ok((loaded, Session::open(invocation, yes).await?));
        }
        let session = Session::open(invocation, yes).await?;
        self.ask_cluster(invocation.settings, &session).await?;
        Ok((self.load().await?, session))
    }

    /// Tells charts what the cluster can do, and lets those look at it that may.
    pub(crate) async fn ask_cluster(
        &mut self,
        settings: &Settings,
        session: &Session,
    ) -> Result<(), CliError> {
        if opm_render::has_charts(&self.module) {
            self.inputs.capabilities = Some(session.capabilities().await?);
        }
        if opm_render::has_lookups(&self.module) {
            let looked_at = LookedAt::open(settings).await?;
            self.inputs.lookup = Some(looked_at.cluster.clone());
            self.looked_at = Some(looked_at);
        }
        Ok(())
    }

    /// Renders the module.
    pub(crate) async fn load(&self) -> Result<Loaded, CliError> {
        self.render(self.inputs.clone()).await
    }

    /// Renders the module as its files are now, and with the values that the arguments name.
    pub(crate) async fn load_anew(&self, args: &RenderArgs) -> Result<Loaded, CliError> {
        let inputs = Inputs {
            values: args.given()?,
            ..self.inputs.clone()
        };
        self.render(inputs).await
    }

    async fn render(&self, inputs: Inputs) -> Result<Loaded, CliError> {
        let loaded = self.renderer.load(&self.module, inputs, &self.cancel).await;
        loaded.map_err(|error| failure(&error))
    }

    /// Looks for what is likely to hurt in what was rendered.
    pub(crate) async fn lint(&self, loaded: &Arc<Loaded>) -> Result<Vec<Lint>, CliError> {
        let (module, inputs) = (&self.module, self.inputs.clone());
        let lints = self.renderer.lint(module, inputs, loaded, &self.cancel);
        lints.await.map_err(|error| failure(&error))
    }

    /// Where fields of objects stand in the module's files.
    pub(crate) async fn places(
        &self,
        wanted: Vec<FieldOfObject>,
    ) -> Result<Vec<Vec<Place>>, CliError> {
        let places = self
            .renderer
            .places(&self.module, self.inputs.clone(), wanted, &self.cancel);
        places.await.map_err(|error| failure(&error))
    }

    /// The definitions of custom resources in a directory.
    pub(crate) async fn definitions(&self, directory: &Path) -> Result<Vec<Manifest>, CliError> {
        let found = self
            .renderer
            .definitions(directory.to_owned(), &self.cancel);
        found.await.map_err(|error| failure(&error))
    }
}

/// A renderer that tells the user when another program takes its time.
pub(crate) fn renderer(invocation: &Invocation<'_>) -> ModuleRenderer {
    let slow = SlowProgram { ui: invocation.ui };
    ModuleRenderer::new(invocation.settings.render.clone()).observed(Arc::new(slow))
}

/// The optional components that were asked for.
fn selection(args: &RenderArgs) -> Selection {
    match &args.components {
        Some(names) => Selection::Given(
            names
                .iter()
                .filter(|name| !name.is_empty())
                .cloned()
                .collect(),
        ),
        None => Selection::default(),
    }
}

/// What a release of the rendered module would be, as far as it is known without a cluster.
pub(crate) fn candidate(loaded: Loaded, args: &RenderArgs) -> Result<Candidate, CandidateError> {
    let Loaded {
        name,
        namespace,
        rendered,
        ..
    } = loaded;
    let selection = selection(args);
    let candidate = Candidate::new(rendered, name, namespace, &selection, Scopes::default())?;
    match args.strict {
        true => candidate.complete(),
        false => Ok(candidate),
    }
}

/// A candidate that cannot be, as a failure of the command.
pub(crate) fn refused(error: &CandidateError) -> CliError {
    let failure = CliError::new(ErrorKind::Invalid, error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The namespace that the user asks for: the flag's, else the context's. The embedded cluster
/// has no context.
pub(super) fn namespace(settings: &Settings) -> Result<Option<NamespaceName>, CliError> {
    if settings.namespace.is_some() || settings.sandbox {
        return Ok(settings.namespace.clone());
    }
    let (path, context) = (settings.kubeconfig.as_ref(), settings.context.as_deref());
    let unusable = |message: String| {
        CliError::new(ErrorKind::Config, message)
            .hint("with -n NAMESPACE the kubeconfig is not needed here")
    };
    let named = opm_cluster::context_namespace(path, context, &settings.cluster)
        .map_err(|error| unusable(error.to_string()))?;
    named
        .map(NamespaceName::new)
        .transpose()
        .map_err(|error| unusable(format!("the kubeconfig's context: {error}")))
}

/// An error of rendering, as a failure of the command.
pub(crate) fn failure(error: &RenderError) -> CliError {
    let kind = match error {
        _ if error.is_interrupted() => FailureKind::Interrupted.into(),
        RenderError::Thread { .. } => FailureKind::Failed.into(),
        RenderError::Cue(cue) if matches!(cue.as_ref(), CueError::Workspace(_)) => ErrorKind::Io,
        _ => ErrorKind::Invalid,
    };
    let mut failure = CliError::new(kind, error.to_string());
    failure.hints = error.hints();
    failure
}

/// Tells the user that another program takes its time, and what it fetches.
struct SlowProgram {
    ui: Ui,
}

impl RenderObserver for SlowProgram {
    fn fetching(&self, what: &str) {
        self.ui.info(&format!("fetching {what}"));
    }

    fn waiting(&self, what: &str, elapsed: Duration) {
        self.ui.info(&format!(
            "`{what}` has been running for {} s",
            elapsed.as_secs()
        ));
    }
}
