//! `opm version`.

use opm_core::feature::FeatureSet;
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::ui::{Format, Ui};

/// Show the version of opm
///
/// With `-o json` or `-o wide` also which features are on.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, features: &FeatureSet, ui: &Ui) -> Result<Exit, CliError> {
    let version = env!("CARGO_PKG_VERSION");
    let mut document = json!({ "version": version, "features": features.states() });
    // A release build in its own repository knows of what it was built.
    let build = (
        option_env!("OPM_BUILD_COMMIT"),
        option_env!("OPM_BUILD_DATE"),
    );
    let built = match build {
        (Some(commit), Some(date)) => {
            document["commit"] = json!(commit);
            document["date"] = json!(date);
            format!(" ({commit}, {date})")
        }
        _ => String::new(),
    };
    match ui.format_or(Format::Table) {
        Format::Table => ui.text(&format!("opm {version}{built}\n"))?,
        Format::Wide => ui.text(&format!(
            "opm {version}{built}\nfeatures: {}\n",
            enabled(features)
        ))?,
        Format::Json => ui.json(&document)?,
        Format::Yaml => ui.yaml(&document)?,
    }
    Ok(Exit::DONE)
}

/// The names of the features that are on.
fn enabled(features: &FeatureSet) -> String {
    let on = features
        .states()
        .into_iter()
        .filter(|(_, enabled)| *enabled);
    on.map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}
