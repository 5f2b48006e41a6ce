//! The RFC's additional edge cases, by their numbers.

use opm_core::record::{
    encode,
    size::{PartOwner, Records, fit},
};

use crate::world::{Flags, Ran, World, desired, id};

#[test]
fn edge_1_labels_are_not_guaranteed_and_the_inventory_decides_what_is_applied() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    // As a plain writer of RFC-0001 leaves it: no uid, and a resource without labels.
    let mut record = world.record().unwrap();
    if let opm_core::record::Content::Read(change) = &mut record.history[0].content
        && let opm_core::record::Body::Here(inventory) = &mut change.inventory
    {
        inventory
            .entries
            .iter_mut()
            .for_each(|recorded| recorded.entry.uid = None);
    }
    world.write(&record);
    for thing in world.objects.values_mut() {
        thing.live.owner = Default::default();
        thing.live.applied_by_opm = false;
    }
    assert!(
        matches!(world.apply(&["CM/a"]), Ran::Done { .. }),
        "tracked, so applied"
    );
    assert!(world.has("CM/b"), "without a label it is not deleted");
    assert_eq!(world.kept()[&id("CM/b")], "not-mine");
}

#[test]
fn edge_2_a_change_id_collision_overwrites() {
    let mut world = World::default();
    world.apply(&["CM/a"]);
    let mut record = world.record().unwrap();
    let mut other = record.current().unwrap().clone();
    other.manifest_digest = "sha256:other".into();
    let dropped = record.push_change(other, 10);
    assert!(dropped.changes.is_empty());
    assert_eq!(record.history.len(), 1);
    assert_eq!(record.current().unwrap().manifest_digest, "sha256:other");
}

#[test]
fn edge_3_the_record_is_no_workload() {
    use opm_core::check::{LiveObject, Ownership, counts_as_discovered};
    let live = LiveObject {
        applied_by_opm: true,
        ..LiveObject::default()
    };
    assert!(counts_as_discovered(&live));
    for word in ["inventory", "record"] {
        let secret = serde_json::json!({"metadata": {"labels": {"opmodel.dev/component": word,
            "module-release.opmodel.dev/uuid": crate::world::release().to_string()},
            "managedFields": [{"manager": "opm", "operation": "Apply"}]}});
        let record = LiveObject::read(secret.as_object().unwrap(), &crate::world::release());
        assert!(!counts_as_discovered(&record), "{word}");
        let whose = Ownership::of(&record, None, &crate::world::release());
        assert_eq!(whose, Ownership::Unowned, "not even its own release's");
    }
    assert!(
        !counts_as_discovered(&LiveObject::default()),
        "labels alone prove nothing"
    );
}

#[test]
fn edge_4_a_partial_delete_leaves_a_record_whose_objects_are_gone() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.objects.clear();
    let ran = world.apply(&["CM/c"]);
    assert!(ran.pruned().is_empty(), "what is gone needs no request");
    assert!(world.pending().is_empty());
    assert!(matches!(
        world.delete(None, &Flags::default()),
        Ran::Done { .. }
    ));
    assert!(world.secret.is_none());
}

#[test]
fn edge_9_component_and_resource_renamed_at_once_is_a_real_rename() {
    let mut world = World::default();
    world.apply(&["SS/minecraft@app"]);
    let ran = world.apply_with(&desired(&["SS/minecraft-server@server"]), &Flags::default());
    assert_eq!(ran.pruned(), [id("SS/minecraft")]);
}

#[test]
fn edge_10_large_values_move_out_of_the_secret() {
    let mut world = World::default();
    world.apply(&["CM/a"]);
    world.apply(&["CM/b"]);
    let mut record = world.record().unwrap();
    for slot in &mut record.history {
        if let opm_core::record::Content::Read(change) = &mut slot.content {
            let values = opm_core::record::Values("x".repeat(500_000));
            change.values = opm_core::record::Body::Here(values);
        }
    }
    let fitted = fit(record, Records::Used, 800_000);
    assert!(!fitted.too_large && encode(&fitted.record).size() < 800_000);
    let older = fitted.record.history[1].id.clone();
    let owner = PartOwner::Change(older, opm_core::record::RecordPart::Values);
    assert_eq!(fitted.moves.len(), 1);
    assert_eq!(fitted.moves[0].owner, owner);
    assert_eq!(fitted.moves[0].payload.len(), 500_000);
}
