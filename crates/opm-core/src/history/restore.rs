//! A recorded change as something that can be applied again.
//!
//! The manifests are those that were applied, labels and all: what a candidate does to a render
//! changes nothing about them, so the change that comes of it has the same digest and the same
//! id.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::entry::Entry;
use crate::identity::Identity;
use crate::labels;
use crate::manifest::Manifest;
use crate::name::{ComponentName, ModuleName, ModulePath, NameError};
use crate::record::Change;
use crate::rendered::{Component, Module, Rendered};

/// Why a change cannot be applied again as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RestoreError {
    /// The record names the module or a component in a way that nothing is named.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Nothing says which component an object belongs to.
    #[error("{0}: the record does not say which component it belongs to")]
    NoComponent(Identity),
}

/// What a change was made of, as a module would render it: with its components, its selection
/// and its order.
pub fn restore(
    change: &Change,
    values: &str,
    manifests: Vec<Manifest>,
) -> Result<Rendered, RestoreError> {
    let selected = change.components.iter().flatten().cloned();
    let selected: BTreeSet<String> = selected.collect();
    let mut components = ComponentList {
        selected: &selected,
        change,
        all: Vec::new(),
    };
    let entries = change.entries().iter().map(|recorded| &recorded.entry);
    let recorded: BTreeMap<&Identity, &Entry> =
        entries.map(|entry| (&entry.identity, entry)).collect();
    for manifest in manifests {
        let identity = manifest.identity();
        let entry = recorded.get(identity).copied();
        let named = entry.map(|entry| entry.component.as_str());
        let named = named.filter(|name| !name.is_empty());
        // A shared object carries no label for it, a forgotten one has no entry.
        let named = named.or_else(|| manifest.label(labels::COMPONENT_NAME));
        let name = named.ok_or_else(|| RestoreError::NoComponent(identity.clone()))?;
        let component = components.get(&name.to_owned())?;
        let template = entry.and_then(|entry| entry.template.as_deref());
        component
            .manifests
            .push(manifest.from_template(template.unwrap_or_default()));
    }
    let order = change.order.iter();
    let ordered = order.flat_map(|(name, after)| std::iter::once(name).chain(after));
    for name in selected.iter().chain(ordered) {
        components.get(name)?;
    }
    Ok(Rendered {
        module: Module {
            path: ModulePath::new(&*change.module.path)?,
            version: change.module.version.clone(),
            origin: change.module.origin.clone(),
            charts: change.module.charts.clone(),
            ..Module::local(ModuleName::new(&*change.module.name)?)
        },
        values: values.to_owned(),
        set: change.set.clone(),
        left_out: Vec::new(),
        components: components.all,
    })
}

struct ComponentList<'a> {
    selected: &'a BTreeSet<String>,
    change: &'a Change,
    all: Vec<Component>,
}

impl ComponentList<'_> {
    /// The component of this name, which comes into being when it is first asked for.
    fn get(&mut self, name: &String) -> Result<&mut Component, RestoreError> {
        let at = self.all.iter().position(|one| one.name.as_str() == name);
        let at = match at {
            Some(at) => at,
            None => {
                let after = self.change.order.get(name).into_iter().flatten();
                self.all.push(Component {
                    after: after.map(ComponentName::new).collect::<Result<_, _>>()?,
                    optional: self.selected.contains(name),
                    ..Component::new(ComponentName::new(name)?, Vec::new())
                });
                self.all.len() - 1
            }
        };
        Ok(&mut self.all[at])
    }
}
