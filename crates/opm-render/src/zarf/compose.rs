//! A component with all that it imports, and how the two are put together, as Zarf does it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value as Json;

use super::source::Spot;
use super::types::{
    ManifestGroup, PackageChart, PackageComponent, PackageConstant, PackageVariable,
};

/// A path that a definition names.
#[derive(Debug, Clone)]
pub(super) struct NamedPath {
    /// From the root of what may be read.
    pub(super) path: String,
    /// As it is written.
    pub(super) given: String,
    pub(super) spot: Spot,
}

/// Manifests with their paths.
#[derive(Debug, Clone)]
pub(super) struct ComposedManifests {
    pub(super) group: ManifestGroup,
    pub(super) files: Vec<NamedPath>,
    pub(super) kustomizations: Vec<NamedPath>,
    pub(super) spot: Spot,
}

/// A chart with its paths.
#[derive(Debug, Clone)]
pub(super) struct ComposedChart {
    pub(super) chart: PackageChart,
    pub(super) local: Option<NamedPath>,
    pub(super) values: Vec<NamedPath>,
    pub(super) spot: Spot,
}

/// A component with all that it imports.
#[derive(Debug, Clone)]
pub(super) struct ComposedComponent {
    pub(super) component: PackageComponent,
    pub(super) manifests: Vec<ComposedManifests>,
    pub(super) charts: Vec<ComposedChart>,
    /// What it asks for and is not carried out.
    pub(super) left_out: Vec<String>,
    pub(super) spot: Spot,
}

/// A declaration, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Declared<T> {
    pub(super) value: T,
    pub(super) spot: Spot,
    /// The directory that paths in it are relative to.
    pub(super) directory: PathBuf,
}

/// A package with all that it imports.
#[derive(Debug, Default)]
pub(super) struct Composed {
    pub(super) components: Vec<ComposedComponent>,
    pub(super) variables: Vec<Declared<PackageVariable>>,
    pub(super) constants: Vec<Declared<PackageConstant>>,
    /// Variables that only actions would set.
    pub(super) set_by_actions: BTreeSet<String>,
    /// Variables that charts take if they are given, declared or not.
    pub(super) chart_variables: BTreeSet<String>,
}

/// What the importing package declares wins.
pub(super) fn add_new<T>(
    own: &mut Vec<Declared<T>>,
    imported: Vec<Declared<T>>,
    name: impl Fn(&T) -> &String,
) {
    for one in imported {
        if !own
            .iter()
            .any(|known| name(&known.value) == name(&one.value))
        {
            own.push(one);
        }
    }
}

/// A component over the one that it imports: it says what it is called and whether it is wanted,
/// and adds what it holds.
pub(super) fn merged(imported: ComposedComponent, over: ComposedComponent) -> ComposedComponent {
    let ComposedComponent {
        mut manifests,
        mut charts,
        mut left_out,
        ..
    } = imported;
    for one in over.manifests {
        let same = manifests
            .iter_mut()
            .find(|known| known.group.name == one.group.name);
        match same {
            None => manifests.push(one),
            Some(known) => {
                if !one.group.namespace.is_empty() {
                    known.group.namespace = one.group.namespace;
                }
                known.group.no_wait |= one.group.no_wait;
                known.files.extend(one.files);
                known.kustomizations.extend(one.kustomizations);
            }
        }
    }
    for one in over.charts {
        let same = charts
            .iter_mut()
            .find(|known| known.chart.name == one.chart.name);
        match same {
            None => charts.push(one),
            Some(known) => {
                if !one.chart.namespace.is_empty() {
                    known.chart.namespace = one.chart.namespace;
                }
                if !one.chart.release_name.is_empty() {
                    known.chart.release_name = one.chart.release_name;
                }
                known.chart.no_wait |= one.chart.no_wait;
                known.values.extend(one.values);
                known.chart.variables.extend(one.chart.variables);
            }
        }
    }
    left_out.extend(over.left_out);
    ComposedComponent {
        component: over.component,
        manifests,
        charts,
        left_out,
        spot: over.spot,
    }
}

/// Names that the actions of a component would set.
pub(super) fn set_by_actions(component: &Json, names: &mut BTreeSet<String>) {
    match component {
        Json::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("setVariable", Json::String(name)) => _ = names.insert(name.clone()),
                    ("setVariables", Json::Array(set)) => {
                        let set = set.iter().filter_map(|one| one.get("name")?.as_str());
                        names.extend(set.map(str::to_owned));
                    }
                    _ => set_by_actions(value, names),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| set_by_actions(item, names)),
        _ => {}
    }
}
