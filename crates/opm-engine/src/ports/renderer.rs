//! Rendering a module once more, for a change whose manifests are not kept.

use futures::future::BoxFuture;
use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::record::ModuleRef;
use opm_core::rendered::Rendered;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// A recorded change's module, with what it was rendered with.
#[derive(Debug, Clone)]
pub struct RenderRequest {
    /// The module, as the change names it.
    pub module: ModuleRef,
    /// The resolved values, as CUE text.
    pub values: String,
    /// The release's name.
    pub release: ReleaseName,
    /// The release's namespace.
    pub namespace: NamespaceName,
}

/// Why a module cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RenderFailure {
    /// What happened, in words.
    pub message: String,
    /// What to do next, in words.
    pub hints: Vec<String>,
}

/// Renders a module that a change names, if it can still be found.
///
/// Rendering takes time and runs other programs, so it must not block the thread that asks for
/// it, and it ends early when `cancel` is cancelled. Whether the result equals what was applied
/// is not for the renderer to say.
pub trait Renderer: Send + Sync {
    /// The module, rendered.
    fn render<'a>(
        &'a self,
        request: &'a RenderRequest,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Rendered, RenderFailure>>;
}
