//! Taking an object over from another tool: which managed fields become this release's.
//!
//! The server remembers for every tool the fields that it set, and removes a field only when its
//! last owner gives it up. Whoever adopts an object and leaves the former tool's managed fields in
//! place can set fields, and never get rid of one. So a tool that is being replaced is struck off,
//! and what it set and the module does not render becomes this release's, to be removed by the
//! next apply. Fields of everybody else stay as they are.

mod field_set;
mod filled_in;
mod removal;
mod withheld;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::identity::GroupKind;
use crate::ids::ReleaseId;
use crate::labels::{FIELD_MANAGER, shared_field_manager};
use crate::manifest::metadata;
use field_set::{FieldSet, value_at};
use withheld::Withheld;

pub use removal::merge_patch;

/// The tools that `opm` replaces, by the names of their field managers.
const RETIRED: [&str; 14] = [
    "argocd-controller",
    "before-first-apply",
    "helm",
    "helm-controller",
    "kapp",
    "kubectl",
    "kubectl-client-side-apply",
    "kubectl-create",
    "kubectl-edit",
    "kubectl-patch",
    "kubectl-replace",
    "kubectl-set",
    "kustomize-controller",
    "timoni",
];

/// The annotation in which kubectl remembers what it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The field managers whose fields become a release's when it takes an object over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetiredManagers(BTreeSet<String>);

impl Default for RetiredManagers {
    fn default() -> Self {
        Self::new(RETIRED)
    }
}

impl RetiredManagers {
    /// These, and no others.
    pub fn new<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }
}

/// What has to be known to take an object over.
#[derive(Debug, Clone, Copy)]
pub struct Takeover<'a> {
    /// Its kind.
    pub kind: &'a GroupKind,
    /// The field manager under which this release applies it.
    pub manager: &'a str,
    /// Whose fields are taken over.
    pub retired: &'a RetiredManagers,
    /// Whether an autoscaler has its number of replicas.
    pub replicas_stay: bool,
}

/// The managed fields of an object that is being taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct MovedFields {
    /// The uid the object must have.
    pub uid: String,
    /// The resourceVersion it must have.
    pub resource_version: String,
    /// All its managed fields, as they should be.
    pub managed_fields: Vec<Value>,
    /// What became this release's beyond what is rendered.
    added: FieldSet,
    /// What is rendered, and what others own.
    owned: FieldSet,
}

impl MovedFields {
    /// Whether the next apply removes something.
    pub fn removes(&self) -> bool {
        !self.added.is_empty()
    }

    /// Whether the number of replicas is among what the next apply removes.
    pub fn removes_replicas(&self) -> bool {
        let spec = self.added.at("f:spec");
        spec.is_some_and(|spec| spec.at("f:replicas").is_some())
    }

    /// The object without what the next apply removes. What the server fills in by itself is
    /// missing from it.
    pub fn without_removed(&self, object: &Map<String, Value>) -> Map<String, Value> {
        removal::without(object, &self.added, &self.owned)
    }
}

/// One entry of an object's managed fields.
struct ManagedEntry<'a> {
    entry: &'a Value,
    fields: FieldSet,
}

/// The managed fields of an object, by whose they are.
#[derive(Default)]
struct ManagedEntries<'a> {
    own: Vec<ManagedEntry<'a>>,
    retired: Vec<ManagedEntry<'a>>,
    others: Vec<ManagedEntry<'a>>,
}

impl<'a> ManagedEntries<'a> {
    fn read(
        object: &'a Map<String, Value>,
        is_own: impl Fn(&str) -> bool,
        retired: &RetiredManagers,
    ) -> Self {
        let mut sorted = Self::default();
        let entries = metadata(object, "managedFields").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let fields = entry.get("fieldsV1").and_then(Value::as_object);
            let fields = fields.map(FieldSet::read).unwrap_or_default();
            let main = text(entry, "subresource").is_empty();
            let manager = text(entry, "manager");
            let place = match text(entry, "operation") {
                "Apply" if main && is_own(manager) => &mut sorted.own,
                _ if main && retired.0.contains(manager) => &mut sorted.retired,
                _ => &mut sorted.others,
            };
            place.push(ManagedEntry { entry, fields });
        }
        sorted
    }
}

