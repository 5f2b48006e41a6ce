//! Where the objects of a module of plain manifests stand: file, line and column, for messages.
//!
//! The files are read once more; nothing of it is kept while a module renders.

use std::borrow::Cow;
use std::path::Path;

use opm_core::identity::Identity;
use opm_core::manifest::Manifest;
use serde_json::Value;

use crate::error::RenderError;
use crate::manifests::{self, ManifestReader, is_list};
use crate::module_dir::ModuleDir;
use crate::source::ModuleRef;
use crate::substitution::Replaced;
use crate::yaml::{self, Position};
use crate::{Inputs, component_source::ComponentSource, load};

/// A place in a file, counted from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as messages name it.
    pub file: String,
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

/// A field of an object: keys, and the numbers of items.
#[derive(Debug, Clone)]
pub struct FieldOfObject {
    /// The object, as the module names it.
    pub identity: Identity,
    /// The way to the field.
    pub path: Vec<String>,
}

/// The places of each field: none in a module that is not of plain manifests, several if an
/// object is rendered several times. Of a field that is not there, the nearest above it.
pub(crate) fn find(
    module: &ModuleRef,
    inputs: &Inputs,
    wanted: &[FieldOfObject],
) -> Result<Vec<Vec<Place>>, RenderError> {
    let mut places = vec![Vec::new(); wanted.len()];
    let path = match module {
        ModuleRef::Directory(path) => path,
        ModuleRef::Registry { .. } => return Ok(places),
        ModuleRef::Manifests(given) => {
            for file in given.files.iter() {
                in_text(&file.text, &file.shown, None, wanted, &mut places);
            }
            return Ok(places);
        }
    };
    let dir = ModuleDir::open(path)?;
    let Some((dir, definition)) = load::definition(dir, inputs)? else {
        return Ok(places);
    };
    let (_, replaced) = load::replaced(&dir, &definition, inputs)?;
    let sources = definition
        .components
        .into_iter()
        .flat_map(|one| one.sources);
    for source in sources {
        let ComponentSource::Manifests(paths) = source.source else {
            continue;
        };
        for file in manifests::files(&dir, &paths).unwrap_or_default() {
            let text = dir.read(&file)?;
            let (shown, with) = (dir.shown(&file), replaced.as_ref());
            in_text(&text, &shown, with, wanted, &mut places);
        }
    }
    Ok(places)
}

/// The CustomResourceDefinitions in the files of a directory and of those below it.
pub(crate) fn definitions(directory: &Path) -> Result<Vec<Manifest>, RenderError> {
    let dir = ModuleDir::open(directory)?;
    let all = ["**/*.yaml", "**/*.yml", "**/*.json"].map(str::to_owned);
    let objects = ManifestReader::new(None).objects(&dir, &all);
    let mut objects = objects.map_err(|source| RenderError::Definitions {
        source: Box::new(source),
    })?;
    objects.retain(|object| object.identity().kind() == "CustomResourceDefinition");
    Ok(objects)
}

fn in_text(
    text: &str,
    file: &str,
    replaced: Option<&Replaced>,
    wanted: &[FieldOfObject],
    places: &mut [Vec<Place>],
) {
    let is_json = crate::json::is_named(Path::new(file));
    let text = &*replaced.map_or(Cow::Borrowed(text), |with| with.readable(text));
    let documents = match is_json {
        true => crate::json::documents_within(text, &mut yaml::MemoryBudget::default()).ok(),
        false => yaml::documents(text).ok(),
    };
    for mut document in documents.unwrap_or_default() {
        if replaced.is_some_and(|with| with.apply(&mut document.value).is_err()) {
            continue;
        }
        let mut objects = Vec::new();
        flat(document.value, &mut Vec::new(), &mut objects);
        for (identity, above) in objects {
            for (field, found) in wanted.iter().zip(places.iter_mut()) {
                if field.identity != identity {
                    continue;
                }
                let path = [above.as_slice(), field.path.as_slice()].concat();
                let top = Position {
                    line: document.line,
                    column: 1,
                };
                let at = yaml::locate::field(text, document.line, &path).unwrap_or(top);
                found.push(Place {
                    file: file.to_owned(),
                    line: at.line,
                    column: at.column,
                });
            }
        }
    }
}

/// The objects of a document, with the way to each: lists hold several.
fn flat(value: Value, above: &mut Vec<String>, objects: &mut Vec<(Identity, Vec<String>)>) {
    if !is_list(&value) {
        if let Ok(manifest) = Manifest::parse(value) {
            objects.push((manifest.identity().clone(), above.clone()));
        }
        return;
    }
    let Value::Object(mut list) = value else {
        return;
    };
    if let Some(Value::Array(items)) = list.remove("items") {
        for (index, item) in items.into_iter().enumerate() {
            above.extend(["items".to_owned(), index.to_string()]);
            flat(item, above, objects);
            above.truncate(above.len().saturating_sub(2));
        }
    }
}
