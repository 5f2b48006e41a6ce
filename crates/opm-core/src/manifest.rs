//! One Kubernetes object as a module renders it: checked for what makes it an object at all
//! (apiVersion, kind, name), otherwise left exactly as written.
//!
//! The API server checks the rest; nothing here knows schemas.

mod error;
mod parse;

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

pub use error::{ManifestError, ManifestProblem};

use crate::identity::Identity;
use crate::name::NamespaceName;
use crate::packed::PackedObject;

/// How deep an object may be nested. Records hold objects as JSON inside JSON, and readers stop
/// at 128 levels.
pub const MAX_DEPTH: usize = 100;

/// One rendered Kubernetes object.
#[derive(Clone)]
pub struct Manifest {
    identity: Identity,
    version: String,
    object: ManifestBody,
    /// The template it came from, as the chart names it.
    template: Option<String>,
    /// What a chart makes up anew at each rendering, as JSON pointers.
    generated: Vec<String>,
    /// Where it lives if it names no namespace and is not to live in the release's.
    home: Option<NamespaceName>,
}

/// The object of a manifest.
#[derive(Clone)]
enum ManifestBody {
    Packed(PackedObject),
    /// It is being changed.
    Open(Map<String, Value>),
}

impl PartialEq for Manifest {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
            && (&self.template, &self.generated, &self.home)
                == (&other.template, &other.generated, &other.home)
            && self.object() == other.object()
    }
}

impl fmt::Debug for Manifest {
    /// Which object it is and no more: a Secret's data must not end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Manifest({} {})", self.api_version(), self.identity)
    }
}

impl Manifest {
    /// Checks that `value` is an object with an identity, and takes it.
    pub fn parse(value: Value) -> Result<Self, ManifestError> {
        parse::manifest(value)
    }

    /// Group, kind, namespace and name.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The API version without its group, such as `v1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The API version with its group, such as `apps/v1`.
    pub fn api_version(&self) -> String {
        match self.identity.group() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The template that the object came from, if it is a chart's: `web/templates/service.yaml`.
    pub fn template(&self) -> Option<&str> {
        self.template.as_deref()
    }

    /// The same object, from a template of a chart.
    pub fn from_template(self, template: &str) -> Self {
        let template = Some(template.to_owned()).filter(|name| !name.is_empty());
        Self { template, ..self }
    }

    /// The places of what a chart makes up anew at each rendering, as JSON pointers.
    pub fn generated(&self) -> &[String] {
        &self.generated
    }

    /// The same object, with these places made up.
    pub fn with_generated(self, generated: Vec<String>) -> Self {
        Self { generated, ..self }
    }

    /// The namespace for it that its module names apart from it, instead of the release's.
    pub fn home(&self) -> Option<&NamespaceName> {
        self.home.as_ref()
    }

    /// The same object, which lives in this namespace if it names none itself.
    pub fn at_home_in(self, home: NamespaceName) -> Self {
        let home = Some(home);
        Self { home, ..self }
    }

    /// The whole object.
    pub fn object(&self) -> Cow<'_, Map<String, Value>> {
        match &self.object {
            ManifestBody::Packed(packed) => Cow::Owned(packed.unpack()),
            ManifestBody::Open(open) => Cow::Borrowed(open),
        }
    }

    /// The same object, in as little memory as it takes.
    pub fn packed(mut self) -> Self {
        if let ManifestBody::Open(open) = &self.object {
            self.object = ManifestBody::Packed(PackedObject::new(open));
        }
        self
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata_text("labels", key)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata_text("annotations", key)
    }

    /// The whole object, taken.
    pub fn into_object(self) -> Map<String, Value> {
        match self.object {
            ManifestBody::Packed(packed) => packed.unpack(),
            ManifestBody::Open(open) => open,
        }
    }

    /// The whole object, taken and packed.
    pub fn into_packed(self) -> PackedObject {
        match self.object {
            ManifestBody::Packed(packed) => packed,
            ManifestBody::Open(open) => PackedObject::new(&open),
        }
    }

    /// The whole object as a JSON value, taken.
    pub fn into_value(self) -> Value {
        Value::Object(self.into_object())
    }

    /// Moves the object into a namespace, or out of any.
    pub(crate) fn set_namespace(&mut self, namespace: Option<&str>) {
        self.identity.namespace = namespace.map(str::to_owned);
        let Some(metadata) = self.metadata_mut() else {
            return;
        };
        match namespace {
            Some(namespace) => metadata.insert("namespace".to_owned(), namespace.into()),
            None => metadata.remove("namespace"),
        };
    }

    /// The object, for changes that keep its identity.
    pub(crate) fn object_mut(&mut self) -> &mut Map<String, Value> {
        loop {
            match self.object {
                ManifestBody::Open(ref mut open) => return open,
                ManifestBody::Packed(ref packed) => {
                    self.object = ManifestBody::Open(packed.unpack());
                }
            }
        }
    }

    /// Removes the labels that `unwanted` says.
    pub(crate) fn remove_labels(&mut self, unwanted: impl Fn(&str) -> bool) {
        let labels = self
            .metadata_mut()
            .and_then(|metadata| metadata.get_mut("labels"));
        if let Some(Value::Object(labels)) = labels {
            labels.retain(|key, _| !unwanted(key));
        }
    }

    /// Sets labels, replacing those of the same key.
    pub(crate) fn set_labels(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        let Some(metadata) = self.metadata_mut() else {
            return;
        };
        let slot = metadata.entry("labels").or_insert(Value::Null);
        if slot.is_null() {
            *slot = Value::Object(Map::new());
        }
        if let Value::Object(existing) = slot {
            existing.extend(
                labels
                    .into_iter()
                    .map(|(key, value)| (key, Value::String(value))),
            );
        }
    }

    fn metadata_text(&self, field: &str, key: &str) -> Option<&str> {
        match &self.object {
            ManifestBody::Packed(packed) => packed.text(&["metadata", field, key]),
            ManifestBody::Open(open) => metadata(open, field)?.get(key)?.as_str(),
        }
    }

    fn metadata_mut(&mut self) -> Option<&mut Map<String, Value>> {
        self.object_mut().get_mut("metadata")?.as_object_mut()
    }
}

/// A field of the metadata of any object.
pub(crate) fn metadata<'a>(object: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(field)
}

/// The type of a JSON value, in words.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
