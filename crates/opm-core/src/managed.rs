//! Who manages a release: whoever runs a command, or a controller on behalf of a resource in the
//! cluster.
//!
//! A controller says so in an annotation on the release's Secret, which it sets in the write that
//! takes the lock. Others write such a release only while the resource is suspended, or when it
//! is gone.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::identity::{GroupKind, Identity};
use crate::observation::Observation;

/// Annotation on a release's Secret: the resource that manages it, as `name/uid`.
pub const MANAGER_ANNOTATION: &str = "opmodel.dev/managed-by";

/// The group of the resource.
pub const RESOURCE_GROUP: &str = "core.opmodel.dev";
/// The kind of the resource.
pub const RESOURCE_KIND: &str = "ModuleRelease";

/// A resource that a controller manages a release for. It lives in the release's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Manager {
    /// The name of the resource.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Manager {
    /// The manager that the annotations of a release's Secret name.
    pub fn recorded(annotations: &BTreeMap<String, String>) -> Option<Self> {
        let text = annotations.get(MANAGER_ANNOTATION)?;
        let (name, uid) = text.split_once('/').unwrap_or((text, ""));
        Some(Self {
            name: name.to_owned(),
            uid: uid.to_owned(),
        })
    }

    /// The resource, as an object.
    pub fn identity(name: &str, namespace: &str) -> Identity {
        let kind = GroupKind::new(RESOURCE_GROUP, RESOURCE_KIND);
        Identity::new(kind, Some(namespace), name)
    }

    /// As the annotation's text.
    pub fn to_text(&self) -> String {
        format!("{}/{}", self.name, self.uid)
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{RESOURCE_KIND}/{}", self.name)
    }
}

/// What a run does to the annotation when it takes the lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ManagerMark {
    /// Nothing.
    #[default]
    Keep,
    /// It says that this resource manages the release.
    Set(Manager),
    /// It takes the annotation off: the resource that it names is gone.
    Clear,
}

impl ManagerMark {
    /// Whether the annotations say already what this run has to say.
    pub fn is_in(&self, annotations: &BTreeMap<String, String>) -> bool {
        let recorded = annotations.get(MANAGER_ANNOTATION);
        match self {
            Self::Keep => true,
            Self::Set(manager) => recorded == Some(&manager.to_text()),
            Self::Clear => recorded.is_none(),
        }
    }

    /// Puts it into the annotations of a release's Secret.
    pub fn put_into(&self, annotations: &mut BTreeMap<String, String>) {
        match self {
            Self::Keep => {}
            Self::Set(manager) => {
                annotations.insert(MANAGER_ANNOTATION.to_owned(), manager.to_text());
            }
            Self::Clear => {
                annotations.remove(MANAGER_ANNOTATION);
            }
        }
    }
}

/// The resource whose state decides whether a release may be written; none if nothing but the
/// record has to be asked. `recorded` is none where there is no record at all.
pub fn resource_to_ask(
    recorded: Option<&BTreeMap<String, String>>,
    writer: Option<&Manager>,
    release: &str,
) -> Option<String> {
    let manager = recorded.and_then(Manager::recorded);
    match (writer, manager) {
        // A resource of the same name with another uid is one that is gone.
        (Some(writer), Some(manager)) => (writer.name != manager.name).then_some(manager.name),
        (Some(_), None) => None,
        (None, Some(manager)) => Some(manager.name),
        (None, None) => recorded.is_none().then(|| release.to_owned()),
    }
}

/// What became of a resource that may manage a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManagerState {
    /// It is not there.
    Gone,
    /// Whoever wants to may write the release meanwhile.
    Suspended,
    /// It is reconciled.
    Active,
    /// Nobody can tell, for this reason.
    Unknown(String),
}

impl ManagerState {
    /// What a look at the resource says.
    pub fn of(seen: &Observation<Map<String, Value>>) -> Self {
        match seen {
            Observation::Absent => Self::Gone,
            Observation::Failed(error) => Self::Unknown(error.to_string()),
            Observation::Present(resource) => {
                let suspended = resource.get("spec").and_then(|spec| spec.get("suspend"));
                let going = resource.get("metadata");
                let going = going.and_then(|metadata| metadata.get("deletionTimestamp"));
                match suspended == Some(&Value::Bool(true)) && going.is_none() {
                    true => Self::Suspended,
                    false => Self::Active,
                }
            }
        }
    }

