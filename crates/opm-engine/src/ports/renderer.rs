//! Rendering a module once more, for a change whose manifests are not kept.

use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::record::ModuleRef;
use opm_core::rendered::Rendered;

/// A recorded change's module, with what it was rendered with.
#[derive(Clone, Copy)]
pub struct RenderRequest<'a> {
    /// The module, as the change names it.
    pub module: &'a ModuleRef,
    /// The resolved values, as CUE text.
    pub values: &'a str,
    /// The release's name.
    pub release: &'a ReleaseName,
    /// The release's namespace.
    pub namespace: &'a NamespaceName,
}

/// Renders a module that a change names, if it can still be found.
///
/// Whether it came to the same manifests is not for the renderer to say.
pub trait Renderer: Send + Sync {
    /// The module, rendered; or why it cannot be, in words.
    fn render(&self, what: &RenderRequest<'_>) -> Result<Rendered, String>;
}
