//! What a component of a YAML module is made of, as module.yaml says it: manifests, a
//! kustomization or a chart. Parsed and checked; nothing is opened or run here.

use std::collections::BTreeMap;

use opm_core::name::ComponentName;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::chart::ChartReference;
use crate::substitution::{Substitution, SubstitutionError};

/// What a component is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ComponentSource {
    /// Files, directories and patterns.
    Manifests(Vec<String>),
    /// A directory with a kustomization.
    Kustomize(KustomizeSource),
    /// A Helm chart.
    Chart(Box<ChartSource>),
}

/// A kustomization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KustomizeSource {
    /// Its directory, relative to module.yaml.
    pub(crate) path: String,
    /// Whether it may name resources by URL.
    pub(crate) remote: bool,
    /// Whether it may name files outside of its own directory.
    pub(crate) any_directory: bool,
}

/// A chart, and what it is rendered with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartSource {
    /// Where it is.
    pub(crate) origin: ChartOrigin,
    /// Values, one mapping over the other; later ones win.
    pub(crate) values: Vec<ChartValues>,
    /// Values by their paths (`image.tag`); they win over the files.
    pub(crate) set: BTreeMap<String, Value>,
    /// What the chart takes for the release's name; the release's own name when none is given.
    pub(crate) release_name: Option<String>,
    /// Whether the chart's `crds/` are left out.
    pub(crate) skip_crds: bool,
    /// Whether the chart's `lookup` asks the cluster.
    pub(crate) lookup: bool,
}

/// A mapping of values for a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChartValues {
    /// A file, relative to module.yaml.
    File(String),
    /// Values of the release.
    Given {
        /// What stands for them in module.yaml.
        expression: String,
        /// What they are.
        values: Value,
    },
}

impl ChartSource {
    /// The same with every expression in it replaced. A text names a file.
    pub(crate) fn filled_in(&self, with: &Substitution) -> Result<Self, SubstitutionError> {
        let mut filled = self.clone();
        for values in &mut filled.values {
            let ChartValues::File(given) = &*values else {
                continue;
            };
            *values = match with.replaced(given)? {
                Value::String(file) => ChartValues::File(file),
                values => ChartValues::Given {
                    expression: given.clone(),
                    values,
                },
            };
        }
        for value in filled.set.values_mut() {
            with.apply(value)?;
        }
        if let Some(name) = &mut filled.release_name {
            *name = with.text(name)?;
        }
        Ok(filled)
    }
}

/// Where a chart is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChartOrigin {
    /// A directory of the module.
    Path(String),
    /// An OCI registry, or a chart repository.
    Reference(ChartReference),
}

/// What is wrong with what a component says that it is made of.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ComponentSourceError {
    /// A component says in no way, or in more than one, what it holds.
    #[error(
        "component `{component}` must have exactly one of `manifests`, `kustomize` and `chart`, but has {found}"
    )]
    Count {
        /// The component.
        component: ComponentName,
        /// What it has.
        found: &'static str,
    },
    /// Fields that do not go together.
    #[error("component `{component}`: {what}")]
    Fields {
        /// The component.
        component: ComponentName,
        /// What does not go together.
        what: &'static str,
    },
}

impl ComponentSourceError {
    /// The component that it is about.
    pub(crate) fn component(&self) -> &ComponentName {
        let (Self::Count { component, .. } | Self::Fields { component, .. }) = self;
        component
    }
}

/// The fields of a component that say what it is made of.
#[derive(Debug)]
pub(crate) struct SourceFields {
    pub(crate) manifests: Option<Vec<String>>,
    pub(crate) kustomize: Option<String>,
    pub(crate) remote: Option<bool>,
    pub(crate) chart: Option<ChartFile>,
}

/// A Helm chart: in a directory of the module (`path`), or fetched (`ref`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ChartFile {
    /// The chart's directory, relative to module.yaml.
    path: Option<String>,
    /// A chart that is fetched: `oci://…`, or its name in the repository `repo`.
    #[serde(rename = "ref")]
    reference: Option<String>,
    /// The URL of the chart repository that has `ref`.
    repo: Option<String>,
    /// The exact version of a chart that is fetched.
    version: Option<String>,
    /// The digest of the archive of a chart that is fetched, `sha256:…`: another one is refused.
    digest: Option<String>,
    /// Whether the registry of `ref` is spoken to without TLS; only on this machine's loopback.
    #[serde(default, rename = "plainHTTP")]
    plain_http: bool,
    /// Values files for the chart, relative to module.yaml, and `${values.…}` for values of the
    /// release. Later ones win.
    #[serde(default)]
    values: Vec<String>,
    /// Values by their paths, such as `image.tag: "1.4"`. They win over the files.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    /// The release's name as the chart sees it. Default: the release's name.
    release_name: Option<String>,
    /// Whether the chart's `crds/` are left out.
    #[serde(default, rename = "skipCRDs")]
    skip_crds: bool,
    /// Whether the chart may look at objects of the cluster while it is rendered.
    #[serde(default)]
    lookup: bool,
}

/// What a component is made of, if its fields say exactly one thing.
pub(crate) fn read(
    component: &ComponentName,
    fields: SourceFields,
) -> Result<ComponentSource, ComponentSourceError> {
    let count = |found| ComponentSourceError::Count {
        component: component.clone(),
        found,
    };
    let wrong = |what| ComponentSourceError::Fields {
        component: component.clone(),
        what,
    };
    if fields.remote.is_some() && fields.kustomize.is_none() {
        return Err(wrong("`remote` goes with `kustomize` only"));
    }
    match (fields.manifests, fields.kustomize, fields.chart) {
        (Some(manifests), None, None) => Ok(ComponentSource::Manifests(manifests)),
        (None, Some(path), None) => Ok(ComponentSource::Kustomize(KustomizeSource {
            path,
            remote: fields.remote.unwrap_or_default(),
            any_directory: false,
        })),
        (None, None, Some(chart)) => chart.check().map_err(wrong).map(ComponentSource::Chart),
        (None, None, None) => Err(count("none")),
        _ => Err(count("more than one")),
    }
}

impl ChartFile {
    fn check(self) -> Result<Box<ChartSource>, &'static str> {
        let fetched = self.repo.is_some() || self.version.is_some() || self.digest.is_some();
        let origin = match (self.path, self.reference) {
            (Some(_), Some(_)) | (None, None) => {
                return Err("`chart` must have exactly one of `path` and `ref`");
            }
            (Some(_), None) if fetched || self.plain_http => {
                return Err(
                    "`repo`, `version`, `digest` and `plainHTTP` go with `chart.ref`, \
                            not with `chart.path`",
                );
            }
            (Some(path), None) => ChartOrigin::Path(path),
            (None, Some(reference)) => ChartOrigin::Reference(ChartReference::check(
                reference,
                self.repo,
                self.version,
                self.digest,
                self.plain_http,
            )?),
        };
        if self.set.keys().any(String::is_empty) {
            return Err("`chart.set` has an empty name");
        }
        Ok(Box::new(ChartSource {
            origin,
            values: self.values.into_iter().map(ChartValues::File).collect(),
            set: self.set,
            release_name: self.release_name,
            skip_crds: self.skip_crds,
            lookup: self.lookup,
        }))
    }
}