    /// What somebody else who writes the release does to the annotation; none if they may not
    /// write it. Where no record names the resource, not being able to look is no reason to
    /// refuse: nobody manages the release yet.
    pub fn mark_of_others(&self, recorded: bool) -> Option<ManagerMark> {
        match self {
            Self::Gone => Some(ManagerMark::Clear),
            Self::Suspended => Some(ManagerMark::Keep),
            Self::Unknown(_) if !recorded => Some(ManagerMark::Keep),
            Self::Active | Self::Unknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api_error::{ApiError, ApiErrorKind};

    fn manager(name: &str, uid: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            uid: uid.to_owned(),
        }
    }

    fn annotated(text: Option<&str>) -> BTreeMap<String, String> {
        let pair = |text: &str| (MANAGER_ANNOTATION.to_owned(), text.to_owned());
        text.into_iter().map(pair).collect()
    }

    #[test]
    fn whom_to_ask_before_a_release_is_written() {
        let (own, other) = (manager("web", "1"), manager("db", "2"));
        for (recorded, writer, expected) in [
            // Somebody else than a controller.
            (None, None, Some("web")),
            (Some(None), None, None),
            (Some(Some("web/1")), None, Some("web")),
            (Some(Some("elsewhere/1")), None, Some("elsewhere")),
            (Some(Some("nonsense")), None, Some("nonsense")),
            // The controller of this very resource, or of one that took its place.
            (None, Some(&own), None),
            (Some(None), Some(&own), None),
            (Some(Some("web/1")), Some(&own), None),
            (Some(Some("web/0")), Some(&own), None),
            // That of another resource.
            (Some(Some("web/1")), Some(&other), Some("web")),
        ] {
            let recorded = recorded.map(annotated);
            let asked = resource_to_ask(recorded.as_ref(), writer, "web");
            assert_eq!(asked.as_deref(), expected, "{recorded:?} {writer:?}");
        }
    }

    #[test]
    fn others_write_only_what_nobody_reconciles() {
        let resource = |value: Value| {
            let object: Map<String, Value> = serde_json::from_value(value).unwrap();
            Observation::Present(object)
        };
        let going = json!({"metadata": {"deletionTimestamp": "now"}, "spec": {"suspend": true}});
        let forbidden = ApiError::local(ApiErrorKind::Forbidden, "no");
        for (seen, expected) in [
            (Observation::Absent, Some(ManagerMark::Clear)),
            (
                resource(json!({"spec": {"suspend": true}})),
                Some(ManagerMark::Keep),
            ),
            (resource(json!({"spec": {"suspend": false}})), None),
            (resource(json!({"spec": {}})), None),
            (resource(going), None),
            (Observation::Failed(forbidden), None),
        ] {
            let state = ManagerState::of(&seen);
            assert_eq!(state.mark_of_others(true), expected, "{seen:?}");
            let unknown = matches!(state, ManagerState::Unknown(_));
            let expected = expected.or(unknown.then_some(ManagerMark::Keep));
            assert_eq!(state.mark_of_others(false), expected, "{seen:?}");
        }
    }

    #[test]
    fn a_mark_is_put_and_found() {
        for mark in [
            ManagerMark::Keep,
            ManagerMark::Set(manager("web", "2")),
            ManagerMark::Clear,
        ] {
            for before in [None, Some("web/1")] {
                let mut annotations = annotated(before);
                mark.put_into(&mut annotations);
                assert!(mark.is_in(&annotations), "{mark:?} {before:?}");
            }
        }
        assert!(!ManagerMark::Clear.is_in(&annotated(Some("web/1"))));
        let set = ManagerMark::Set(manager("web", "2"));
        assert!(!set.is_in(&annotated(Some("web/1"))));
    }
}
