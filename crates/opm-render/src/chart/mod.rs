//! Helm charts, rendered by the official `helm` as a bounded child process.
//!
//! `helm template` sees an empty environment and no cluster; what a chart may know of one is
//! passed to it. What it prints becomes objects in `output`, what it complains about an error with
//! a place in `error`. Hooks are marked here and understood in `opm_core::hook`.

mod error;
mod fetch;
mod helm;
mod output;
mod reference;
mod set;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use opm_core::generated::differing_leaves;
use opm_core::identity::Identity;
use opm_core::manifest::Manifest;
use opm_core::name::{NamespaceName, ReleaseName};
use serde_json::Value;

pub use error::ChartError;
pub(crate) use reference::{ChartReference, is_exact, is_on_loopback};

use helm::{Helm, TemplateFlags};

use crate::component_source::{ChartOrigin, ChartSource, ChartValues};
use crate::context::RenderContext;
use crate::lint::Lint;
use crate::module_dir::ModuleDir;
use crate::program::{PrivateDir, ProgramOutput};
use crate::yaml::{self, MemoryBudget};
use crate::zarf::Markers;

/// The file that makes a directory a chart.
const CHART_FILE: &str = "Chart.yaml";

/// What a cluster can do, as charts ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes, such as `1.34.4`.
    pub kube_version: String,
    /// What is served: `apps/v1`, `apps/v1/Deployment`.
    pub api_versions: Vec<String>,
}

impl Default for Capabilities {
    /// Where there is no cluster to ask: the same everywhere, whichever `helm` is there. The
    /// built-in API versions are known to every `helm`.
    fn default() -> Self {
        Self {
            kube_version: "1.34.0".to_owned(),
            api_versions: Vec::new(),
        }
    }
}

/// The cluster that charts look at, if their components let them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupCluster {
    /// How to reach it.
    pub kubeconfig: LookupKubeconfig,
    /// The context; the kubeconfig's current one when none is given.
    pub context: Option<String>,
    /// Whom to act as.
    pub as_user: Option<String>,
}

/// A kubeconfig for `helm`.
#[derive(Clone, PartialEq, Eq)]
pub enum LookupKubeconfig {
    /// Where the user's is by default.
    Default,
    /// Files, as KUBECONFIG names them.
    Files(OsString),
    /// Its text.
    Text(String),
}

impl fmt::Debug for LookupKubeconfig {
    /// Without the text: it has credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("Default"),
            Self::Files(files) => f.debug_tuple("Files").field(files).finish(),
            Self::Text(_) => f.debug_tuple("Text").finish_non_exhaustive(),
        }
    }
}

/// The release that a chart is rendered for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChartRelease<'a> {
    pub(crate) name: &'a ReleaseName,
    pub(crate) namespace: &'a NamespaceName,
    pub(crate) capabilities: &'a Capabilities,
    /// The cluster that charts may look at; none if there is none to ask.
    pub(crate) lookup: Option<&'a LookupCluster>,
    /// What markers in what the chart prints stand for.
    pub(crate) markers: Option<&'a Markers>,
}

/// What a chart renders to.
#[derive(Debug)]
pub(crate) struct RenderedChart {
    pub(crate) manifests: Vec<Manifest>,
    /// Words of its output that other readers of YAML take for something else.
    pub(crate) words: Vec<Lint>,
    /// Which archive it is, if it was fetched.
    pub(crate) fetched: Option<String>,
}

impl RenderedChart {
    /// Marks what another rendering of the same chart has otherwise.
    fn mark_generated(&mut self, again: &Self) {
        let others: BTreeMap<&Identity, &Manifest> = again
            .manifests
            .iter()
            .map(|one| (one.identity(), one))
            .collect();
        for manifest in &mut self.manifests {
            let Some(other) = others.get(manifest.identity()) else {
                continue;
            };
            let leaves = differing_leaves(&manifest.object(), &other.object());
            if !leaves.is_empty() {
                *manifest = manifest.clone().with_generated(leaves);
            }
        }
    }
}

