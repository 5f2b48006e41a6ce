//! What is recorded of a change.

use opm_engine::{Failure, ShownManifests, ShownValues};
use opm_render::yaml;
use serde_json::Value;

use super::failed;
use crate::cluster::Session;
use crate::error::{CliError, ErrorKind, Exit};
use crate::ui::Format;

/// Ends `show values`: CUE text, unless a document is asked for.
pub(crate) fn values(
    result: Result<ShownValues, Failure>,
    session: &Session,
) -> Result<Exit, CliError> {
    let shown = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    match ui.asked_format() {
        Some(Format::Json) => ui.json(&shown)?,
        Some(Format::Yaml) => ui.yaml(&shown)?,
        Some(Format::Table | Format::Wide) | None => {
            ui.text(&format!("{}\n", shown.values.trim_end()))?;
        }
    }
    Ok(Exit::DONE)
}

/// Ends `show manifests`: a stream of YAML documents, unless JSON is asked for.
pub(crate) fn manifests(
    result: Result<ShownManifests, Failure>,
    session: &Session,
) -> Result<Exit, CliError> {
    let shown = result.map_err(|failure| failed(&failure, session))?;
    if session.ui.format_or(Format::Yaml) == Format::Json {
        session.ui.json(&shown)?;
        return Ok(Exit::DONE);
    }
    let objects = shown.objects.iter();
    let objects = objects.map(|one| Value::Object(one.object.clone()));
    let objects: Vec<Value> = objects.collect();
    let text = yaml::write(&objects);
    let text = text.map_err(|error| CliError::new(ErrorKind::Io, error.to_string()))?;
    session.ui.text(&text)?;
    Ok(Exit::DONE)
}
