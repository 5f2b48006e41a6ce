//! Kustomizations, built by `kustomize`, or by `kubectl` where only that is there.
//!
//! Both would fetch whatever a kustomization names by URL, and take for a URL what they do not
//! find. So the whole tree is read first: everything that it names must be there, inside the
//! module, unless the component may fetch. Plugins stay off, and the load restrictor on.

mod scan;
mod version;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::component_source::KustomizeSource;
use crate::context::RenderContext;
use crate::module_dir::{DirError, ModuleDir};
use crate::program::{self, CommandError, Environment, Invocation, PrivateDir, ProgramOutput};

pub(crate) use scan::{FILES, looks_remote};

pub use scan::ScanError;
pub use version::KustomizeVersionError;

/// How many lines of what the program says are shown.
const MAX_LINES: usize = 6;

/// Why a kustomization cannot be built.
#[derive(Debug, Error)]
pub enum KustomizeError {
    /// Its directory cannot be read.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// The tree names what must not be used, or is not there.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// There is neither program.
    #[error("neither `kustomize` nor `kubectl` was found")]
    NoProgram,
    /// The program is too old.
    #[error(transparent)]
    Version(#[from] KustomizeVersionError),
    /// It does not run to its end.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It has no directory to be in.
    #[error("failed to write to a temporary directory: {0}")]
    Temporary(#[from] std::io::Error),
    /// It says what is wrong.
    #[error("{place}: {said}")]
    Build {
        /// The kustomization's directory.
        place: String,
        /// What it says.
        said: String,
    },
    /// It prints something that is no text.
    #[error("{0}: what it builds is not UTF-8 text")]
    NotText(String),
}

impl KustomizeError {
    /// Whether the caller gave up.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, Self::Command(CommandError::Interrupted(_)))
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoProgram | Self::Version(_) => Some(format!(
                "kustomizations need kustomize {} or later \
                 (https://kubectl.docs.kubernetes.io/installation/kustomize/), or a kubectl that \
                 has it (1.27 or later), in PATH",
                version::MINIMUM
            )),
            Self::Scan(error) => error.hint(),
            _ => None,
        }
    }
}

/// The text that a kustomization comes to, and what messages call it.
pub(crate) fn build(
    dir: &ModuleDir,
    source: &KustomizeSource,
    context: &RenderContext<'_>,
) -> Result<(String, String), KustomizeError> {
    let path = Path::new(&source.path);
    let shown = dir.shown(path);
    let directory = dir.resolve(path)?;
    let reach = scan::Reach {
        root: dir.reach(),
        remote: source.remote,
    };
    scan::check(&directory, &shown, &reach)?;
    let tool = Tool::find(context)?;
    let temporary = PrivateDir::create(context.settings.runtime.as_deref())?;
    let nowhere = temporary.path().join("nowhere");
    program::once(tool.path(), "", || {
        let said = tool.version(context, &directory, &nowhere)?;
        version::check(&said).map_err(KustomizeError::from)
    })?;
    let environment = match source.remote {
        true => fetching(),
        false => cleared(&nowhere),
    };
    let output = tool.run(
        &tool.build(source.any_directory),
        &directory,
        environment,
        context,
    )?;
    if !output.status.success() {
        let root = dir.root().display().to_string();
        let said = in_users_words(&output.stderr, &root, &dir.shown(Path::new("")));
        return Err(KustomizeError::Build { place: shown, said });
    }
    let text = String::from_utf8(output.stdout);
    let text = text.map_err(|_| KustomizeError::NotText(shown.clone()))?;
    Ok((shown, text))
}

/// Fetching takes git, and the user's credentials. What is fetched may name more, and git would
/// also clone what is on this machine.
fn fetching() -> Environment {
    const PROTOCOLS: &str = "GIT_ALLOW_PROTOCOL";
    Environment::Users(match std::env::var_os(PROTOCOLS) {
        Some(_) => Vec::new(),
        None => vec![(PROTOCOLS, "http:https:ssh".into())],
    })
}

/// Nothing of the user's environment: no program can be found with it, and nothing fetched.
fn cleared(nowhere: &Path) -> Environment {
    let nowhere = OsString::from(nowhere);
    Environment::Only(vec![
        ("HOME", nowhere.clone()),
        ("KUBECONFIG", nowhere),
        ("GOMAXPROCS", "4".into()),
    ])
}

/// The program that builds.
enum Tool {
    Kustomize(PathBuf),
    Kubectl(PathBuf),
}

impl Tool {
    fn find(context: &RenderContext<'_>) -> Result<Self, KustomizeError> {
        let find = |name: &str| {
            let search = context.settings.search_path.as_deref();
            program::find(Path::new(name), search).ok()
        };
        let kubectl = || find("kubectl").map(Self::Kubectl);
        let found = find("kustomize").map(Self::Kustomize).or_else(kubectl);
        found.ok_or(KustomizeError::NoProgram)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kustomize(path) | Self::Kubectl(path) => path,
        }
    }

    /// The load restrictor is on unless the source says otherwise; the tree was read before, and
    /// stays inside the module either way.
    fn build(&self, any_directory: bool) -> [&'static str; 4] {
        let verb = match self {
            Self::Kustomize(_) => "build",
            Self::Kubectl(_) => "kustomize",
        };
        let restrictor = match any_directory {
            true => "LoadRestrictionsNone",
            false => "LoadRestrictionsRootOnly",
        };
        [verb, "--load-restrictor", restrictor, "."]
    }

    /// What the program says of its version.
    fn version(
        &self,
        context: &RenderContext<'_>,
        directory: &Path,
        nowhere: &Path,
    ) -> Result<String, KustomizeError> {
        let arguments: &[&str] = match self {
            Self::Kustomize(_) => &["version"],
            Self::Kubectl(_) => &["version", "--client"],
        };
        let output = self.run(arguments, directory, cleared(nowhere), context)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn run(
        &self,
        arguments: &[&str],
        directory: &Path,
        environment: Environment,
        context: &RenderContext<'_>,
    ) -> Result<ProgramOutput, CommandError> {
        let invocation = Invocation {
            program: self.path(),
            search_path: None,
            arguments,
            directory,
            environment,
            limits: context.settings.limits,
            input: None,
        };
        invocation.finish(context)
    }
}

/// What the program says is wrong, with the user's name for the module's directory, and no more
/// than a few lines of it.
fn in_users_words(stderr: &str, root: &str, given: &str) -> String {
    let said = stderr.lines().map(str::trim);
    let said = said.filter(|line| !line.is_empty() && !line.starts_with("# Warning"));
    let lines = said.take(MAX_LINES).map(|line| {
        let line = line.strip_prefix("Error: ").unwrap_or(line);
        let line = line.strip_prefix("error: ").unwrap_or(line);
        line.replace(root, given)
    });
    lines.collect::<Vec<_>>().join("\n")
}
