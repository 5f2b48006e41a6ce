//! A package's components as those of any module: manifests, kustomizations and charts, each with
//! the namespace that the package gives it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use opm_core::name::{ComponentName, NamespaceName};

use super::compose::{ComposedChart, ComposedComponent, ComposedManifests, NamedPath};
use super::error::{ZarfError, ZarfProblem};
use super::import::is_url;
use super::source::Spot;
use super::variables::Resolved;
use crate::chart::{ChartReference, is_exact, is_on_loopback};
use crate::component_source::{
    ChartOrigin, ChartSource, ChartValues, ComponentSource, KustomizeSource,
};
use crate::kustomize::looks_remote;
use crate::module_dir::{DirError, ModuleDir};
use crate::substitution::line_of;
use crate::yaml;
use crate::yaml_module::{ComponentDefinition, SourceDefinition};

/// The components, in the order of the package: each comes after the one before it, as Zarf deploys
/// them, unless that one is not waited for.
pub(super) fn definitions(
    dir: &ModuleDir,
    components: Vec<ComposedComponent>,
    resolved: &Resolved,
) -> Result<Vec<ComponentDefinition>, ZarfError> {
    let mut seen = BTreeSet::new();
    let mut before: Option<ComponentName> = None;
    let mut definitions = Vec::new();
    for composed in components {
        let component = &composed.component;
        let name = ComponentName::new(component.name.as_str())
            .map_err(|error| ZarfProblem::Name(error).at(composed.spot.place()))?;
        if !seen.insert(name.clone()) {
            return Err(ZarfProblem::Twice(component.name.clone()).at(composed.spot.place()));
        }
        let mut sources = Vec::new();
        for chart in &composed.charts {
            sources.push(chart_source(dir, chart, resolved)?);
        }
        for manifests in &composed.manifests {
            sources.extend(manifest_sources(dir, manifests)?);
        }
        definitions.push(ComponentDefinition {
            name: name.clone(),
            after: before.clone().into_iter().collect(),
            optional: !component.required,
            by_default: component.default,
            sources,
        });
        let mut charts = composed.charts.iter();
        let mut manifests = composed.manifests.iter();
        if !charts.any(|one| one.chart.no_wait) && !manifests.any(|one| one.group.no_wait) {
            before = Some(name);
        }
    }
    Ok(definitions)
}

fn manifest_sources(
    dir: &ModuleDir,
    manifests: &ComposedManifests,
) -> Result<Vec<SourceDefinition>, ZarfError> {
    let group = &manifests.group;
    let home = namespace(&group.namespace, &manifests.spot)?;
    let named = |paths: &[NamedPath], what| -> Result<Vec<String>, ZarfError> {
        paths.iter().map(|path| there(dir, path, what)).collect()
    };
    let mut sources = Vec::new();
    let files = named(&manifests.files, "manifests")?;
    if !files.is_empty() {
        sources.push(ComponentSource::Manifests(files));
    }
    for path in named(&manifests.kustomizations, "kustomizations")? {
        sources.push(ComponentSource::Kustomize(KustomizeSource {
            path,
            remote: false,
            any_directory: group.kustomize_allow_any_directory,
        }));
    }
    let sources = sources.into_iter().map(|source| SourceDefinition {
        source,
        home: home.clone(),
    });
    Ok(sources.collect())
}

fn chart_source(
    dir: &ModuleDir,
    composed: &ComposedChart,
    resolved: &Resolved,
) -> Result<SourceDefinition, ZarfError> {
    let ComposedChart { chart, spot, .. } = composed;
    let mut values = Vec::new();
    for file in &composed.values {
        values.push(chart_values(dir, file, resolved)?);
    }
    let mut set = BTreeMap::new();
    for variable in &chart.variables {
        if let Some(value) = resolved.variable(&variable.name) {
            set.insert(variable.path.clone(), value.to_json());
        }
    }
    let release_name = match chart.release_name.as_str() {
        "" => &chart.name,
        name => name,
    };
    let source = ChartSource {
        origin: origin(dir, composed)?,
        values,
        set,
        release_name: Some(release_name.to_owned()),
        skip_crds: false,
        lookup: false,
    };
    Ok(SourceDefinition {
        source: ComponentSource::Chart(Box::new(source)),
        home: namespace(&chart.namespace, spot)?,
    })
}

