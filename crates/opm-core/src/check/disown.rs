//! Parting with an object without deleting it: what a release takes back of itself, and how an
//! object goes that others share.
//!
//! Applying nothing but the identity would do for the labels, and take the content along that
//! nobody else manages. So labels and field managers are taken off by name, and all else stays.

use serde_json::{Map, Value};

use super::{LiveObject, Ownership, PruneMethod, PruneStep};
use crate::ids::ReleaseId;
use crate::labels::{
    FIELD_MANAGER, MANAGED_BY, MANAGED_BY_OPM, OWN, shared_field_manager, shared_label,
};
use crate::plan::Guard;

/// What a release takes back of itself from an object, which stays as it is otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Disown {
    /// The uid the object must have.
    pub uid: String,
    /// The resourceVersion it must have.
    pub resource_version: String,
    /// The labels that go.
    pub labels: Vec<String>,
    /// The managed fields that are left.
    pub managed_fields: Vec<Value>,
}

/// How a release parts with a live object. None if it is not this release's, or not its alone to
/// begin with: then nothing of it may be touched.
pub fn disown(
    object: &Map<String, Value>,
    recorded_uid: Option<&str>,
    release: &ReleaseId,
) -> Option<Disown> {
    let live = LiveObject::read(object, release);
    let (own_shared, own_managers) = (shared_label(release), own_managers(release));
    match Ownership::of(&live, recorded_uid, release) {
        Ownership::Mine | Ownership::Shared { mine: true, .. } => {}
        _ => return None,
    }
    let others_stay = !live.shared_with(release).is_empty();
    let metadata = object.get("metadata")?;
    let goes = |(key, value): &(&String, &Value)| match key.as_str() {
        MANAGED_BY => !others_stay && value.as_str() == Some(MANAGED_BY_OPM),
        key => OWN.contains(&key) || key == own_shared,
    };
    let labels = metadata.get("labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten().filter(goes);
    let managed_fields = metadata.get("managedFields").and_then(Value::as_array);
    let is_own = |entry: &&Value| applies_as(entry, |name| own_managers.iter().any(|o| o == name));
    Some(Disown {
        uid: live.uid,
        resource_version: live.resource_version,
        labels: labels.map(|(key, _)| key.clone()).collect(),
        managed_fields: managed_fields
            .into_iter()
            .flatten()
            .filter(|entry| !is_own(entry))
            .cloned()
            .collect(),
    })
}

fn own_managers(release: &ReleaseId) -> [String; 2] {
    [FIELD_MANAGER.to_owned(), shared_field_manager(release)]
}

fn applies_as(entry: &Value, is: impl Fn(&str) -> bool) -> bool {
    entry.get("operation").and_then(Value::as_str) == Some("Apply")
        && entry.get("manager").and_then(Value::as_str).is_some_and(is)
}

/// The field manager under which this release applied an object before it became shared, or
/// before it ceased to be: what it alone holds of the object has to go.
pub fn former_manager(
    object: &Map<String, Value>,
    shared: bool,
    release: &ReleaseId,
) -> Option<String> {
    let former = match shared {
        true => FIELD_MANAGER.to_owned(),
        false => shared_field_manager(release),
    };
    let managed_fields = object.get("metadata")?.get("managedFields")?.as_array()?;
    let mut entries = managed_fields.iter();
    entries
        .any(|entry| applies_as(entry, |name| name == former))
        .then_some(former)
}

/// How an object goes that others may share or take over, decided on what is there at this very
/// moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalDecision {
    /// Others have it: this release only takes itself back.
    Leave,
    /// Nobody else has it any more: it is deleted.
    Delete,
    /// Releases share it, and this one is not among them any more.
    LetGo,
    /// It was this release's alone, and others have it by now: it is left alone.
    TakenOver,
    /// It is no release's: it is left alone.
    NotMine,
    /// It would have to be deleted now, and nothing has lifted its guard, because others had it
    /// when the plan was made.
    Guarded,
}

/// Decides anew about an object that others may have joined, left or taken over since the plan was
/// made.
pub fn decide_removal(live: &LiveObject, step: &PruneStep, release: &ReleaseId) -> RemovalDecision {
    let last = match Ownership::of(live, step.entry.uid.as_deref(), release) {
        Ownership::Mine | Ownership::Shared { mine: true, .. } => {
            live.shared_with(release).is_empty()
        }
        Ownership::Shared { mine: false, .. } | Ownership::OtherRelease(_) => {
            return match step.shared {
                true => RemovalDecision::LetGo,
                false => RemovalDecision::TakenOver,
            };
        }
        Ownership::Unowned => return RemovalDecision::NotMine,
    };
    let guarded = Guard::of(&step.entry.identity.group_kind).is_some();
    match (last, &step.method) {
        (false, _) => RemovalDecision::Leave,
        (true, PruneMethod::LeaveShared) if guarded => RemovalDecision::Guarded,
        (true, _) => RemovalDecision::Delete,
    }
}
