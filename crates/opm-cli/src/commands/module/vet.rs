//! `opm mod vet`.

use std::sync::Arc;

use opm_core::candidate::{Candidate, Selection};
use opm_core::scope::Scopes;
use serde_json::json;

use super::rendering::{self, RenderArgs, Rendering};
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::{Format, Ui};

/// Check a module without a cluster
///
/// Checks its definition, its values against their schema, every object's identity, and that no
/// object is rendered twice. What is allowed and likely to hurt is a warning.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,
}

pub(super) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let rendering = Rendering::prepare(&args.render, settings, ui, &Interrupt::listen(*ui))?;
    let (loaded, lints) = runtime::run(async {
        let loaded = Arc::new(rendering.load().await?);
        let lints = rendering.lint(&loaded).await?;
        Ok((loaded, lints))
    })?;
    let loaded = Arc::unwrap_or_clone(loaded);
    let together = all_components_together(&loaded);
    let candidate = rendering::candidate(loaded, &rendering::selection(&args.render))?;
    let mut warnings: Vec<String> = candidate.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(lints.iter().map(ToString::to_string));
    warnings.extend(together);

    for warning in &warnings {
        ui.warn(warning);
    }
    let (objects, components) = (candidate.objects.len(), included(&candidate).len());
    match ui.format_or(Format::Table) {
        Format::Table | Format::Wide => ui.text(&format!(
            "module {} is valid: {} in {}\n",
            candidate.module.name,
            counted(objects, "object"),
            counted(components, "component")
        ))?,
        Format::Json => ui.json(&document(&candidate, &warnings))?,
        Format::Yaml => ui.yaml(&document(&candidate, &warnings))?,
    }
    Ok(Exit::DONE)
}

fn document(candidate: &Candidate, warnings: &[String]) -> serde_json::Value {
    json!({
        "module": super::build::module(candidate),
        "release": super::build::release(candidate),
        "objects": candidate.objects.len(),
        "components": included(candidate),
        "warnings": warnings,
    })
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn included(candidate: &Candidate) -> Vec<&str> {
    let included = candidate.components.iter().filter(|c| c.included);
    included.map(|c| c.name.as_str()).collect()
}

/// What would go wrong if every optional component were selected. Some may be alternatives to
/// each other, so this is no error.
fn all_components_together(loaded: &opm_render::Loaded) -> Option<String> {
    let optional = loaded.rendered.components.iter().filter(|c| c.optional);
    let names: Vec<String> = optional.map(|c| c.name.to_string()).collect();
    if names.is_empty() {
        return None;
    }
    let opm_render::Loaded {
        name,
        namespace,
        rendered,
        ..
    } = loaded.clone();
    let all = Selection::Given(names);
    let error = Candidate::new(rendered, name, namespace, &all, Scopes::default()).err()?;
    Some(format!("with all optional components selected, {error}"))
}
