//! What an apply did to an object: the difference between before and after, without what others
//! wrote meanwhile.

use serde_json::{Map, Value};

use super::managers::Managers;
use crate::diff::{FieldChange, diff};
use crate::identity::GroupKind;
use crate::ids::ReleaseId;
use crate::manifest::metadata;

/// The fields that an apply changed, or would change: those in which the two objects differ,
/// except for fields that belong to others alone. A controller that writes between the look and
/// the answer owns what it wrote. Needs both objects whole.
pub fn changes_by_apply(
    kind: &GroupKind,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    release: &ReleaseId,
) -> Vec<FieldChange> {
    let mut changes = diff(kind, before, after);
    if changes.is_empty() {
        return changes;
    }
    let managers = [before, after].map(|object| Managers::read(object, release));
    let own: Vec<String> = managers.iter().flat_map(Managers::own_leaves).collect();
    let others: Vec<String> = managers.iter().flat_map(Managers::foreign_leaves).collect();
    changes.retain(|change| {
        let near = |leaves: &[String]| leaves.iter().any(|leaf| related(leaf, &change.path));
        near(&own) || !near(&others)
    });
    changes
}

/// Whether an apply wrote nothing, as far as metadata tells: it owns the same fields, and nothing
/// moved that only the apply can have moved. Values that a webhook changed in an earlier apply are
/// owned all the same; that the object moves on without anybody else gives it away.
pub(crate) fn wrote_nothing(
    kind: &GroupKind,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    release: &ReleaseId,
) -> bool {
    let (was, is) = (
        Managers::read(before, release),
        Managers::read(after, release),
    );
    if was.own_leaves() != is.own_leaves() {
        return false;
    }
    let same_entries = |ours: bool| was.entries(ours) == is.entries(ours);
    let same = |key: &str| metadata(before, key) == metadata(after, key);
    let untouched = match metadata(after, "generation") {
        // It counts what happens to the spec; the rest can be seen.
        Some(_) => same("generation") && same("labels") && same("annotations"),
        // The server writes claims once more at the first apply after their creation.
        None if kind.is("", "PersistentVolumeClaim") => same("labels") && same("annotations"),
        None => same("resourceVersion"),
    };
    untouched || (!same_entries(false) && same_entries(true))
}

/// Whether one path is the other, or leads to it.
fn related(a: &str, b: &str) -> bool {
    let leads = |short: &str, long: &str| {
        long.strip_prefix(short)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    leads(a, b) || leads(b, a)
}
