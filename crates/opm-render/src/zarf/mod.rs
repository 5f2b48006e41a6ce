//! Zarf package definitions (`zarf.yaml`) as modules.
//!
//! `source` reads a definition, `import` and `compose` put in what its components import, `select` says which of
//! them are meant, `variables` what markers stand for (`markers` finds and replaces them), and
//! `components` makes of all that what a module.yaml would have defined. Nothing is rendered here.
//! What Zarf would do and `opm` does not, `fields` knows.

mod components;
mod compose;
mod error;
mod fields;
mod import;
mod markers;
mod select;
mod source;
mod types;
mod variables;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use opm_core::name::{ComponentName, ModuleName};
use opm_core::rendered::{LeftOut, Module};
use serde_json::Value;

use crate::Inputs;
use crate::error::RenderError;
use crate::module_dir::ModuleDir;
use crate::origin;
use crate::yaml_module::{FilledValues, ModuleDefinition, ValuesDefinition, checked_version};

use error::ZarfProblem;
use import::Importer;
use markers::Replacement;
use select::Target;
use source::PackageSource;
use types::PackageMetadata;
use variables::GivenValues;

pub(crate) use source::FILE;
pub(crate) use variables::Markers;

pub use error::ZarfError;

/// What a package says about itself, whatever else is wrong with it. Its path is `local/<name>`,
/// because nothing in a definition says where it is published. No values are needed for that, so
/// templates are not filled in: a release has to be found without them.
pub(crate) fn describe(dir: &ModuleDir) -> Result<Module, RenderError> {
    let package = PackageSource::read(dir, Path::new(""))?;
    let mut metadata = package.value.get("metadata").cloned().unwrap_or_default();
    markers::replace(&mut metadata, &|_| Ok(Replacement::Itself)).map_err(|error| {
        let problem = ZarfProblem::Marker(error);
        package.wrong(&["metadata"], problem)
    })?;
    let metadata: PackageMetadata = package.part(&["metadata".to_owned()], &metadata)?;
    let name = ModuleName::new(metadata.name.as_str());
    let name =
        name.map_err(|error| package.wrong(&["metadata", "name"], ZarfProblem::Name(error)))?;
    Ok(Module {
        version: recorded_version(&metadata),
        origin: origin::of(dir.root()),
        description: metadata.description,
        ..Module::local(name)
    })
}

/// A version that cannot be compared is none.
fn recorded_version(metadata: &PackageMetadata) -> Option<String> {
    let version = metadata.version.clone();
    version.and_then(|version| checked_version(version).ok())
}

/// Whether a package may have charts.
pub(crate) fn has_charts(dir: &ModuleDir) -> bool {
    let Ok(package) = PackageSource::read(dir, Path::new("")) else {
        return false;
    };
    let components = package.value.get("components").and_then(Value::as_array);
    let has = |component: &Value, key: &str| component.get(key).is_some_and(|one| !one.is_null());
    let mut components = components.into_iter().flatten();
    components.any(|one| has(one, "charts") || has(one, "import"))
}

/// The module that a package is for these inputs, and the directory that its files may be in.
pub(crate) fn definition(
    dir: &ModuleDir,
    inputs: &Inputs,
) -> Result<(ModuleDir, ModuleDefinition), RenderError> {
    let (wide, base) = dir.widened();
    let package = Rc::new(PackageSource::read(&wide, &base)?);
    let given = GivenValues::read(&inputs.values, &package.shown)?;
    let mut importer = Importer {
        dir: &wide,
        given: &given,
        target: Target {
            architecture: given.text("architecture"),
            flavor: given.text("flavor"),
            local_os: given.text("localOS"),
        },
        templates: RefCell::default(),
    };
    let metadata = importer.metadata(&package)?;
    let module = Module {
        version: recorded_version(&metadata),
        description: metadata.description,
        ..describe(dir)?
    };
    let architecture = importer.target.architecture.or(metadata.architecture);
    importer.target.architecture = architecture;
    let composed = importer.compose(&package)?;
    let findings = fields::of_package(&package.value);
    let told = import::left_out(&package, 0, findings)?;
    let told = told.map(|(place, what)| format!("{place}: {what}"));
    let mut left_out: Vec<LeftOut> = told.map(of_package).collect();
    if let (Some(version), None) = (metadata.version, &module.version) {
        let place = package.place(&["metadata", "version"]);
        left_out.push(of_package(format!(
            "{place}: version {version:?} is not a semantic version, and is not recorded"
        )));
    }
    for component in &composed.components {
        let name = ComponentName::new(component.component.name.as_str()).ok();
        left_out.extend(component.left_out.iter().map(|what| LeftOut {
            component: name.clone(),
            what: what.clone(),
        }));
    }
    let templates = importer.templates.take();
    let shown = &package.shown;
    let resolved = variables::resolved(&wide, &composed, &given, &templates, shown)?;
    let components = components::definitions(&wide, composed.components, &resolved)?;
    let definition = ModuleDefinition {
        module,
        values: ValuesDefinition::none(),
        filled: Some(FilledValues {
            values: resolved.values,
            markers: resolved.markers,
        }),
        components,
        left_out,
    };
    Ok((wide, definition))
}

fn of_package(what: String) -> LeftOut {
    LeftOut {
        component: None,
        what,
    }
}
