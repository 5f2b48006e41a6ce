//! Modules, rendered to components.
//!
//! A module is a directory or, for CUE, a reference to a registry. Whatever its format, the
//! result is one [`Rendered`]: metadata, values, and components that hold plain Kubernetes
//! objects. Nothing here talks to a cluster or prints; progress goes to a [`RenderObserver`].
//! [`ModuleRenderer`] renders without blocking its caller and is what the engine calls.

#![deny(missing_docs)]

mod batch;
mod cancellation;
mod chart;
mod component_source;
mod components;
mod context;
mod cue;
mod deep_stack;
mod error;
mod init;
mod json;
mod kustomize;
mod lint;
mod load;
mod manifests;
mod module_dir;
mod module_files;
mod observer;
mod origin;
mod parallel;
mod part;
mod places;
mod program;
mod renderer;
mod settings;
mod source;
mod substitution;
mod undeclared;
mod user_cache;
mod values;
mod yaml_module;
mod zarf;

pub mod yaml;

use std::fmt;

use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::rendered::{Module, Rendered};
use opm_core::values::Value;

pub use chart::{Capabilities, ChartError, LookupCluster, LookupKubeconfig};
pub use component_source::ComponentSourceError;
pub use components::ComponentsError;
pub use cue::{
    CueError, CueModuleError, Diagnostic, Diagnostics, OutputError, RegistryError, VersionError,
    WorkspaceError, find_cue,
};
pub use error::RenderError;
pub use init::{InitError, InitFormat, NewModule, init};
pub use json::{JsonError, json_document};
pub use kustomize::{KustomizeError, KustomizeVersionError, ScanError};
pub use lint::Lint;
pub use load::release;
pub use manifests::FilesError;
pub use module_dir::{DirError, read_regular_file};
pub use module_files::ModuleFiles;
pub use observer::{NoObserver, RenderObserver};
pub use places::{FieldOfObject, Place};
pub use program::{CommandError, Limits, ProgramError, find_program};
pub use renderer::ModuleRenderer;
pub use settings::{RenderSettings, SettingsError};
pub use source::ModuleRef;
pub use substitution::SubstitutionError;
pub use undeclared::GivenManifests;
pub use values::{PlacedViolation, ResolveError, ValueFlags, Values, ValuesError};
pub use yaml_module::{ModuleFileError, schema as module_schema};
pub use zarf::ZarfError;

use cancellation::Cancellation;
use context::RenderContext;

/// What the user gives besides the module.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The release's name; the module's name when none is given.
    pub name: Option<ReleaseName>,
    /// The release's namespace, from the command line or the kubeconfig's context. The module's
    /// `defaultNamespace`, else `default`, when none is given.
    pub namespace: Option<NamespaceName>,
    /// The values that are given.
    pub values: Values,
    /// What the cluster can do, for charts; a fixed set when no cluster is asked.
    pub capabilities: Option<Capabilities>,
    /// The cluster that charts look at whose components say so; they find nothing when there is
    /// none.
    pub lookup: Option<LookupCluster>,
}

/// A rendered module, and the release that it is rendered for.
#[derive(Clone, PartialEq)]
pub struct Loaded {
    /// The release's name.
    pub name: ReleaseName,
    /// The release's namespace.
    pub namespace: NamespaceName,
    /// The resolved values.
    pub values: Value,
    /// The module.
    pub rendered: Rendered,
    /// What reading its files found that is allowed and likely to hurt.
    pub notes: Vec<Lint>,
}

impl fmt::Debug for Loaded {
    /// Without the values: what is secret among them must not end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("rendered", &self.rendered)
            .finish_non_exhaustive()
    }
}

/// Renders a module, on a thread of its own, and waits for it. Async callers use
/// [`ModuleRenderer::load`].
pub fn load(
    module: &ModuleRef,
    inputs: &Inputs,
    settings: &RenderSettings,
    observer: &dyn RenderObserver,
) -> Result<Loaded, RenderError> {
    blocking(settings, observer, |context| {
        load::load(module, inputs, context)
    })
}

/// Reads what a module says about itself: enough to find its [`release`], even if the module does
/// not render. Waits for it; async callers use [`ModuleRenderer::describe`].
pub fn describe(
    module: &ModuleRef,
    settings: &RenderSettings,
    observer: &dyn RenderObserver,
) -> Result<Module, RenderError> {
    blocking(settings, observer, |context| {
        load::describe(module, None, context)
    })
}

/// Whether a module has charts, whose rendering depends on what the cluster can do. Of a module
/// that cannot be read it says no: rendering it tells why.
pub fn has_charts(module: &ModuleRef) -> bool {
    load::has_charts(module)
}

/// Whether a module has charts that look at the cluster, as [`has_charts`] does.
pub fn has_lookups(module: &ModuleRef) -> bool {
    load::has_lookups(module)
}

/// Looks for what is likely to hurt in a module that renders to `loaded`. Waits for it; async
/// callers use [`ModuleRenderer::lint`].
pub fn lint(
    module: &ModuleRef,
    inputs: &Inputs,
    loaded: &Loaded,
    settings: &RenderSettings,
    observer: &dyn RenderObserver,
) -> Result<Vec<Lint>, RenderError> {
    blocking(settings, observer, |context| {
        lint::lint(module, inputs, loaded, context)
    })
}

fn blocking<T: Send>(
    settings: &RenderSettings,
    observer: &dyn RenderObserver,
    work: impl FnOnce(&RenderContext<'_>) -> Result<T, RenderError> + Send,
) -> Result<T, RenderError> {
    let cancellation = Cancellation::default();
    let context = RenderContext {
        settings,
        observer,
        cancellation: &cancellation,
    };
    deep_stack::run(|| work(&context))
}
