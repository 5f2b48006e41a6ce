//! What rendering a module gives, whatever format the module has.

use std::collections::BTreeMap;
use std::fmt;

use crate::manifest::Manifest;
use crate::name::{ComponentName, ModuleName, ModulePath, NamespaceName};

/// What a module says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its path; `local/<name>` when it declares none.
    pub path: ModulePath,
    /// Its name.
    pub name: ModuleName,
    /// Its version; none for a module that was never published.
    pub version: Option<String>,
    /// Where a module without a path comes from, in eight digits; none if that is not known.
    pub origin: Option<String>,
    /// Which archives its charts are that were fetched, by component.
    pub charts: BTreeMap<String, String>,
    /// Whether it is nothing but what lies in a directory, or was given as files: no module file
    /// says which module it is.
    pub undeclared: bool,
    /// The namespace it would like to live in.
    pub default_namespace: Option<NamespaceName>,
    /// What it is, in a sentence.
    pub description: Option<String>,
}

impl Module {
    /// A module that says nothing of itself but its name.
    pub fn local(name: ModuleName) -> Self {
        Self {
            path: ModulePath::local(&name),
            name,
            version: None,
            origin: None,
            charts: BTreeMap::new(),
            undeclared: false,
            default_namespace: None,
            description: None,
        }
    }
}

/// A named group of objects inside a module.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its name.
    pub name: ComponentName,
    /// The components whose objects must be ready before this one's are applied.
    pub after: Vec<ComponentName>,
    /// Whether it is applied only when selected.
    pub optional: bool,
    /// Whether an optional one is selected as long as nobody has chosen.
    pub by_default: bool,
    /// Its objects, as rendered.
    pub manifests: Vec<Manifest>,
}

impl Component {
    /// A component that is always applied and waits for no other.
    pub fn new(name: ComponentName, manifests: Vec<Manifest>) -> Self {
        Self {
            name,
            after: Vec::new(),
            optional: false,
            by_default: false,
            manifests,
        }
    }
}

/// What a module's definition asks for and `opm` does not carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The component that asks for it; none if the module does.
    pub component: Option<ComponentName>,
    /// What it is and where it stands, in words.
    pub what: String,
}

/// A rendered module: metadata, values, and all its components, selected or not.
#[derive(Clone, PartialEq)]
pub struct Rendered {
    /// What the module says about itself.
    pub module: Module,
    /// The resolved values, as canonical CUE text.
    pub values: String,
    /// The paths of those that were given, and are not the module's own.
    pub set: Vec<String>,
    /// All components, in the module's order.
    pub components: Vec<Component>,
    /// What its definition asks for besides, and is not carried out.
    pub left_out: Vec<LeftOut>,
}

impl Rendered {
    /// A rendered module without values.
    pub fn new(module: Module, components: Vec<Component>) -> Self {
        Self {
            module,
            values: "{}\n".to_owned(),
            set: Vec::new(),
            components,
            left_out: Vec::new(),
        }
    }
}

impl fmt::Debug for Rendered {
    /// Without the values: what is secret among them must not end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Rendered");
        shown
            .field("module", &self.module)
            .field("components", &self.components);
        shown.finish_non_exhaustive()
    }
}
