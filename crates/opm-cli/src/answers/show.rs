//! What is recorded of a change.

use opm_engine::{Failure, ShownManifests, ShownValues};
use opm_render::yaml;

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
            ui.cue(&format!("{}\n", shown.values.trim_end()))?;
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
    for shown in &shown.objects {
        let text = yaml::write_object(&shown.object);
        let text = text.map_err(|error| CliError::new(ErrorKind::Io, error.to_string()))?;
        session.ui.verbatim(&text)?;
    }
    Ok(Exit::DONE)
}
