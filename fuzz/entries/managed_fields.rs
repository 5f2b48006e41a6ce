//! The entry point for live objects: any bytes, read as an object with its managed fields, and
//! taken through everything that tells from them who owns what. Nothing may panic, and nothing
//! may be taken back that was not there.

use opm_core::autoscale;
use opm_core::check::{LiveObject, ObjectBefore, Ownership, disown, former_manager, is_unchanged};
use opm_core::drift;
use opm_core::health;
use opm_core::identity::GroupKind;
use opm_core::ids::ReleaseId;
use opm_core::labels::OwnerLabels;
use opm_core::packed::PackedObject;
use serde_json::Value;

/// The release of the seeds.
const RELEASE: &str = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de";

/// Takes any bytes.
pub(crate) fn run(data: &[u8]) {
    let Ok(Value::Object(live)) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let release: ReleaseId = RELEASE.parse().expect("an id");
    let read = LiveObject::read(&live, &release);
    let _ = (OwnerLabels::read(&live), health::of(&live));
    let kind = GroupKind::new("apps", "Deployment");
    let packed = PackedObject::new(&live);
    assert_eq!(packed.unpack(), live);
    for whole in [true, false] {
        let before = ObjectBefore {
            object: &packed,
            whole,
        };
        let unchanged = is_unchanged(&kind, before, &live, &release);
        assert!(unchanged, "nothing differs from itself");
    }
    let mine = Ownership::of(&read, None, &release) == Ownership::Mine;
    assert!(!mine || read.owner.id.as_deref() == Some(RELEASE));
    if let Some(parted) = disown(&live, Some(&read.uid), &release) {
        let fields = live.get("metadata").and_then(|m| m.get("managedFields"));
        let fields = fields.and_then(Value::as_array).cloned();
        let fields = fields.unwrap_or_default();
        assert!(parted.managed_fields.iter().all(|one| fields.contains(one)));
    }
    for shared in [true, false] {
        let _ = former_manager(&live, shared, &release);
    }
    let mut desired = live.clone();
    desired.remove("status");
    if let Some(Value::Object(metadata)) = desired.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    let _ = drift::is_untouched(&desired, &live, &release);
    let _ = drift::fields(&desired, &live, &release);
    let _ = drift::first_unlike(&desired, &live, &release);
    let _ = drift::written_since(&live, &release);
    let _ = (
        autoscale::applied_replicas(&live),
        autoscale::sets_replicas(&live),
    );
}
