//! A package with what its components import: each component as it is when all of its imports are
//! merged into it, as Zarf merges them.
//!
//! Paths are those of the root that nothing may leave: the repository around the package, or its
//! own directory.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use opm_core::values::Value;
use serde_json::{Value as Json, json};

use super::compose::{
    Composed, ComposedChart, ComposedComponent, ComposedManifests, Declared, NamedPath, add_new,
    merged, set_by_actions,
};
use super::error::{ZarfError, ZarfProblem};
use super::fields::{self, FindingKind};
use super::markers::{self, Replacement};
use super::select::Target;
use super::source::{FILE, PackageSource, Spot};
use super::types::{ManifestGroup, PackageChart, PackageComponent, PackageMetadata};
use super::variables::GivenValues;
use crate::module_dir::ModuleDir;
use crate::substitution::{SubstitutionError, line_of};

/// Reads packages for one rendering.
pub(super) struct Importer<'a> {
    pub(super) dir: &'a ModuleDir,
    pub(super) given: &'a GivenValues,
    pub(super) target: Target,
    /// The package templates that were met.
    pub(super) templates: RefCell<BTreeSet<String>>,
}

impl Importer<'_> {
    /// What a package says about itself.
    pub(super) fn metadata(
        &self,
        package: &Rc<PackageSource>,
    ) -> Result<PackageMetadata, ZarfError> {
        let path = ["metadata".to_owned()];
        let value = package.value.get("metadata").cloned().unwrap_or_default();
        let value = self.filled(package, &path, value, None)?;
        package.part(&path, &value)
    }

    /// All components of a package, or those of a name, with what they import.
    pub(super) fn compose(&self, package: &Rc<PackageSource>) -> Result<Composed, ZarfError> {
        self.composed(package, None, &mut Vec::new())
    }

    fn composed(
        &self,
        package: &Rc<PackageSource>,
        only: Option<&str>,
        way: &mut Vec<(PathBuf, String)>,
    ) -> Result<Composed, ZarfError> {
        let mut composed = Composed {
            variables: self.declared(package, "variables")?,
            constants: self.declared(package, "constants")?,
            ..Composed::default()
        };
        let list = ["components".to_owned()];
        let components = package.items(&list, package.value.get("components"))?;
        for (at, value) in components.iter().enumerate() {
            let path = [list[0].clone(), at.to_string()];
            let name = value.get("name").and_then(Json::as_str).unwrap_or_default();
            if only.is_some_and(|only| only != name) {
                continue;
            }
            // What is not meant need not be filled in.
            let head = json!({"name": name, "only": value.get("only")});
            let head: PackageComponent = package.part(&path, &head)?;
            if !self.target.admits(&head, || package.place(&path))? {
                continue;
            }
            let value = self.filled(package, &path, value.clone(), Some(name))?;
            let one: PackageComponent = package.part(&path, &value)?;
            set_by_actions(&value, &mut composed.set_by_actions);
            let own = self.component(package, &path, &value, one)?;
            let named = own.charts.iter().flat_map(|one| &one.chart.variables);
            let named = named.map(|variable| variable.name.clone());
            composed.chart_variables.extend(named);
            let whole = match has_import(&own.component) {
                false => own,
                true => {
                    let step = (package.directory.clone(), own.component.name.clone());
                    if let Some(begin) = way.iter().position(|one| *one == step) {
                        let steps = way[begin..].iter().chain([&step]);
                        let names: Vec<String> = steps.map(|one| self.step_shown(one)).collect();
                        let cycle = ZarfProblem::ImportCycle(names.join(" → "));
                        return Err(package.wrong(&path, cycle));
                    }
                    way.push(step);
                    let path = [list[0].clone(), at.to_string(), "import".to_owned()];
                    let imported = self.imported(package, &path, &own, way, &mut composed)?;
                    way.pop();
                    merged(imported, own)
                }
            };
            composed.components.push(whole);
        }
        Ok(composed)
    }

    fn step_shown(&self, (directory, component): &(PathBuf, String)) -> String {
        format!("`{component}` of {}", self.dir.shown(&directory.join(FILE)))
    }

    /// The component that a component imports.
    fn imported(
        &self,
        package: &Rc<PackageSource>,
        path: &[String],
        importing: &ComposedComponent,
        way: &mut Vec<(PathBuf, String)>,
        composed: &mut Composed,
    ) -> Result<ComposedComponent, ZarfError> {
        let import = &importing.component.import;
        let at = [path, &["path".to_owned()]].concat();
        let named = self.placed(package, &at, &import.path)?;
        let resolved = self.dir.resolve(Path::new(&named.path));
        let resolved = resolved.map_err(|error| ZarfProblem::File(error).at(named.spot.place()))?;
        // Links are followed, so that a cycle through them is one.
        let directory = resolved.strip_prefix(self.dir.root()).unwrap_or(&resolved);
        let directory = match resolved.is_dir() {
            true => directory,
            false => directory.parent().unwrap_or(directory),
        };
        let other = PackageSource::read(self.dir, directory).map(Rc::new);
        let other = other.map_err(|error| match error.problem {
            ZarfProblem::File(_) => error.problem.at(named.spot.place()),
            _ => error,
        })?;
        let name = match import.name.as_str() {
            "" => importing.component.name.as_str(),
            name => name,
        };
        let mut found = self.composed(&other, Some(name), way)?;
        add_new(&mut composed.variables, found.variables, |one| &one.name);
        add_new(&mut composed.constants, found.constants, |one| &one.name);
        composed.set_by_actions.extend(found.set_by_actions);
        composed.chart_variables.extend(found.chart_variables);
        match (found.components.pop(), found.components.is_empty()) {
            (Some(one), true) => Ok(one),
            (one, _) => {
                let listed = other.value.get("components").and_then(Json::as_array);
                let known = listed.into_iter().flatten();
                let known = known.filter_map(|one| one.get("name").and_then(Json::as_str));
                Err(ZarfProblem::ImportedComponent {
                    package: other.shown.clone(),
                    count: if one.is_none() { "no" } else { "more than one" },
                    name: name.to_owned(),
                    known: known.map(str::to_owned).collect(),
                }
                .at(named.spot.place()))
            }
        }
    }

    /// A component by itself.
    fn component(
        &self,
        package: &Rc<PackageSource>,
        path: &[String],
        value: &Json,
        component: PackageComponent,
    ) -> Result<ComposedComponent, ZarfError> {
        let below = |steps: &[&str]| {
            let steps = steps.iter().map(|step| (*step).to_owned());
            path.iter().cloned().chain(steps).collect::<Vec<String>>()
        };
        let left_out = left_out(package, path.len(), fields::of_component(value, path))?;
        let left_out = left_out
            .map(|(place, what)| format!("{place}: component `{}`: {what}", component.name));
        let left_out = left_out.collect();
        let mut manifests = Vec::new();
        let listed = package.items(&below(&["manifests"]), value.get("manifests"))?;
        for (at, item) in listed.iter().enumerate() {
            let path = below(&["manifests", &at.to_string()]);
            let group: ManifestGroup = package.part(&path, item)?;
            manifests.push(ComposedManifests {
                files: self.all_placed(package, &path, "files", &group.files)?,
                kustomizations: self.all_placed(
                    package,
                    &path,
                    "kustomizations",
                    &group.kustomizations,
                )?,
                spot: Spot::new(package, &path),
                group,
            });
        }
        let mut charts = Vec::new();
        let listed = package.items(&below(&["charts"]), value.get("charts"))?;
        for (at, item) in listed.iter().enumerate() {
            let path = below(&["charts", &at.to_string()]);
            let chart: PackageChart = package.part(&path, item)?;
            let local = Some(&chart.local_path).filter(|path| !path.is_empty());
            let at = [path.as_slice(), &["localPath".to_owned()]].concat();
            charts.push(ComposedChart {
                local: local
                    .map(|given| self.placed(package, &at, given))
                    .transpose()?,
                values: self.all_placed(package, &path, "valuesFiles", &chart.values_files)?,
                spot: Spot::new(package, &path),
                chart,
            });
        }
        Ok(ComposedComponent {
            component,
            manifests,
            charts,
            left_out,
            spot: Spot::new(package, path),
        })
    }

    fn all_placed(
        &self,
        package: &Rc<PackageSource>,
        path: &[String],
        field: &str,
        given: &[String],
    ) -> Result<Vec<NamedPath>, ZarfError> {
        let placed = given.iter().enumerate().map(|(at, given)| {
            let path = [path, &[field.to_owned(), at.to_string()]].concat();
            self.placed(package, &path, given)
        });
        placed.collect()
    }

    /// A path that a package names, from the root.
    fn placed(
        &self,
        package: &Rc<PackageSource>,
        at: &[String],
        given: &str,
    ) -> Result<NamedPath, ZarfError> {
        let path = match is_url(given) {
            true => Some(PathBuf::from(given)),
            false => joined(&package.directory, Path::new(given)),
        };
        let outside = || package.wrong(at, ZarfProblem::Outside(given.to_owned()));
        Ok(NamedPath {
            path: path.ok_or_else(outside)?.display().to_string(),
            given: given.to_owned(),
            spot: Spot::new(package, at),
        })
    }

    /// The variables or constants of a package.
    fn declared<T: serde::de::DeserializeOwned>(
        &self,
        package: &Rc<PackageSource>,
        field: &str,
    ) -> Result<Vec<Declared<T>>, ZarfError> {
        let list = [field.to_owned()];
        let items = package.items(&list, package.value.get(field))?;
        let declared = items.iter().enumerate().map(|(at, value)| {
            let path = [field.to_owned(), at.to_string()];
            let value = self.filled(package, &path, value.clone(), None)?;
            Ok(Declared {
                value: package.part(&path, &value)?,
                spot: Spot::new(package, &path),
                directory: package.directory.clone(),
            })
        });
        declared.collect()
    }

    /// A part of a definition with its package templates replaced. Other markers are for later.
    fn filled(
        &self,
        package: &Rc<PackageSource>,
        path: &[String],
        mut value: Json,
        component: Option<&str>,
    ) -> Result<Json, ZarfError> {
        let text = |text: &str| Replacement::Value {
            value: Cow::Owned(Value::String(text.to_owned())),
            auto_indent: false,
        };
        let lookup = |name: &str| {
            let template = name.strip_prefix("PKG_TMPL_");
            let template = template.or_else(|| name.strip_prefix("PKG_VAR_"));
            if let Some(template) = template {
                self.templates.borrow_mut().insert(template.to_owned());
                return match self.given.get(template) {
                    Some(value) => Ok(Replacement::Value {
                        value: Cow::Owned(value.clone()),
                        auto_indent: false,
                    }),
                    None => Err(SubstitutionError::of_marker(
                        format!("no value is given for {}", markers::shown(name)),
                        Some(format!("--set {template}=… gives it")),
                        String::new(),
                    )),
                };
            }
            Ok(
                match (name, component, self.target.architecture.as_deref()) {
                    ("COMPONENT_NAME", Some(component), _) => text(component),
                    ("PKG_ARCH", _, Some(architecture)) => text(architecture),
                    _ => Replacement::Itself,
                },
            )
        };
        markers::replace(&mut value, &lookup).map_err(|error| {
            let first = package.position(path).map_or(1, |at| at.line);
            let line = line_of(&package.text, first, &error.expression);
            ZarfProblem::Marker(error).at(format!("{}:{line}", package.shown))
        })?;
        Ok(value)
    }
}