fn all_of(entries: &[ManagedEntry<'_>]) -> FieldSet {
    let mut all = FieldSet::default();
    for entry in entries {
        all.add(&entry.fields);
    }
    all
}

/// What becomes of the managed fields of an object that this release has just applied. None if no
/// retired tool has a part in it. Needs the whole object, in the version in which it was applied.
pub fn moved_fields(object: &Map<String, Value>, takeover: &Takeover<'_>) -> Option<MovedFields> {
    let entries = ManagedEntries::read(object, |name| name == takeover.manager, takeover.retired);
    let own = entries.own.first()?;
    if entries.retired.is_empty() {
        return None;
    }
    let others = all_of(&entries.others);
    let mut added = FieldSet::default();
    let value = Value::Object(object.clone());
    for retired in &entries.retired {
        // A field that another version calls otherwise is not found, and is left alone.
        let theirs = retired.fields.found_in(&value);
        let beyond = beyond(takeover, object, &own.fields, &others, &theirs);
        added.add(&beyond);
    }
    let mut taken = own.fields.clone();
    taken.add(&added);
    let mut entry = own.entry.clone();
    entry["fieldsV1"] = Value::Object(taken.write());
    let stay = entries.own[1..].iter().chain(&entries.others);
    let managed_fields = [entry].into_iter();
    let managed_fields = managed_fields.chain(stay.map(|one| one.entry.clone()));
    let mut owned = own.fields.clone();
    owned.add(&others);
    Some(MovedFields {
        uid: text_of(metadata(object, "uid")),
        resource_version: text_of(metadata(object, "resourceVersion")),
        managed_fields: managed_fields.collect(),
        added,
        owned,
    })
}

/// What a retired tool owns of an object and the module does not render, without what stays.
fn beyond(
    takeover: &Takeover<'_>,
    object: &Map<String, Value>,
    own: &FieldSet,
    others: &FieldSet,
    theirs: &FieldSet,
) -> FieldSet {
    let withheld = Withheld {
        kind: takeover.kind,
        object,
        replicas: takeover.replicas_stay,
    };
    fields_beyond(theirs, Some(own), Some(others), withheld, &mut Vec::new()).0
}

/// The fields beyond what is rendered, and whether something here was held back.
fn fields_beyond<'a>(
    theirs: &'a FieldSet,
    own: Option<&FieldSet>,
    others: Option<&FieldSet>,
    withheld: Withheld<'_>,
    trail: &mut Vec<&'a str>,
) -> (FieldSet, bool) {
    let mut found = FieldSet::default();
    let mut held_back = false;
    for (key, below) in &theirs.below {
        trail.push(key);
        let rendered = own.and_then(|own| own.at(key));
        let other = others.and_then(|others| others.at(key));
        if withheld.holds(trail) || has_part_in_item(key, rendered, other) {
            held_back = true;
        } else if key.starts_with("k:") && rendered.is_none() {
            // The item goes as a whole, with whatever was allocated to it.
            found.below.insert(key.clone(), below.clone());
        } else if !rendered.is_some_and(FieldSet::is_leaf) {
            let (more, stays) = fields_beyond(below, rendered, other, withheld, trail);
            held_back |= stays;
            if !more.is_empty() {
                found.below.insert(key.clone(), more);
            }
        }
        trail.pop();
    }
    // A place that has something rendered in it, or something that stays, stays itself.
    found.member = theirs.member && own.is_none() && !held_back;
    (found, held_back)
}

/// Whether somebody else owns something inside an item that only a retired tool has put there:
/// with the item, that would go as well.
fn has_part_in_item(key: &str, rendered: Option<&FieldSet>, other: Option<&FieldSet>) -> bool {
    let inside = |other: &FieldSet| !other.member && !other.is_empty();
    key.starts_with("k:") && rendered.is_none() && other.is_some_and(inside)
}

