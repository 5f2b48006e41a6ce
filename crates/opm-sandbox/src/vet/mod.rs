//! What a server would have against an object, found without one: versions that are not served,
//! fields that do not fit their types, names, labels, sizes, and the rules of built-in kinds.
//!
//! The same types and the same rules as the sandbox's own answers. What only a cluster can know is
//! not looked at: other objects, webhooks, quotas, rules in CEL, formats and patterns.

mod rules;
mod versions;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::apply::schema::Builtin;
use crate::kinds::custom::{self, DefinitionSummary};
use crate::kinds::{Resource, builtin, is_builtin_group};

pub use versions::{KubernetesVersion, KubernetesVersionError};

/// Something that a server would not take, or soon will not take any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeFinding {
    /// The way to the field: keys, and the numbers of items. What is missing is the last of them.
    pub path: Vec<String>,
    /// What is wrong, without the field and without a Secret's values.
    pub message: String,
    /// What stands there and is not known, if it may be a slip of the keyboard.
    pub unknown: Option<String>,
    /// What is known there.
    pub known: Vec<String>,
    /// Whether a server of this version takes it all the same.
    pub is_taken: bool,
}

impl TypeFinding {
    fn new(path: &[String], message: impl Into<String>) -> Self {
        Self {
            path: path.to_vec(),
            message: message.into(),
            unknown: None,
            known: Vec::new(),
            is_taken: false,
        }
    }

    fn meant(self, unknown: &str, known: Vec<String>) -> Self {
        Self {
            unknown: Some(unknown.to_string()),
            known,
            ..self
        }
    }

    /// The field as messages name it, such as `spec.containers[0].image`.
    pub fn field(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match step.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
                true => text.push_str(&format!("[{step}]")),
                false if text.is_empty() => text.push_str(step),
                false if step.contains(['.', '/']) => text.push_str(&format!("[{step}]")),
                false => text.push_str(&format!(".{step}")),
            }
        }
        text
    }
}

/// What became of looking at an object.
#[derive(Debug, Default)]
pub struct TypeCheck {
    /// What is wrong with it.
    pub findings: Vec<TypeFinding>,
    /// Whether its types are not known here, so that only its metadata was looked at.
    pub is_unknown_kind: bool,
}

/// The types of one version of Kubernetes, and of custom resources whose definitions were given.
pub struct ApiTypes {
    version: KubernetesVersion,
    custom: HashMap<String, Resource>,
}

impl ApiTypes {
    /// The built-in types, judged as a server of this version would.
    pub fn of_version(version: KubernetesVersion) -> Self {
        Self {
            version,
            custom: HashMap::new(),
        }
    }

    /// Adds the types of a CustomResourceDefinition; whatever else it is given is left alone.
    pub fn define(&mut self, definition: &Value) {
        if definition["kind"] != "CustomResourceDefinition" {
            return;
        }
        let Some(summary) = DefinitionSummary::declared(definition) else {
            return;
        };
        for info in summary.resources() {
            let key = format!("{}/{}", info.api_version(), info.kind);
            let resource = custom::resource(Arc::new(info), definition);
            self.custom.insert(key, resource);
        }
    }

    /// What the resources of a kind are called in URLs and in Roles.
    pub fn plural(&self, group: &str, kind: &str) -> Option<String> {
        let builtin = builtin().iter().map(AsRef::as_ref);
        let mut all = self.custom.values().chain(builtin);
        let found = all.find(|resource| resource.is(group, kind));
        found.map(|resource| resource.plural.clone())
    }

    /// What is wrong with an object.
    pub fn check(&self, object: &Value) -> TypeCheck {
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let mut check = TypeCheck {
            findings: versions::check(self.version, api_version, kind),
            is_unknown_kind: false,
        };
        if check.findings.iter().any(|finding| !finding.is_taken) {
            return check;
        }
        let key = format!("{api_version}/{kind}");
        if let Some(resource) = self.custom.get(&key) {
            check.findings.extend(self.custom_object(resource, object));
        } else if let Some(ty) = Builtin::get().kind(api_version, kind) {
            let found = walk::check(&Builtin::get().schema, ty, object);
            check.findings.extend(self.judged(found));
            let same = |r: &&Arc<Resource>| r.kind == kind && r.api_version() == api_version;
            let resource = builtin().iter().find(same);
            rules::check(resource.map(AsRef::as_ref), object, &mut check.findings);
        } else {
            match self.unknown_kind(api_version, kind) {
                Some(finding) => check.findings.push(finding),
                None => check.is_unknown_kind = check.findings.is_empty(),
            }
            rules::check(None, object, &mut check.findings);
        }
        check
    }

    fn custom_object(&self, resource: &Resource, object: &Value) -> Vec<TypeFinding> {
        let mut found = walk::check(&resource.schema, resource.ty, object);
        rules::check(Some(resource), object, &mut found);
        found
    }

    /// A server that is newer than these types may know more fields.
    fn judged(&self, found: Vec<TypeFinding>) -> Vec<TypeFinding> {
        let newer = self.version > KubernetesVersion::OF_TYPES;
        let found = found.into_iter().map(|finding| TypeFinding {
            is_taken: newer && finding.unknown.is_some(),
            ..finding
        });
        found.collect()
    }

    /// Why a kind cannot be, if that is certain: groups of others may have any.
    fn unknown_kind(&self, api_version: &str, kind: &str) -> Option<TypeFinding> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let custom = self.custom.keys().filter_map(|key| key.rsplit_once('/'));
        let all: Vec<(&str, &str)> = Builtin::get().names().chain(custom).collect();
        let in_version = all.iter().filter(|(version, _)| *version == api_version);
        let mut kinds: Vec<String> = in_version.map(|(_, kind)| (*kind).to_string()).collect();
        kinds.sort();
        let elsewhere = all.iter().filter(|(_, known)| *known == kind);
        let mut elsewhere: Vec<&str> = elsewhere.map(|(version, _)| *version).collect();
        elsewhere.sort_unstable();
        let (at_kind, at_version) = (["kind".to_string()], ["apiVersion".to_string()]);
        if !kinds.is_empty() {
            let message = match elsewhere.is_empty() {
                true => format!("{api_version} has no kind {kind}"),
                false => format!(
                    "{kind} is in {}, not in {api_version}",
                    elsewhere.join(", ")
                ),
            };
            return Some(TypeFinding::new(&at_kind, message).meant(kind, kinds));
        }
        let known_group = is_builtin_group(group) && self.version <= KubernetesVersion::OF_TYPES;
        if known_group && versions::is_stable(version) || !group.contains('.') && !known_group {
            let known = elsewhere.iter().map(ToString::to_string).collect();
            let message = format!("no cluster serves {api_version}");
            return Some(TypeFinding::new(&at_version, message).meant(api_version, known));
        }
        None
    }
}

#[cfg(test)]
mod tests;
