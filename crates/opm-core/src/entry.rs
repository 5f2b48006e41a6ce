//! What a release remembers of an object that it applied.

use serde::Serialize;

use crate::digest::ObjectHash;
use crate::identity::Identity;
use crate::name::{is_group, is_kind, is_label};

/// Longer than the name of any object that a server was asked for. Most kinds allow 253
/// characters, some do not say.
const LONGEST_NAME: usize = 1024;

/// One object of an inventory: its identity, and what is known beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Group, kind, namespace and name: what sets of objects are compared by.
    #[serde(flatten)]
    pub identity: Identity,
    /// The API version it was applied with, without the group.
    #[serde(rename = "v")]
    pub version: String,
    /// The component that rendered it. A text, because a stored record may name anything: what
    /// cannot be read could not be deleted either.
    pub component: String,
    /// The uid, once the server has assigned one: an object that is deleted and created again
    /// has another.
    #[serde(skip)]
    pub uid: Option<String>,
    /// What was applied, in short.
    #[serde(skip)]
    pub hash: Option<ObjectHash>,
    /// The template of a chart that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

impl Entry {
    /// An entry of which nothing is known but what RFC-0001 writes.
    pub fn new(
        identity: Identity,
        version: impl Into<String>,
        component: impl Into<String>,
    ) -> Self {
        let (version, component) = (version.into(), component.into());
        Self {
            identity,
            version,
            component,
            uid: None,
            hash: None,
            template: None,
        }
    }

    /// Why no cluster can have such an object, if so. Its parts end up in request paths, where
    /// these would mean something else, or nothing.
    pub fn broken_rule(&self) -> Option<&'static str> {
        let Identity {
            group_kind,
            namespace,
            name,
        } = &self.identity;
        if matches!(name.as_str(), "" | "." | "..") {
            return Some("its name must not be empty, '.' or '..'");
        }
        if name.contains(['/', '%']) {
            return Some("its name must not contain '/' or '%'");
        }
        if name.len() > LONGEST_NAME {
            return Some("its name must have at most 1024 characters");
        }
        if !is_kind(&group_kind.kind) {
            return Some("its kind must be one word of letters and digits");
        }
        if !is_group(&group_kind.group) || !is_label(&self.version) {
            return Some("its API version must look like `v1` or `apps/v1`");
        }
        if namespace.as_ref().is_some_and(|name| !is_label(name)) {
            return Some("its namespace must be lower-case letters, digits and '-'");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::GroupKind;

    /// group, kind, namespace, name, version → whether a cluster can have it
    #[test]
    fn what_cannot_be_an_object_is_told() {
        let long = "a".repeat(1025);
        let table = [
            ("", "ConfigMap", Some("games"), "web", "v1", true),
            (
                "apps",
                "Deployment",
                Some("games"),
                "web.example",
                "v1",
                true,
            ),
            // Roles may be called almost anything.
            ("", "ClusterRole", None, "system:a role", "v1beta1", true),
            ("", "ConfigMap", Some("games"), &long[..1024], "v1", true),
            ("", "ConfigMap", Some("games"), &long, "v1", false),
            ("", "ConfigMap", Some("games"), "", "v1", false),
            ("", "ConfigMap", Some("games"), ".", "v1", false),
            ("", "ConfigMap", Some("games"), "..", "v1", false),
            ("", "ConfigMap", Some("games"), "a/b", "v1", false),
            ("", "ConfigMap", Some("games"), "%2e%2e", "v1", false),
            ("", "Config Map", Some("games"), "web", "v1", false),
            ("", "../secrets", Some("games"), "web", "v1", false),
            ("", "", Some("games"), "web", "v1", false),
            ("..", "ConfigMap", Some("games"), "web", "v1", false),
            ("apps/v1", "ConfigMap", Some("games"), "web", "v1", false),
            ("", "ConfigMap", Some(".."), "web", "v1", false),
            ("", "ConfigMap", Some("Games"), "web", "v1", false),
            ("", "ConfigMap", Some("games"), "web", "..", false),
            (
                "",
                "ConfigMap",
                Some("games"),
                "web",
                "v1/namespaces",
                false,
            ),
        ];
        for (group, kind, namespace, name, version, possible) in table {
            let identity = Identity::new(GroupKind::new(group, kind), namespace, name);
            let entry = Entry::new(identity, version, "app");
            assert_eq!(entry.broken_rule().is_none(), possible, "{entry:?}");
        }
    }
}
