//! Drift: fields of an applied object that are no longer as they were applied, and who changed
//! them.
//!
//! The server keeps, for every field manager, the fields that it owns. Whoever writes another
//! value into a field takes it from its owner, so what `opm` still owns is as it was applied,
//! however the server has put it (`1000m` as `1`, a default filled in): comparing values there
//! would only find the server's own wording. What it no longer owns is compared with what was
//! applied. What others added beside it is not drift: server-side apply lets them.

mod by_apply;
mod effect;
mod managers;
mod walk;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::ids::ReleaseId;
use managers::Managers;

pub use by_apply::changes_by_apply;
pub(crate) use by_apply::wrote_nothing;
pub use effect::{AppliedNote, ApplyEffect, ObjectToApply};
pub(crate) use managers::step as path_step;
pub(crate) use walk::is_item;

/// One field that is not as it was applied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FieldDrift {
    /// Where, such as `spec.template.spec.containers[name="web"].image`.
    pub field: String,
    /// The field manager that owns it now; none if nobody does, as after a removal.
    pub by: Option<String>,
    /// When that manager last wrote the object.
    pub at: Option<String>,
}

/// Whether everything that was applied is still owned by `opm`, so that nothing of it can have
/// drifted. Metadata is enough to tell.
pub fn is_untouched(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    release: &ReleaseId,
) -> bool {
    let managers = Managers::read(live, release);
    !walk::has_unowned(desired, &managers)
}

/// The fields of a live object that are not as they were applied. Needs the whole object. What an
/// apply would not change has not drifted.
pub fn fields(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    release: &ReleaseId,
) -> Vec<FieldDrift> {
    if effect::is_as_applied(desired, live, release) {
        return Vec::new();
    }
    let managers = Managers::read(live, release);
    walk::drifted(desired, live, &managers)
}

/// The first field in which a live object is not what applying `desired` makes of it, whoever
/// owns it: for manifests of which nobody knows whether they were applied last. A field that
/// `opm` applied and `desired` does not have tells that it was something else. Needs the whole
/// object.
pub fn first_unlike(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    release: &ReleaseId,
) -> Option<String> {
    let managers = Managers::read(live, release);
    walk::first_unlike(desired, live, &managers)
}

/// Whether others may have written to an object since the last apply. What was applied tells.
pub fn may_be_written_since(live: &Map<String, Value>, release: &ReleaseId) -> bool {
    Managers::read(live, release).may_be_written_since()
}

/// The fields that others have written since the last apply, for an object whose manifest was
/// not kept: what can be told from its managed fields alone. Metadata, status and what the
/// cluster's own controllers fill in are left out; what somebody merely added is not.
pub fn written_since(live: &Map<String, Value>, release: &ReleaseId) -> Vec<FieldDrift> {
    Managers::read(live, release).written_since()
}

#[cfg(test)]
mod tests;
