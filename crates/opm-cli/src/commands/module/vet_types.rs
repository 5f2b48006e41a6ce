//! What a server would have against the objects of a rendered module, each with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use opm_core::candidate::CandidateError;
use opm_core::identity::Identity;
use opm_core::name::ComponentName;
use opm_core::nearest::{did_you_mean, nearest};
use opm_render::{FieldOfObject, Loaded, Place};
use opm_sandbox::{ApiTypes, KubernetesVersion, TypeFinding};
use serde_json::{Value, json};

use super::rendering::Rendering;
use crate::error::CliError;

/// Something that is wrong with an object.
pub(super) struct VetFinding {
    component: ComponentName,
    identity: Identity,
    path: Vec<String>,
    field: String,
    message: String,
    /// Whether a server takes it all the same.
    pub(super) is_warning: bool,
    place: Option<Place>,
}

impl VetFinding {
    /// One line: where, which object, which field, what.
    pub(super) fn line(&self) -> String {
        let place = match &self.place {
            Some(Place { file, line, column }) => format!("{file}:{line}:{column}"),
            None => format!("component {}", self.component),
        };
        let object = format!("{}/{}", self.identity.kind(), self.identity.name);
        match self.field.as_str() {
            "" => format!("{place}: {object}: {}", self.message),
            field => format!("{place}: {object}: {field}: {}", self.message),
        }
    }

    pub(super) fn document(&self) -> Value {
        let place = self.place.as_ref();
        json!({
            "file": place.map(|place| &place.file),
            "line": place.map(|place| place.line),
            "column": place.map(|place| place.column),
            "component": self.component.as_str(),
            "group": self.identity.group(),
            "kind": self.identity.kind(),
            "namespace": self.identity.namespace,
            "name": self.identity.name,
            "field": self.field,
            "message": self.message,
            "severity": if self.is_warning { "warning" } else { "error" },
        })
    }
}

/// What looking at all objects came to.
#[derive(Default)]
pub(super) struct VetResult {
    pub(super) findings: Vec<VetFinding>,
    /// Kinds of which no definition is known, as `apiVersion Kind`.
    pub(super) unchecked: BTreeSet<String>,
}

/// Looks at all objects of a module, also of components that are not selected.
pub(super) async fn check(
    rendering: &Rendering,
    loaded: &Loaded,
    version: KubernetesVersion,
    schemas: &[PathBuf],
) -> Result<VetResult, CliError> {
    let mut types = ApiTypes::of_version(version);
    for directory in schemas {
        for definition in rendering.definitions(directory).await? {
            types.define(&definition.into_value());
        }
    }
    let components = &loaded.rendered.components;
    let objects = || {
        components
            .iter()
            .flat_map(|c| c.manifests.iter().map(move |m| (c, m)))
    };
    for (_, manifest) in objects() {
        types.define(&Value::Object(manifest.object().into_owned()));
    }
    let mut result = VetResult::default();
    for (component, manifest) in objects() {
        let object = Value::Object(manifest.object().into_owned());
        let check = types.check(&object);
        if check.is_unknown_kind {
            let kind = format!("{} {}", manifest.api_version(), manifest.identity().kind());
            result.unchecked.insert(kind);
        }
        let told = check.findings.into_iter().map(|finding| VetFinding {
            component: component.name.clone(),
            identity: manifest.identity().clone(),
            field: finding.field(),
            message: message(&finding, &object),
            is_warning: finding.is_taken,
            path: finding.path,
            place: None,
        });
        result.findings.extend(told);
    }
    rendering.locate(&mut result.findings).await?;
    Ok(result)
}

/// The objects that stand in the module more than once, each time with its place.
pub(super) async fn duplicates(
    rendering: &Rendering,
    loaded: &Loaded,
    error: &CandidateError,
) -> Result<Vec<VetFinding>, CliError> {
    let CandidateError::Duplicates(duplicates) = error else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    for component in &loaded.rendered.components {
        for manifest in &component.manifests {
            let identity = manifest.identity();
            let is_same = |other: &Identity| {
                other.group_kind == identity.group_kind
                    && other.name == identity.name
                    && (identity.namespace.is_none() || identity.namespace == other.namespace)
            };
            if duplicates.iter().any(|twice| is_same(&twice.identity)) {
                findings.push(VetFinding {
                    component: component.name.clone(),
                    identity: identity.clone(),
                    path: Vec::new(),
                    field: String::new(),
                    message: "it is rendered more than once".to_owned(),
                    is_warning: false,
                    place: None,
                });
            }
        }
    }
    rendering.locate(&mut findings).await?;
    Ok(findings)
}

impl Rendering {
    /// Fills in where findings stand, and sorts them by it. An object that is rendered twice has
    /// two places, which its findings share out.
    async fn locate(&self, findings: &mut [VetFinding]) -> Result<(), CliError> {
        if findings.is_empty() {
            return Ok(());
        }
        let wanted = findings.iter().map(|finding| FieldOfObject {
            identity: finding.identity.clone(),
            path: finding.path.clone(),
        });
        let places = self.places(wanted.collect()).await?;
        let mut taken: BTreeMap<(Identity, String, String), usize> = BTreeMap::new();
        for (finding, places) in findings.iter_mut().zip(places) {
            let key = (
                finding.identity.clone(),
                finding.field.clone(),
                finding.message.clone(),
            );
            let at = taken.entry(key).or_default();
            finding.place = places.into_iter().nth(*at);
            *at += 1;
        }
        findings.sort_by(|a, b| {
            let key = |f: &VetFinding| f.place.clone().map(|p| (p.file, p.line, p.column));
            key(a).cmp(&key(b))
        });
        Ok(())
    }
}

/// What is wrong, and what may have been meant.
fn message(finding: &TypeFinding, object: &Value) -> String {
    let mut message = finding.message.clone();
    let known = finding.known.iter().map(String::as_str);
    let meant = finding
        .unknown
        .as_deref()
        .map(|unknown| nearest(unknown, known));
    if let Some(meant) = meant.as_deref().and_then(did_you_mean) {
        message.push_str(&format!("; {meant}"));
    }
    let text = object
        .pointer(&pointer(&finding.path))
        .and_then(Value::as_str);
    if text.is_some_and(|text| text.contains("{{")) {
        message.push_str("; this is a Go template, and opm fills in none here");
    }
    message
}

fn pointer(path: &[String]) -> String {
    let escaped = path
        .iter()
        .map(|step| step.replace('~', "~0").replace('/', "~1"));
    escaped.map(|step| format!("/{step}")).collect()
}
