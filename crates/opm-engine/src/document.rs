//! The documents that scripts see: reports, status, differences, history and failures as JSON,
//! in the shapes of the command line contract. Whoever serves them, prints the same.

mod changes;
mod events;

pub use events::EventDocument;
mod releases;
mod reports;

use opm_core::check::LabelledRelease;
use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::record::ModuleRef;
use serde::{Serialize, Serializer};

use crate::report::Release;

/// An object, as every document names it. A cluster-scoped one has an empty namespace.
#[derive(Serialize)]
pub(crate) struct IdentityDocument<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> From<&'a Identity> for IdentityDocument<'a> {
    fn from(identity: &'a Identity) -> Self {
        Self {
            group: identity.group(),
            kind: identity.kind(),
            namespace: identity.namespace.as_deref().unwrap_or_default(),
            name: &identity.name,
        }
    }
}

/// An object with its version and component.
#[derive(Serialize)]
pub(crate) struct EntryDocument<'a> {
    #[serde(flatten)]
    identity: IdentityDocument<'a>,
    v: &'a str,
    component: &'a str,
}

impl<'a> EntryDocument<'a> {
    fn new(identity: &'a Identity, version: &'a str, component: &'a str) -> Self {
        Self {
            identity: identity.into(),
            v: version,
            component,
        }
    }
}

impl<'a> From<&'a Entry> for EntryDocument<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self::new(&entry.identity, &entry.version, &entry.component)
    }
}

/// A module: with a version, or as a local one.
#[derive(Serialize)]
pub(crate) struct ModuleDocument<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    local: bool,
    name: &'a str,
}

impl<'a> From<&'a ModuleRef> for ModuleDocument<'a> {
    fn from(module: &'a ModuleRef) -> Self {
        Self {
            path: &module.path,
            version: module.version.as_deref(),
            local: module.version.is_none(),
            name: &module.name,
        }
    }
}

/// Another release, as labels name it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OtherReleaseDocument<'a> {
    name: Option<&'a str>,
    namespace: Option<&'a str>,
    release_id: &'a str,
}

impl<'a> From<&'a LabelledRelease> for OtherReleaseDocument<'a> {
    fn from(release: &'a LabelledRelease) -> Self {
        Self {
            name: release.name.as_deref(),
            namespace: release.namespace.as_deref(),
            release_id: &release.id,
        }
    }
}

impl Serialize for Release {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            name: &'a str,
            namespace: &'a str,
            release_id: String,
        }
        let document = Document {
            name: self.name.as_str(),
            namespace: self.namespace.as_str(),
            release_id: self.id.to_string(),
        };
        document.serialize(serializer)
    }
}

/// All of these, each in its document.
pub(crate) fn all<'a, T: 'a, D: From<&'a T>>(items: impl IntoIterator<Item = &'a T>) -> Vec<D> {
    items.into_iter().map(D::from).collect()
}
