//! Modules, rendered to components.
//!
//! A module is a directory or, for CUE, a reference to a registry. Whatever its format, the
//! result is one [`Rendered`]: metadata, values, and components that hold plain Kubernetes
//! objects. Nothing here talks to a cluster or prints; progress goes to a [`RenderObserver`].

mod components;
mod cue;
mod error;
mod init;
mod lint;
mod manifests;
mod module_dir;
mod observer;
mod source;
mod values;
mod yaml_module;

pub mod yaml;

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::values::Value;

pub use components::ComponentsError;
pub use cue::{
    CommandError, CueError, CueModuleError, CueSettings, Diagnostic, Diagnostics, Limits,
    OutputError, RegistryError, SettingsError, VersionError, WorkspaceError,
};
pub use error::RenderError;
pub use init::{InitError, InitFormat, NewModule, init};
pub use lint::{Lint, lint};
pub use manifests::FilesError;
pub use module_dir::DirError;
pub use observer::{NoObserver, RenderObserver};
pub use source::ModuleRef;
pub use values::{ValueFlags, Values, ValuesError};
pub use yaml_module::{ModuleFileError, schema as module_schema};

use manifests::ManifestReader;
use module_dir::ModuleDir;
use source::Format;

/// What the user gives besides the module.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The release's name; the module's name when none is given.
    pub name: Option<ReleaseName>,
    /// The release's namespace, from the command line or the kubeconfig's context. The module's
    /// `defaultNamespace`, else `default`, when none is given.
    pub namespace: Option<NamespaceName>,
    /// The values; only CUE modules take any.
    pub values: Values,
}

/// A rendered module, and the release that it was rendered for.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The release's name.
    pub name: ReleaseName,
    /// The release's namespace.
    pub namespace: NamespaceName,
    /// The resolved values.
    pub values: Value,
    /// The module.
    pub rendered: Rendered,
}

/// Renders a module.
pub fn load(
    module: &ModuleRef,
    inputs: &Inputs,
    settings: &CueSettings,
    watch: &dyn RenderObserver,
) -> Result<Loaded, RenderError> {
    with_deep_stack(|| {
        let loaded = match module {
            ModuleRef::Directory(path) => load_directory(path, inputs, settings, watch)?,
            ModuleRef::Registry { path, version } => {
                let resolved = cue::resolve(path, version, settings, watch)?;
                let mut loaded = load_directory(&resolved.directory, inputs, settings, watch)?;
                loaded.rendered.module.version = Some(resolved.version);
                loaded
            }
        };
        components::check(&loaded.rendered.components)?;
        Ok(loaded)
    })
}

/// What a module says about itself, read without its values: enough to find its release.
pub fn describe(
    module: &ModuleRef,
    settings: &CueSettings,
    watch: &dyn RenderObserver,
) -> Result<Module, RenderError> {
    with_deep_stack(|| match module {
        ModuleRef::Directory(path) => {
            let dir = ModuleDir::open(path)?;
            match Format::of(&dir)? {
                Format::Yaml => Ok(read_definition(&dir)?.module),
                Format::Cue => Ok(cue::describe(&dir, settings, watch)?),
            }
        }
        ModuleRef::Registry { path, version } => {
            let resolved = cue::resolve(path, version, settings, watch)?;
            let dir = ModuleDir::open(&resolved.directory)?;
            let mut module = cue::describe(&dir, settings, watch)?;
            module.version = Some(resolved.version);
            Ok(module)
        }
    })
}

/// Runs on a thread of its own: reading deeply nested text takes more stack than threads have by
/// default, and what is nested too deeply must be an error, not a crash.
fn with_deep_stack<T: Send>(
    work: impl FnOnce() -> Result<T, RenderError> + Send,
) -> Result<T, RenderError> {
    const STACK: usize = 64 << 20;
    thread::scope(|scope| {
        let spawned = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work);
        let handle = spawned.map_err(|source| RenderError::Thread { source })?;
        handle
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn load_directory(
    path: &Path,
    inputs: &Inputs,
    settings: &CueSettings,
    watch: &dyn RenderObserver,
) -> Result<Loaded, RenderError> {
    let dir = ModuleDir::open(path)?;
    match Format::of(&dir)? {
        Format::Cue => Ok(cue::load(&dir, inputs, settings, watch)?),
        Format::Yaml if !inputs.values.is_empty() => Err(RenderError::NoValues {
            path: path.display().to_string(),
        }),
        Format::Yaml => load_yaml(&dir, inputs),
    }
}

fn load_yaml(dir: &ModuleDir, inputs: &Inputs) -> Result<Loaded, RenderError> {
    let definition = read_definition(dir)?;
    let mut reader = ManifestReader::new(dir);
    let mut components = Vec::new();
    for component in definition.components {
        let manifests =
            reader
                .objects(&component.manifests)
                .map_err(|source| RenderError::Component {
                    component: component.name.clone(),
                    source: Box::new(source),
                })?;
        components.push(Component {
            name: component.name,
            after: component.after,
            optional: component.optional,
            manifests,
        });
    }
    let (name, namespace) = release(&definition.module, inputs)?;
    // What a YAML module has: no values at all.
    let values = Value::Struct(BTreeMap::new());
    let rendered = Rendered {
        module: definition.module,
        values: values.to_cue(),
        components,
    };
    Ok(Loaded {
        name,
        namespace,
        values,
        rendered,
    })
}

fn read_definition(dir: &ModuleDir) -> Result<yaml_module::ModuleDefinition, RenderError> {
    let file = Path::new(yaml_module::FILE);
    let text = dir.read(file)?;
    yaml_module::parse(&text).map_err(|source| {
        let file = dir.shown(file);
        let place = match source.position() {
            Some(at) => format!("{file}:{}:{}", at.line, at.column),
            None => file,
        };
        RenderError::ModuleFile {
            place,
            source: Box::new(source),
        }
    })
}

/// The release's name and namespace, from what was given and what the module would like.
fn release(module: &Module, inputs: &Inputs) -> Result<(ReleaseName, NamespaceName), RenderError> {
    let name = match &inputs.name {
        Some(name) => name.clone(),
        None => ReleaseName::new(module.name.as_str())?,
    };
    let namespace = match inputs
        .namespace
        .as_ref()
        .or(module.default_namespace.as_ref())
    {
        Some(namespace) => namespace.clone(),
        None => NamespaceName::new("default")?,
    };
    Ok((name, namespace))
}
