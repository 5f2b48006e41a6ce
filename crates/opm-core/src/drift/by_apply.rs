//! What an apply did to an object: the difference between before and after, without what others
//! wrote meanwhile.

use serde_json::{Map, Value};

use super::managers::Managers;
use crate::diff::{FieldChange, diff};
use crate::identity::GroupKind;
use crate::ids::ReleaseId;

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

/// Whether the same fields are this release's, before and after an apply. Metadata is enough to
/// tell.
pub(crate) fn owns_the_same(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    release: &ReleaseId,
) -> bool {
    let of = |object| Managers::read(object, release).own_leaves();
    of(before) == of(after)
}

/// Whether one path is the other, or leads to it.
fn related(a: &str, b: &str) -> bool {
    let leads = |short: &str, long: &str| {
        long.strip_prefix(short)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    leads(a, b) || leads(b, a)
}
