//! Helm charts, rendered by the official `helm` as a bounded child process.
//!
//! `helm template` sees an empty environment and no cluster; what a chart may know of one is
//! passed to it. What it prints becomes objects in `output`, what it complains about an error with
//! a place in `error`. Hooks are marked here and understood in `opm_core::hook`.

mod error;
mod output;
mod set;
mod version;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use opm_core::generated::differing_leaves;
use opm_core::identity::Identity;
use opm_core::manifest::Manifest;
use opm_core::name::{NamespaceName, ReleaseName};
use serde_json::Value;

pub use error::ChartError;

use crate::component_source::{ChartOrigin, ChartSource};
use crate::context::RenderContext;
use crate::lint::Lint;
use crate::module_dir::ModuleDir;
use crate::program::{Environment, Invocation, PrivateDir, ProgramOutput};
use crate::yaml::{self, MemoryBudget};

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

/// The release that a chart is rendered for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChartRelease<'a> {
    pub(crate) name: &'a ReleaseName,
    pub(crate) namespace: &'a NamespaceName,
    pub(crate) capabilities: &'a Capabilities,
}

/// What a chart renders to.
#[derive(Debug)]
pub(crate) struct RenderedChart {
    pub(crate) manifests: Vec<Manifest>,
    /// Words of its output that other readers of YAML take for something else.
    pub(crate) words: Vec<Lint>,
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
            let leaves = differing_leaves(manifest.object(), other.object());
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
    let (chart, shown) = match &source.origin {
        ChartOrigin::Path(path) => local_chart(dir, path)?,
        ChartOrigin::Reference(reference) => {
            return Err(ChartError::NotFetched(reference.to_string()));
        }
    };
    if source.lookup {
        return Err(ChartError::NoLookup);
    }
    let private = PrivateDir::create(context.settings.runtime.as_deref())
        .map_err(ChartError::PrivateDirectory)?;
    let helm = Helm {
        context,
        private: &private,
    };
    helm.check_version()?;
    let mut values = values_files(dir, source)?;
    if !source.set.is_empty() {
        let text = set::nested(&source.set)
            .map_err(ChartError::Set)?
            .to_string();
        let written = private.write(SET_FILE, &text);
        written.map_err(ChartError::PrivateDirectory)?;
        values.push(private.path().join(SET_FILE));
    }
    let name = source.release_name.as_deref();
    let name = name.unwrap_or(release.name.as_str());
    let template = || helm.template(name, &chart, &values, source.skip_crds, release);
    let output = template()?;
    if !output.status.success() {
        let values: Vec<(PathBuf, String)> = values
            .into_iter()
            .zip(
                source
                    .values
                    .iter()
                    .map(|given| dir.shown(Path::new(given))),
            )
            .collect();
        return Err(error::of_helm(&output.stderr, &shown, &values));
    }
    let read = |output: ProgramOutput, memory: &mut MemoryBudget| {
        let text = String::from_utf8(output.stdout);
        let text = text.map_err(|_| ChartError::NotText(shown.clone()))?;
        output::read(&text, &shown, memory)
    };
    let mut rendered = read(output, memory)?;
    // What a chart makes up is found by rendering it once more.
    let before = memory.state();
    let again = read(template()?, memory)?;
    memory.restore(before);
    rendered.mark_generated(&again);
    Ok(rendered)
}

const SET_FILE: &str = "set.json";

/// A chart of the module: its directory, and what the user calls it.
fn local_chart(dir: &ModuleDir, given: &str) -> Result<(PathBuf, String), ChartError> {
    let path = Path::new(given);
    let chart = dir.resolve(path)?;
    let shown = dir.shown(path);
    if !chart.join(CHART_FILE).is_file() {
        return Err(ChartError::NotAChart(shown));
    }
    // `helm` follows links on its own.
    dir.check_confined()?;
    Ok((chart, shown))
}

/// The values files, each a mapping inside the module.
fn values_files(dir: &ModuleDir, source: &ChartSource) -> Result<Vec<PathBuf>, ChartError> {
    let mut files = Vec::new();
    for given in &source.values {
        let path = Path::new(given);
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
        files.push(dir.resolve(path)?);
    }
    Ok(files)
}

/// `helm` with everything it needs to run.
struct Helm<'a> {
    context: &'a RenderContext<'a>,
    private: &'a PrivateDir,
}

impl Helm<'_> {
    fn check_version(&self) -> Result<(), ChartError> {
        let output = self.run(&["version", "--short"])?;
        Ok(version::check(&String::from_utf8_lossy(&output.stdout))?)
    }

    fn template(
        &self,
        name: &str,
        chart: &Path,
        values: &[PathBuf],
        skip_crds: bool,
        release: ChartRelease<'_>,
    ) -> Result<ProgramOutput, ChartError> {
        let chart = chart.to_string_lossy();
        let values: Vec<_> = values.iter().map(|file| file.to_string_lossy()).collect();
        let apis = release.capabilities.api_versions.join(",");
        let mut arguments = vec!["template", name, &chart];
        arguments.extend(["--namespace", release.namespace.as_str()]);
        arguments.extend(["--kube-version", &release.capabilities.kube_version]);
        if !apis.is_empty() {
            arguments.extend(["--api-versions", &apis]);
        }
        if !skip_crds {
            arguments.push("--include-crds");
        }
        for file in &values {
            arguments.extend(["--values", file]);
        }
        self.run(&arguments)
    }

    fn run(&self, arguments: &[&str]) -> Result<ProgramOutput, ChartError> {
        let settings = self.context.settings;
        let invocation = Invocation {
            program: &settings.helm,
            search_path: settings.search_path.as_deref(),
            arguments,
            directory: self.private.path(),
            environment: self.environment(),
            limits: settings.limits,
            input: None,
        };
        Ok(invocation.finish(self.context)?)
    }

    /// Nothing of the user's: neither plugins nor repositories, neither a cluster nor credentials.
    fn environment(&self) -> Environment {
        let own = |name: &str| OsString::from(self.private.path().join(name));
        let soft = self.context.settings.limits.memory / 8 * 7;
        Environment::Only(vec![
            ("HOME", own("home")),
            ("HELM_CACHE_HOME", own("cache")),
            ("HELM_CONFIG_HOME", own("config")),
            ("HELM_DATA_HOME", own("data")),
            ("HELM_PLUGINS", own("plugins")),
            ("KUBECONFIG", own("no-kubeconfig")),
            ("GOMEMLIMIT", soft.to_string().into()),
            ("GOMAXPROCS", "4".into()),
        ])
    }
}