/// A field that the module does not render and that a retired tool still owns: it stays until
/// that tool gives it up, or the object is adopted by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeftoverField {
    /// Where, such as `spec.ports[port=81,protocol="TCP"]`.
    pub field: String,
    /// The field manager that owns it.
    pub by: String,
}

/// What retired tools still own of an object of this release beyond what was applied. Metadata is
/// enough. Left out are what kubectl remembers for itself, the number of replicas, and what the
/// server fills in by itself, as far as the object is there to tell.
pub fn leftovers(
    kind: &GroupKind,
    object: &Map<String, Value>,
    release: &ReleaseId,
    retired: &RetiredManagers,
) -> Vec<LeftoverField> {
    let shared = shared_field_manager(release);
    let is_own = |name: &str| name == FIELD_MANAGER || name == shared;
    let entries = ManagedEntries::read(object, is_own, retired);
    if entries.own.is_empty() {
        return Vec::new();
    }
    let (own, others) = (all_of(&entries.own), all_of(&entries.others));
    let takeover = Takeover {
        kind,
        manager: FIELD_MANAGER,
        retired,
        replicas_stay: true,
    };
    let value = Value::Object(object.clone());
    let mut found = BTreeSet::new();
    for entry in &entries.retired {
        let theirs = without_last_applied(&entry.fields);
        let beyond = beyond(&takeover, object, &own, &others, &theirs);
        let beyond = filled_in::without(&beyond, &value);
        found.extend(beyond.paths().into_iter().map(|field| LeftoverField {
            field,
            by: text(entry.entry, "manager").to_owned(),
        }));
    }
    found.into_iter().collect()
}

fn without_last_applied(fields: &FieldSet) -> FieldSet {
    let mut fields = fields.clone();
    let metadata = fields.below.get_mut("f:metadata");
    if let Some(metadata) = metadata
        && let Some(annotations) = metadata.below.get_mut("f:annotations")
    {
        annotations.below.remove(&format!("f:{LAST_APPLIED}"));
        if annotations.below.is_empty() {
            metadata.below.remove("f:annotations");
        }
    }
    fields
}

/// The fields to which an apply gives another value although others own them; `after` is what the
/// server makes of the apply. A value that is merely written otherwise (`1000m` for `1`) is no
/// other value. None where it cannot be told, because the fields have other names.
pub fn changed_fields_of_others(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    manager: &str,
) -> Option<Vec<String>> {
    let nobody = RetiredManagers(BTreeSet::new());
    let is_own = |name: &str| name == manager;
    let (was, is) = (
        ManagedEntries::read(before, is_own, &nobody),
        ManagedEntries::read(after, is_own, &nobody),
    );
    let own = is.own.first()?;
    let version = text(own.entry, "apiVersion");
    let others = was.others.iter();
    let mut others = others.filter(|other| text(other.entry, "subresource") != "status");
    if others.any(|other| text(other.entry, "apiVersion") != version) {
        return None;
    }
    let mut changed = FieldSet::default();
    let values = (json!(before), json!(after));
    collect_changed(
        (&own.fields, &all_of(&was.others)),
        (Some(&values.0), Some(&values.1)),
        &mut changed,
    );
    Some(changed.paths())
}

fn collect_changed(
    (own, theirs): (&FieldSet, &FieldSet),
    (before, after): (Option<&Value>, Option<&Value>),
    changed: &mut FieldSet,
) {
    for (key, own) in &own.below {
        let Some(theirs) = theirs.at(key) else {
            continue;
        };
        let at = |value: Option<&Value>| value.and_then(|value| value_at(value, key)).cloned();
        let (was, is) = (at(before), at(after));
        let mut below = FieldSet::default();
        if own.is_leaf() || theirs.is_leaf() {
            below.member = was != is;
        } else {
            collect_changed((own, theirs), (was.as_ref(), is.as_ref()), &mut below);
        }
        if !below.is_empty() {
            changed.below.insert(key.clone(), below);
        }
    }
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn text_of(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
