//! `opm mod vet`.

use std::path::PathBuf;
use std::sync::Arc;

use opm_core::candidate::{Candidate, CandidateError, Selection};
use opm_core::scope::Scopes;
use opm_core::words;
use opm_sandbox::KubernetesVersion;
use serde_json::{Map, Value, json};

use super::rendering::{self, RenderArgs, Rendering};
use super::vet_types::{self, VetFinding, VetResult};
use crate::error::{CliError, ErrorKind, Exit};
use crate::invocation::Invocation;
use crate::ui::{Format, Ui};

/// Check a module without a cluster
///
/// Checks its definition, its values against their schema, every object's identity, and that no
/// object is rendered twice. Then every object as Kubernetes would: API versions, kinds and fields,
/// names and labels, selectors, ports, sizes. Custom resources are checked by definitions in the
/// module and in `--schemas`. What is allowed and likely to hurt is a warning.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,

    /// The version of Kubernetes to check for
    #[arg(long, value_name = "VERSION", default_value_t)]
    kube_version: KubernetesVersion,

    /// A directory with CustomResourceDefinitions to check by; can be repeated
    #[arg(long, value_name = "DIR")]
    schemas: Vec<PathBuf>,
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let ui = &invocation.ui;
    let rendering = Rendering::prepare(&args.render, invocation)?;
    let loaded = Arc::new(rendering.load().await?);
    let lints = rendering.lint(&loaded).await?;
    let checked = vet_types::check(&rendering, &loaded, args.kube_version, &args.schemas);
    let mut result = checked.await?;
    let candidate = rendering::candidate(loaded.as_ref().clone(), &args.render);
    if let Err(error) = &candidate {
        let twice = vet_types::duplicates(&rendering, &loaded, error).await?;
        result.findings.extend(twice);
    }
    let (warned, wrong): (Vec<_>, Vec<_>) = result.findings.drain(..).partition(|f| f.is_warning);
    let mut warnings: Vec<String> = match &candidate {
        Ok(candidate) => candidate.warnings.iter().map(ToString::to_string).collect(),
        Err(_) => Vec::new(),
    };
    warnings.extend(lints.iter().map(ToString::to_string));
    warnings.extend(all_components_together(&loaded));
    warnings.extend(warned.iter().map(VetFinding::line));
    for warning in &warnings {
        ui.warn(warning);
    }
    if !result.unchecked.is_empty() {
        let kinds: Vec<&str> = result.unchecked.iter().map(String::as_str).collect();
        ui.info(&format!(
            "not checked, because no definition is known (--schemas DIR has more): {}",
            kinds.join(", ")
        ));
    }
    let findings: Vec<Value> = wrong
        .iter()
        .chain(&warned)
        .map(VetFinding::document)
        .collect();
    let found = found(args, &findings, &warnings, &result);
    let candidate = match candidate {
        Ok(candidate) if wrong.is_empty() => candidate,
        other => return Err(refused(&wrong, other.err().as_ref(), found, ui)?),
    };
    let (objects, components) = (candidate.objects.len(), included(&candidate).len());
    let document = || {
        let mut document = found.clone();
        document.insert("module".to_owned(), super::build::module(&candidate));
        document.insert("release".to_owned(), super::build::release(&candidate));
        document.insert("objects".to_owned(), json!(objects));
        document.insert("components".to_owned(), json!(included(&candidate)));
        Value::Object(document)
    };
    match ui.format_or(Format::Table) {
        Format::Table | Format::Wide => ui.text(&format!(
            "module {} is valid: {} in {}\n",
            candidate.module.name,
            words::count(objects, "object"),
            words::count(components, "component")
        ))?,
        Format::Json => ui.json(&document())?,
        Format::Yaml => ui.yaml(&document())?,
    }
    Ok(Exit::DONE)
}

fn candidate(
    loaded: &opm_render::Loaded,
    selection: &Selection,
) -> Result<Candidate, CandidateError> {
    let opm_render::Loaded {
        name,
        namespace,
        rendered,
        ..
    } = loaded.clone();
    Candidate::new(rendered, name, namespace, selection, Scopes::default())
}

/// What was found, for scripts.
fn found(
    args: &Args,
    findings: &[Value],
    warnings: &[String],
    result: &VetResult,
) -> Map<String, Value> {
    let mut document = Map::new();
    document.insert(
        "kubernetesVersion".to_owned(),
        json!(args.kube_version.to_string()),
    );
    document.insert("findings".to_owned(), json!(findings));
    document.insert("unchecked".to_owned(), json!(result.unchecked));
    document.insert("warnings".to_owned(), json!(warnings));
    document
}

/// People get a line for each finding, as from a compiler; scripts find them in the document.
fn refused(
    wrong: &[VetFinding],
    error: Option<&CandidateError>,
    found: Map<String, Value>,
    ui: &Ui,
) -> Result<CliError, CliError> {
    if matches!(ui.format_or(Format::Table), Format::Table | Format::Wide) {
        for finding in wrong {
            ui.text(&format!("{}\n", finding.line()))?;
        }
    }
    let mut failure = match error {
        Some(error) => rendering::refused(error),
        None => {
            let problems = words::count(wrong.len(), "problem");
            CliError::new(ErrorKind::Invalid, format!("the module has {problems}"))
        }
    };
    failure.document = found;
    Ok(failure)
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
    let error = candidate(loaded, &Selection::Given(names)).err()?;
    Some(format!("with all optional components selected, {error}"))
}
