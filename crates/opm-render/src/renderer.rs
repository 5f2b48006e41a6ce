//! Rendering for async callers: the engine's port, and the same steps for commands that render a
//! module themselves. No call blocks the caller's thread.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use opm_core::manifest::Manifest;
use opm_core::name::ReleaseName;
use opm_core::record;
use opm_core::rendered::{Module, Rendered};
use opm_engine::ports::{RenderFailure, RenderRequest, Renderer};
use tokio_util::sync::CancellationToken;

use crate::cancellation::Cancellation;
use crate::context::RenderContext;
use crate::error::RenderError;
use crate::observer::{NoObserver, RenderObserver};
use crate::settings::RenderSettings;
use crate::source::ModuleRef;
use crate::values::Values;
use crate::{FieldOfObject, Inputs, Lint, Loaded, Place, deep_stack, lint, load, places};

/// Renders modules on threads of its own.
///
/// A cancelled token ends the program that renders, and the call returns an error for which
/// [`RenderError::is_interrupted`] holds. Dropping a future ends the program as well, before the
/// drop returns.
#[derive(Clone)]
pub struct ModuleRenderer {
    settings: RenderSettings,
    observer: Arc<dyn RenderObserver>,
    directory: Option<PathBuf>,
}

impl ModuleRenderer {
    /// A renderer that nobody observes and that takes recorded modules from their registry.
    pub fn new(settings: RenderSettings) -> Self {
        Self {
            settings,
            observer: Arc::new(NoObserver),
            directory: None,
        }
    }

    /// The same, observed.
    pub fn observed(self, observer: Arc<dyn RenderObserver>) -> Self {
        Self { observer, ..self }
    }

    /// The same, with the directory that holds the module of recorded changes, if there is one.
    pub fn recorded_in(self, directory: Option<PathBuf>) -> Self {
        Self { directory, ..self }
    }

    /// Renders a module.
    pub async fn load(
        &self,
        module: &ModuleRef,
        inputs: Inputs,
        cancel: &CancellationToken,
    ) -> Result<Loaded, RenderError> {
        let module = module.clone();
        let work = move |context: &RenderContext<'_>| load::load(&module, &inputs, context);
        self.spawn(cancel, work).await
    }

    /// Reads what a module says about itself: enough to find its release with
    /// [`release`](crate::release), even if the module does not render. One that no file declares
    /// is called `name`, if that is given.
    pub async fn describe(
        &self,
        module: &ModuleRef,
        name: Option<&ReleaseName>,
        cancel: &CancellationToken,
    ) -> Result<Module, RenderError> {
        let (module, name) = (module.clone(), name.cloned());
        let work =
            move |context: &RenderContext<'_>| load::describe(&module, name.as_ref(), context);
        self.spawn(cancel, work).await
    }

    /// Looks for what is likely to hurt in a module that renders to `loaded`.
    pub async fn lint(
        &self,
        module: &ModuleRef,
        inputs: Inputs,
        loaded: &Arc<Loaded>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Lint>, RenderError> {
        let (module, loaded) = (module.clone(), Arc::clone(loaded));
        let work =
            move |context: &RenderContext<'_>| lint::lint(&module, &inputs, &loaded, context);
        self.spawn(cancel, work).await
    }

    /// Where fields of a module's objects, as these inputs make them, stand in its files.
    pub async fn places(
        &self,
        module: &ModuleRef,
        inputs: Inputs,
        wanted: Vec<FieldOfObject>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Vec<Place>>, RenderError> {
        let module = module.clone();
        let work = move |_: &RenderContext<'_>| places::find(&module, &inputs, &wanted);
        self.spawn(cancel, work).await
    }

    /// The CustomResourceDefinitions in the files of a directory and of those below it.
    pub async fn definitions(
        &self,
        directory: PathBuf,
        cancel: &CancellationToken,
    ) -> Result<Vec<Manifest>, RenderError> {
        let work = move |_: &RenderContext<'_>| places::definitions(&directory);
        self.spawn(cancel, work).await
    }

    async fn spawn<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        work: impl FnOnce(&RenderContext<'_>) -> Result<T, RenderError> + Send + 'static,
    ) -> Result<T, RenderError> {
        let (settings, observer) = (self.settings.clone(), Arc::clone(&self.observer));
        let in_context = move |cancellation: &Cancellation| {
            work(&RenderContext {
                settings: &settings,
                observer: observer.as_ref(),
                cancellation,
            })
        };
        deep_stack::spawn(cancel, in_context).await
    }

    /// Where a recorded module is: in the given directory, else in its registry. A change does
    /// not say of which format its module is, but only CUE modules with a path of their own and a
    /// version can be in a registry.
    fn source(&self, module: &record::ModuleRef) -> Result<ModuleRef, RenderFailure> {
        if let Some(directory) = &self.directory {
            return Ok(ModuleRef::Directory(directory.clone()));
        }
        let path = module.path.split('@').next().unwrap_or_default();
        let nowhere = |message: String| RenderFailure {
            message,
            hints: Vec::new(),
        };
        match &module.version {
            _ if module.has_local_path() => Err(nowhere(format!(
                "the module {path} was applied from a directory and is in no registry"
            ))),
            Some(version) => Ok(ModuleRef::Registry {
                path: path.to_owned(),
                version: format!("v{}", version.trim_start_matches('v')),
            }),
            None => Err(nowhere(format!(
                "the module {path} was recorded without a version, \
                 so no registry can be asked for it"
            ))),
        }
    }
}

impl Renderer for ModuleRenderer {
    fn render<'a>(
        &'a self,
        request: &'a RenderRequest,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Rendered, RenderFailure>> {
        Box::pin(async move {
            let module = self.source(&request.module)?;
            match self.load(&module, inputs(request), cancel).await {
                Ok(loaded) => Ok(loaded.rendered),
                Err(error) => Err(RenderFailure {
                    message: error.to_string(),
                    hints: error.hints(),
                }),
            }
        })
    }
}

fn inputs(request: &RenderRequest) -> Inputs {
    // A module that takes no values is recorded with an empty struct, and takes not even none.
    let values = match request.values.trim() {
        "" | "{}" => Values::default(),
        text => Values::recorded(text),
    };
    Inputs {
        name: Some(request.release.clone()),
        namespace: Some(request.namespace.clone()),
        values,
        capabilities: None,
        lookup: None,
    }
}