/// Renders a chart.
pub(crate) fn render(
    dir: &ModuleDir,
    source: &ChartSource,
    release: ChartRelease<'_>,
    memory: &mut MemoryBudget,
    context: &RenderContext<'_>,
) -> Result<RenderedChart, ChartError> {
    let lookup = release.lookup.filter(|_| source.lookup);
    let private = PrivateDir::create(context.settings.runtime.as_deref())
        .map_err(ChartError::PrivateDirectory)?;
    let helm = Helm {
        context,
        private: &private,
    };
    let (chart, shown, fetched) = match &source.origin {
        ChartOrigin::Path(path) => {
            let (chart, shown) = local_chart(dir, path)?;
            helm.check_version(lookup)?;
            (chart, shown, None)
        }
        ChartOrigin::Reference(reference) => {
            helm.check_version(lookup)?;
            let fetched = fetch::fetch(reference, &helm)?;
            let recorded = reference.recorded(&fetched.digest);
            (fetched.archive, reference.to_string(), Some(recorded))
        }
    };
    let mut values = values_files(dir, source, &private)?;
    if !source.set.is_empty() {
        let text = set::nested(&source.set)
            .map_err(ChartError::Set)?
            .to_string();
        let written = private.write(SET_FILE, &text);
        written.map_err(ChartError::PrivateDirectory)?;
        values.push((private.path().join(SET_FILE), "chart.set".to_owned()));
    }
    let name = source.release_name.as_deref();
    let name = name.unwrap_or(release.name.as_str());
    let files: Vec<&Path> = values.iter().map(|(file, _)| file.as_path()).collect();
    let flags = TemplateFlags {
        name,
        chart: &chart,
        values: &files,
        skip_crds: source.skip_crds,
        lookup,
    };
    let template = || helm.template(&flags, release);
    let output = template()?;
    if !output.status.success() {
        let given = given_texts(source);
        let error = error::of_helm(&output.stderr, &shown, &values, &given);
        if let (ChartError::Archive(_), ChartOrigin::Reference(one)) = (&error, &source.origin) {
            fetch::forget(one, context.settings);
        }
        return Err(error);
    }
    let read = |output: ProgramOutput, memory: &mut MemoryBudget| {
        let text = String::from_utf8(output.stdout);
        let text = text.map_err(|_| ChartError::NotText(shown.clone()))?;
        output::read(&text, &shown, release.markers, memory)
    };
    let mut rendered = read(output, memory)?;
    // What a chart makes up is found by rendering it once more.
    let before = memory.state();
    let again = read(template()?, memory)?;
    memory.restore(before);
    rendered.mark_generated(&again);
    rendered.fetched = fetched;
    Ok(rendered)
}

const SET_FILE: &str = "set.json";

/// A chart of the module: its directory or archive, and what the user calls it.
fn local_chart(dir: &ModuleDir, given: &str) -> Result<(PathBuf, String), ChartError> {
    let path = Path::new(given);
    let chart = dir.resolve(path)?;
    let shown = dir.shown(path);
    if fetch::is_archive(&chart) {
        return Ok((chart, shown));
    }
    if !chart.join(CHART_FILE).is_file() {
        return Err(ChartError::NotAChart(shown));
    }
    // `helm` follows links on its own.
    dir.check_confined(path)?;
    Ok((chart, shown))
}

/// The texts and numbers in the values of the release.
fn given_texts(source: &ChartSource) -> BTreeSet<String> {
    fn collect(value: &Value, texts: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => _ = texts.insert(text.clone()),
            Value::Number(number) => _ = texts.insert(number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
            Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
            Value::Null | Value::Bool(_) => {}
        }
    }
    let mut texts = BTreeSet::new();
    for values in &source.values {
        if let ChartValues::Given { values, .. } = values {
            collect(values, &mut texts);
        }
    }
    source
        .set
        .values()
        .for_each(|value| collect(value, &mut texts));
    texts
}

/// The values as files for `helm`, each a mapping, and what the user calls them: files inside the
/// module, and values of the release in private ones.
fn values_files(
    dir: &ModuleDir,
    source: &ChartSource,
    private: &PrivateDir,
) -> Result<Vec<(PathBuf, String)>, ChartError> {
    let mut files = Vec::new();
    for values in &source.values {
        let path = match values {
            ChartValues::File(path) => Path::new(path),
            ChartValues::Given { expression, values } => {
                if !values.is_object() && !values.is_null() {
                    return Err(ChartError::NotValues(expression.clone()));
                }
                let name = format!("values-{}.json", files.len());
                let written = private.write(&name, &values.to_string());
                written.map_err(ChartError::PrivateDirectory)?;
                files.push((private.path().join(name), expression.clone()));
                continue;
            }
        };
        let text = dir.read(path)?;
        let place = dir.shown(path);
        let documents = yaml::documents(&text).map_err(|source| ChartError::Values {
            place: match source.position() {
                Some(at) => format!("{place}:{}:{}", at.line, at.column),
                None => place.clone(),
            },
            source,
        })?;
        let mapping = |value: &Value| value.is_object() || value.is_null();
        if documents.len() > 1 || !documents.iter().all(|one| mapping(&one.value)) {
            return Err(ChartError::NotAMapping(place));
        }
        files.push((dir.resolve(path)?, place));
    }
    Ok(files)
}
