//! CUE modules, evaluated by the official `cue` as a bounded child process.
//!
//! Evaluation sees a cleared environment and no registry. Only when a dependency is missing does
//! a second run, with the user's environment, fetch it: fetching reads credentials and may run
//! the user's credential helpers, evaluating must not.

mod diagnostics;
mod kept;
mod layers;
mod masking;
mod module_file;
mod output;
mod registry;
mod source;
mod version;
mod workspace;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use opm_core::rendered::Module;
use opm_core::values::Value;
use thiserror::Error;

use kept::KeptRendering;
use module_file::{CueModule, DeclaredComponents};
use workspace::Workspace;

pub use diagnostics::{Diagnostic, Diagnostics};
pub use module_file::CueModuleError;
pub use output::OutputError;
pub use registry::RegistryError;
pub use version::VersionError;
pub use workspace::WorkspaceError;

use crate::context::RenderContext;
use crate::module_dir::ModuleDir;
use crate::program::{self, CommandError, Environment, Invocation, ProgramOutput};
use crate::settings::RenderSettings;
use crate::{Inputs, Loaded};

pub(crate) use registry::resolve;

/// Why a CUE module cannot be rendered.
#[derive(Debug, Error)]
pub enum CueError {
    /// The directory is no module.
    #[error(transparent)]
    Module(#[from] CueModuleError),
    /// The temporary directory cannot be written.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// `cue` does not run to its end.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// `cue` cannot be used.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// `cue` says what is wrong with the module or its values.
    #[error("{0}")]
    Evaluation(Diagnostics),
    /// The directory is a CUE module, and none for `opm`.
    #[error(
        "this is no module for opm: it declares no #components{}",
        tool.map(|tool| format!(" (it looks like a module for {tool})")).unwrap_or_default()
    )]
    NoComponents {
        /// Whose module it seems to be.
        tool: Option<&'static str>,
    },
    /// The output of `cue` is no rendered module.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A module cannot be had from its registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl CueError {
    /// What to do next, as far as it is known.
    pub fn hints(&self) -> Vec<String> {
        let one = |hint: &str| vec![hint.to_owned()];
        match self {
            Self::Command(CommandError::Program(_)) => how_to_get_cue(),
            Self::Version(_) => one(
                "install a current version: https://cuelang.org/docs/introduction/installation/",
            ),
            Self::Command(CommandError::TimedOut { .. }) => one(
                "the evaluation may never end; if the module is just large, raise OPM_RENDER_TIMEOUT (seconds)",
            ),
            Self::Command(CommandError::OutOfMemory { .. }) => {
                one("if the module is just large, raise OPM_RENDER_MEMORY (MiB)")
            }
            Self::Registry(RegistryError::Missing(_)) => one(
                "CUE_REGISTRY names the registries; a YAML module is in none, and is named by its directory",
            ),
            Self::Evaluation(diagnostics) => diagnostics.hints(),
            Self::NoComponents { .. } => one(
                "a module has `metadata: name: \"web\"`, its values in `#config`, and its objects in \
                 `#components: app: resources: page: {apiVersion: \"v1\", kind: \"ConfigMap\", …}`; \
                 `opm mod init DIR --format cue` writes one",
            ),
            Self::Output(OutputError::Version(error)) => error.hint().into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// Looks for `cue`, without starting it.
pub fn find_cue(settings: &RenderSettings) -> Result<PathBuf, CueError> {
    let found = program::find(&settings.cue, settings.search_path.as_deref());
    Ok(found.map_err(CommandError::from)?)
}

fn how_to_get_cue() -> Vec<String> {
    vec![
        format!(
            "CUE modules need the `cue` command, {} or later: \
             https://cuelang.org/docs/introduction/installation/",
            version::MINIMUM
        ),
        "opm looks for it in PATH, unless OPM_CUE names it; YAML modules do not need it".to_owned(),
    ]
}

/// Renders the CUE module in a directory.
pub(crate) fn load(
    dir: &ModuleDir,
    inputs: &Inputs,
    context: &RenderContext<'_>,
) -> Result<Loaded, CueError> {
    let (module, stdout) = evaluate(dir, inputs, &["-e", "opm"], context)?;
    let mut loaded = output::read(&stdout, &module.path)?;
    loaded.rendered.set = inputs.values.set();
    Ok(loaded)
}

/// What the CUE module in a directory says about itself, without its values. Errors elsewhere in
/// the module (`-i` ignores them) are no matter.
pub(crate) fn describe(dir: &ModuleDir, context: &RenderContext<'_>) -> Result<Module, CueError> {
    let (module, stdout) = evaluate(dir, &Inputs::default(), &["-i", "-e", "described"], context)?;
    Ok(output::read_metadata(&stdout, &module.path)?)
}

fn evaluate(
    dir: &ModuleDir,
    inputs: &Inputs,
    flags: &[&str],
    context: &RenderContext<'_>,
) -> Result<(CueModule, Vec<u8>), CueError> {
    let module = module_file::read(dir)?;
    let declared = module_file::declared(dir)?;
    if declared == DeclaredComponents::Timoni {
        return Err(CueError::NoComponents {
            tool: Some("Timoni"),
        });
    }
    dir.check_confined(Path::new(""))
        .map_err(CueModuleError::Dir)?;
    let settings = context.settings;
    let keep = || KeptRendering::find(dir, &module, inputs, flags, settings);
    let kept = keep();
    if let Some(stdout) = kept.as_ref().and_then(KeptRendering::read) {
        return Ok((module, stdout));
    }
    let runtime = settings.runtime.as_deref();
    let export = |directory: &Path, package: &str| Cue { context, directory }.data(package);
    let workspace = Workspace::create(dir, &module, inputs, runtime, &export)?;
    let cue = Cue {
        context,
        directory: workspace.path(),
    };
    cue.check_version()?;
    let mut output = cue.export(&workspace, flags)?;
    if !output.status.success() && lacks_dependency(&output.stderr) {
        cue.fetch(&workspace)?;
        output = cue.export(&workspace, flags)?;
    }
    match output.status.success() {
        true => {
            // Files that changed meanwhile may or may not have been seen.
            if let Some(kept) = kept.filter(|kept| keep().as_ref() == Some(kept)) {
                kept.write(&output.stdout);
            }
            Ok((module, output.stdout))
        }
        false => {
            let diagnostics = Diagnostics::read(&output.stderr, &workspace);
            Err(
                match declared == DeclaredComponents::Nowhere && diagnostics.has_foreign_fields() {
                    true => CueError::NoComponents { tool: None },
                    false => CueError::Evaluation(diagnostics),
                },
            )
        }
    }
}

/// What `cue` says when a module that is required is not in its cache.
fn lacks_dependency(stderr: &str) -> bool {
    stderr.contains("cannot fetch ") || stderr.contains("module not found")
}

/// `cue` with everything it needs to run on a module.
struct Cue<'a> {
    context: &'a RenderContext<'a>,
    /// The workspace's.
    directory: &'a Path,
}

impl Cue<'_> {
    fn check_version(&self) -> Result<(), CueError> {
        let output = self.run(&["version"], self.evaluating(), None)?;
        Ok(version::check(&String::from_utf8_lossy(&output.stdout))?)
    }

    /// What a package holds, if it is plain data.
    fn data(&self, package: &str) -> Option<Value> {
        let arguments = ["export", package, "--out", "json"];
        let output = self.run(&arguments, self.evaluating(), None).ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let value = output
            .status
            .success()
            .then(|| Value::from_json(&text).ok());
        value.flatten()
    }

    fn export(&self, workspace: &Workspace, flags: &[&str]) -> Result<ProgramOutput, CommandError> {
        let (package, input) = workspace.package();
        let mut arguments = vec!["export", "-E"];
        arguments.extend(package);
        arguments.extend(["--out", "json"]);
        arguments.extend(flags);
        self.run(&arguments, self.evaluating(), input)
    }

    /// Downloads missing dependencies. What it prints is the next evaluation's to judge, except
    /// that the registry's own words are better than "not found".
    fn fetch(&self, workspace: &Workspace) -> Result<(), CueError> {
        let package = format!("./{}", workspace::PACKAGE);
        let arguments = ["export", &package, "-e", "fetched"];
        let environment = fetching(self.context.settings.cue_cache.as_deref());
        let output = self.run(&arguments, environment, None)?;
        match output.status.success() || !lacks_dependency(&output.stderr) {
            true => Ok(()),
            false => Err(CueError::Evaluation(Diagnostics::read(
                &output.stderr,
                workspace,
            ))),
        }
    }

    fn run(
        &self,
        arguments: &[&str],
        environment: Environment,
        input: Option<&str>,
    ) -> Result<ProgramOutput, CommandError> {
        let invocation = Invocation {
            program: &self.context.settings.cue,
            search_path: self.context.settings.search_path.as_deref(),
            arguments,
            directory: self.directory,
            environment,
            limits: self.context.settings.limits,
            input,
        };
        invocation.finish(self.context)
    }

    /// Nothing of the user's environment: variables can switch checks off (CUE_DEBUG) or write
    /// files (CUE_STATS_FILE).
    fn evaluating(&self) -> Environment {
        let nowhere = OsString::from(workspace::nowhere(self.directory));
        let cache = self
            .context
            .settings
            .cue_cache
            .as_ref()
            .map_or(nowhere.clone(), OsString::from);
        // A little less than the limit, so that garbage is collected before the limit is met.
        let soft = self.context.settings.limits.memory / 8 * 7;
        Environment::Only(vec![
            ("HOME", nowhere.clone()),
            ("CUE_CONFIG_DIR", nowhere),
            ("CUE_CACHE_DIR", cache),
            ("CUE_REGISTRY", "none".into()),
            ("GOMEMLIMIT", soft.to_string().into()),
            ("GOMAXPROCS", "4".into()),
        ])
    }
}

/// The user's environment, with the cache where the evaluation will look for it.
fn fetching(cache: Option<&Path>) -> Environment {
    Environment::Users(
        cache
            .map(|cache| ("CUE_CACHE_DIR", cache.into()))
            .into_iter()
            .collect(),
    )
}
