//! `opm mod apply --to-resource`: the same release, as a resource for the controller.

use std::collections::BTreeMap;
use std::path::Path;

use opm_controller::{FilesSource, resource_of};
use opm_engine::request::ApplyRequest;
use opm_render::{Loaded, ModuleRef, yaml};
use serde_json::Value;

use crate::error::{CliError, ErrorKind, Exit};
use crate::ui::{Format, Ui};

/// More than a ConfigMap holds.
const LARGEST: u64 = 1 << 20;

/// The file that makes a module of a directory.
const MODULE_FILE: &str = "module.yaml";

/// Where the module comes from, as far as a resource can say it.
pub(super) fn source(module: &ModuleRef, loaded: &Loaded) -> Result<FilesSource, CliError> {
    let files = match module {
        ModuleRef::Registry { path, version } => {
            return Ok(FilesSource::Reference(format!("{path}@{version}")));
        }
        ModuleRef::Manifests(given) => given
            .texts()
            .map(|(shown, text)| (file_name(Path::new(shown)), text.to_owned()))
            .collect(),
        ModuleRef::Directory(directory) => directory_files(directory)?,
    };
    let mut manifests = loaded
        .rendered
        .components
        .iter()
        .flat_map(|one| &one.manifests);
    Ok(FilesSource::Files {
        name: format!("{}-module", loaded.name),
        files,
        secret: manifests.any(|one| one.identity().group_kind.is("", "Secret")),
    })
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str());
    match name {
        Some(name) if is_manifest(name) => name.to_owned(),
        _ => "manifests.yaml".to_owned(),
    }
}

fn is_manifest(name: &str) -> bool {
    [".yaml", ".yml", ".json"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// The files of a directory, which has to be flat: keys of a ConfigMap have no directories.
fn directory_files(directory: &Path) -> Result<BTreeMap<String, String>, CliError> {
    let unusable = |why: String| {
        let message = format!("{} cannot become a resource: {why}", directory.display());
        CliError::new(ErrorKind::Invalid, message)
            .hint("publish the module to a registry and name it by its reference")
    };
    let declared = directory.join(MODULE_FILE).is_file();
    let mut files = BTreeMap::new();
    let entries = std::fs::read_dir(directory).map_err(|error| unusable(error.to_string()))?;
    for entry in entries {
        let path = entry.map_err(|error| unusable(error.to_string()))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| !name.starts_with('.')) else {
            continue;
        };
        if path.is_dir() && (declared || name == "cue.mod") {
            return Err(unusable(format!("it has a directory, {name}")));
        }
        if path.is_dir() || !(declared || is_manifest(name)) {
            continue;
        }
        if !declared
            && matches!(
                name,
                "Chart.yaml" | "kustomization.yaml" | "kustomization.yml" | "zarf.yaml"
            )
        {
            return Err(unusable(format!("{name} is for another program")));
        }
        let text = opm_render::read_regular_file(&path, LARGEST)
            .map_err(|error| unusable(error.to_string()))?;
        files.insert(name.to_owned(), text);
    }
    match files.is_empty() {
        true => Err(unusable(
            "it has no module.yaml and no manifests".to_owned(),
        )),
        false => Ok(files),
    }
}

/// Prints the resource, and the object with the files that it refers to.
pub(super) fn print(
    loaded: &Loaded,
    request: &ApplyRequest,
    source: &FilesSource,
    ui: &Ui,
) -> Result<Exit, CliError> {
    // What nobody gave is the module's own to say.
    let values = (!loaded.rendered.set.is_empty()).then(|| loaded.values.to_json());
    let documents = resource_of(request, source, values);
    print_objects(&documents, ui)
}

/// Prints objects as YAML documents, or as one list.
pub(crate) fn print_objects(objects: &[Value], ui: &Ui) -> Result<Exit, CliError> {
    if ui.asked_format() == Some(Format::Json) {
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
        ui.json(&list)?;
        return Ok(Exit::DONE);
    }
    let text =
        yaml::write(objects).map_err(|error| CliError::new(ErrorKind::Io, error.to_string()))?;
    ui.verbatim(&text)?;
    Ok(Exit::DONE)
}