fn has_import(component: &PackageComponent) -> bool {
    !component.import.path.is_empty()
}

pub(super) fn is_url(given: &str) -> bool {
    given.contains("://")
}

/// What is worth telling, each with its place; what cannot be left out is an error.
pub(super) fn left_out(
    package: &PackageSource,
    above: usize,
    mut findings: Vec<fields::Finding>,
) -> Result<impl Iterator<Item = (String, String)>, ZarfError> {
    findings.sort_by_key(|one| package.position(&one.path).map(|at| (at.line, at.column)));
    let mut told = Vec::new();
    for finding in findings {
        let field = finding.field(above);
        let place = package.place(&finding.path);
        told.push(match finding.kind {
            FindingKind::Unknown => (place, format!("`{field}` is not known and has no effect")),
            FindingKind::LeftOut(why) => (place, format!("`{field}` is not carried out: {why}")),
            FindingKind::Refused(why) => {
                return Err(ZarfProblem::Unsupported { field, why }.at(place));
            }
        });
    }
    Ok(told.into_iter())
}

/// A path below a directory, or beside it, without leaving the root.
fn joined(directory: &Path, given: &Path) -> Option<PathBuf> {
    let mut path = directory.to_owned();
    for step in given.components() {
        match step {
            Component::CurDir => {}
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_root() {
        for (directory, given, expected) in [
            ("", "a.yaml", Some("a.yaml")),
            ("pkgs/web", "../common/./x", Some("pkgs/common/x")),
            ("pkgs/web", "../..", Some("")),
            ("pkgs/web", "../../..", None),
            ("", "..", None),
            ("", "/etc/passwd", None),
        ] {
            let path = joined(Path::new(directory), Path::new(given));
            assert_eq!(
                path.as_deref(),
                expected.map(Path::new),
                "{directory} {given}"
            );
        }
    }
}
