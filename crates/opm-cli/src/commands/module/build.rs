//! `opm mod build`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use opm_core::candidate::Candidate;
use opm_core::feature::FeatureSet;
use opm_core::manifest::Manifest;
use opm_core::words;
use opm_engine::FailureKind;
use opm_render::yaml;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::out_dir::{self, Written};
use super::rendering::{self, RenderArgs, Rendering};
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;
use crate::ui::{Format, Table, Ui};

/// Render a module
///
/// Prints the objects as they would be applied, in the order in which they would be. Needs no
/// cluster. Secrets are printed as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,

    /// Write one YAML file per object into this directory instead
    ///
    /// Files of an earlier build that are no longer rendered are removed; files that are not of
    /// an earlier build are never touched.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (settings, ui) = (invocation.settings, &invocation.ui);
    let loaded = Rendering::prepare(&args.render, invocation)?.load().await?;
    let candidate = rendering::candidate(loaded, &args.render);
    let candidate = candidate.map_err(|error| rendering::refused(&error))?;
    for warning in &candidate.warnings {
        ui.warn(&warning.to_string());
    }
    if let Some(directory) = &args.out_dir {
        let Written { files, kept } = out_dir::write(directory, &candidate)?;
        ui.info(&format!(
            "wrote {} to {}",
            words::count(files, "file"),
            directory.display()
        ));
        for name in kept {
            ui.warn(&format!(
                "{} is no longer rendered and was kept: it is not as a build wrote it",
                directory.join(name).display()
            ));
        }
    }
    match ui.format_or(Format::Yaml) {
        Format::Json => ui.json(&BuildDocument::new(&candidate, &settings.features))?,
        Format::Yaml if args.out_dir.is_some() => {}
        Format::Yaml => stream(&candidate, ui)?,
        format => ui.table(&table(&candidate, format), format)?,
    }
    Ok(Exit::DONE)
}

/// Prints the objects as a stream of YAML documents, one after the other.
fn stream(candidate: &Candidate, ui: &Ui) -> Result<(), CliError> {
    candidate.all_in_order().into_iter().try_for_each(|object| {
        let text = yaml::write_object(&object.manifest.object());
        let mut text = text.map_err(|e| CliError::new(FailureKind::Failed, e.to_string()))?;
        if let (Some(template), true) = (object.manifest.template(), text.starts_with("---\n")) {
            text.insert_str(4, &format!("# Source: {template}\n"));
        }
        ui.verbatim(&text)
    })
}

fn table(candidate: &Candidate, format: Format) -> Table {
    let objects = candidate.all_in_order();
    let templates = objects.iter().any(|one| one.manifest.template().is_some());
    let mut header = vec!["COMPONENT", "KIND", "NAMESPACE", "NAME"];
    let wide = format == Format::Wide && templates;
    header.extend(wide.then_some("TEMPLATE"));
    let mut table = Table::of(&header);
    for object in objects {
        let identity = object.manifest.identity();
        let kind = identity.group_kind.to_string();
        let mut cells = vec![
            object.component.as_str(),
            &kind,
            identity.namespace.as_deref().unwrap_or_default(),
            &identity.name,
        ];
        cells.extend(wide.then(|| object.manifest.template().unwrap_or_default()));
        table.cells(&cells);
    }
    table
}

/// The answer for scripts, written from the candidate itself: it may be large.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BuildDocument<'a> {
    change_id: &'a str,
    features: BTreeMap<String, bool>,
    manifest_digest: &'a str,
    module: Value,
    release: Value,
    resources: Vec<BuiltObject<'a>>,
    values: &'a str,
}

#[derive(Serialize)]
struct BuiltObject<'a> {
    component: &'a str,
    /// Unpacked while it is written.
    #[serde(serialize_with = "unpacked")]
    object: &'a Manifest,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<&'a str>,
}

fn unpacked<S: Serializer>(manifest: &Manifest, serializer: S) -> Result<S::Ok, S::Error> {
    manifest.object().serialize(serializer)
}

impl<'a> BuildDocument<'a> {
    fn new(candidate: &'a Candidate, features: &FeatureSet) -> Self {
        let resources = candidate.all_in_order();
        let resources = resources.into_iter().map(|object| BuiltObject {
            component: object.component.as_str(),
            object: &object.manifest,
            template: object.manifest.template(),
        });
        Self {
            change_id: candidate.change.as_str(),
            features: features.states(),
            manifest_digest: candidate.digest.as_str(),
            module: module(candidate),
            release: release(candidate),
            resources: resources.collect(),
            values: &candidate.values,
        }
    }
}

/// The release, as every document names it.
pub(super) fn release(candidate: &Candidate) -> Value {
    let owner = &candidate.owner;
    json!({
        "name": owner.release.as_str(),
        "namespace": owner.namespace.as_str(),
        "releaseId": owner.id.to_string(),
    })
}

/// The module, as every document names it: with a version, or as a local one.
pub(super) fn module(candidate: &Candidate) -> Value {
    let module = &candidate.module;
    let (path, name) = (module.path.as_str(), module.name.as_str());
    match &module.version {
        Some(version) => json!({ "path": path, "version": version, "name": name }),
        None => json!({ "path": path, "local": true, "name": name }),
    }
}