fn origin(dir: &ModuleDir, composed: &ComposedChart) -> Result<ChartOrigin, ZarfError> {
    let ComposedChart { chart, spot, .. } = composed;
    let wrong = |problem: ZarfProblem| Err(problem.at(spot.place()));
    match (&composed.local, chart.url.as_str()) {
        (Some(path), "") => Ok(ChartOrigin::Path(there(dir, path, "charts")?)),
        (Some(_), _) | (None, "") => wrong(ZarfProblem::ChartSource(chart.name.clone())),
        (None, url) => {
            let registry = url.strip_prefix("oci://");
            let is_oci = registry.is_some();
            let is_web = url.starts_with("https://") || url.starts_with("http://");
            let is_git = url.ends_with(".git") || url.contains(".git@");
            if is_git || !(is_oci || is_web) {
                let what = "charts in Git repositories";
                return wrong(ZarfProblem::Remote(url.to_owned(), what));
            }
            if !is_exact(&chart.version) {
                return wrong(ZarfProblem::ChartVersion(chart.name.clone()));
            }
            let in_repo = match chart.repo_name.as_str() {
                "" => &chart.name,
                name => name,
            };
            let reference = if is_oci { url } else { in_repo }.to_owned();
            let repo = (!is_oci).then(|| url.to_owned());
            let version = Some(chart.version.clone());
            // A package cannot say that its registry has no TLS; one on this machine has none.
            let plain = registry.is_some_and(is_on_loopback);
            ChartReference::check(reference, repo, version, None, plain)
                .map(ChartOrigin::Reference)
                .or_else(|why| wrong(ZarfProblem::ChartReference(chart.name.clone(), why)))
        }
    }
}

/// Values for a chart; a file with markers becomes what they stand for.
fn chart_values(
    dir: &ModuleDir,
    file: &NamedPath,
    resolved: &Resolved,
) -> Result<ChartValues, ZarfError> {
    let path = there(dir, file, "values")?;
    let shown = dir.shown(Path::new(&path));
    let text = dir.read(Path::new(&path));
    let text = text.map_err(|error| ZarfProblem::File(error).at(file.spot.place()))?;
    let readable = resolved.markers.readable(&text);
    if readable == text.as_str() {
        return Ok(ChartValues::File(path));
    }
    let documents = yaml::documents(&readable).map_err(|error| {
        let place = match error.position() {
            Some(at) => format!("{shown}:{}:{}", at.line, at.column),
            None => shown.clone(),
        };
        ZarfProblem::Shape(error.to_string()).at(place)
    })?;
    let mut values = serde_json::Value::Null;
    for mut document in documents {
        let applied = resolved.markers.apply(&mut document.value);
        applied.map_err(|error| {
            let line = line_of(&readable, document.line, &error.expression);
            ZarfProblem::Marker(error).at(format!("{shown}:{line}"))
        })?;
        values = document.value;
    }
    Ok(ChartValues::Given {
        expression: shown,
        values,
    })
}

/// A path of the package, if something is there.
fn there(dir: &ModuleDir, named: &NamedPath, what: &'static str) -> Result<String, ZarfError> {
    let wrong = |problem: ZarfProblem| problem.at(named.spot.place());
    let remote = || wrong(ZarfProblem::Remote(named.given.clone(), what));
    match dir.resolve(Path::new(&named.path)) {
        _ if is_url(&named.given) => Err(remote()),
        Ok(_) => Ok(named.path.clone()),
        Err(DirError::Missing { .. }) if looks_remote(&named.given) => Err(remote()),
        Err(error) => Err(wrong(ZarfProblem::File(error))),
    }
}

fn namespace(given: &str, spot: &Spot) -> Result<Option<NamespaceName>, ZarfError> {
    match given {
        "" => Ok(None),
        given => NamespaceName::new(given)
            .map(Some)
            .map_err(|error| ZarfProblem::Name(error).at(spot.place())),
    }
}
