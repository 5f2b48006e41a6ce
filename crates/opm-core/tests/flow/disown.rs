//! Parting with objects without deleting them, and what is sent with force.

use opm_core::check::{
    Adopt, ApplyMethod, ApplyStep, LabelledRelease, LiveObject, PruneMethod, PruneStep,
    RemovalDecision, decide_removal, disown, former_manager,
};
use opm_core::entry::Entry;
use opm_core::plan::StaleOrigin;
use serde_json::{Map, Value, json};

use crate::world::{Flags, OTHER, Ran, World, id, release};

const UUID: &str = "module-release.opmodel.dev/uuid";

fn live(labels: &Value, managers: &[&str]) -> Map<String, Value> {
    let entries: Vec<Value> = managers
        .iter()
        .map(|manager| match manager.strip_suffix('!') {
            Some(updater) => json!({"manager": updater, "operation": "Update"}),
            None => json!({"manager": manager, "operation": "Apply"}),
        })
        .collect();
    let object = json!({"metadata": {"uid": "u", "resourceVersion": "7", "labels": labels,
        "managedFields": entries}});
    object.as_object().unwrap().clone()
}

fn shared(of: &str) -> String {
    format!("shared.opmodel.dev/{of}")
}

/// Labels, appliers, recorded uid; what goes of the labels, and which managers are left.
#[test]
fn what_a_release_takes_back_of_itself() {
    let me = release().to_string();
    let own = json!({UUID: me, "app.kubernetes.io/managed-by": "open-platform-model",
        "component.opmodel.dev/name": "app", "theirs": "x"});
    let (mine, theirs) = (format!("opm-{me}"), format!("opm-{OTHER}"));
    let both = json!({shared(&me): "a", shared(OTHER): "b",
        "app.kubernetes.io/managed-by": "open-platform-model"});
    let alone = json!({shared(&me): "a", "app.kubernetes.io/managed-by": "open-platform-model"});
    let own_shared = shared(&me);
    let renamed = json!({UUID: me, "app.kubernetes.io/managed-by": "Helm"});
    let cases = [
        (
            "its own",
            live(&own, &["opm", "kubectl", "opm!"]),
            None,
            Some((
                vec![
                    "app.kubernetes.io/managed-by",
                    "component.opmodel.dev/name",
                    UUID,
                ],
                vec!["kubectl", "opm"],
            )),
        ),
        (
            "managed by others by now",
            live(&renamed, &["opm"]),
            None,
            Some((vec![UUID], vec![])),
        ),
        (
            "shared with others",
            live(&both, &[&mine, &theirs]),
            None,
            Some((vec![own_shared.as_str()], vec![&*theirs])),
        ),
        (
            "shared with nobody",
            live(&alone, &[&mine]),
            None,
            Some((
                vec!["app.kubernetes.io/managed-by", own_shared.as_str()],
                vec![],
            )),
        ),
        (
            "stripped",
            live(&json!({"theirs": "x"}), &["opm"]),
            Some("u"),
            Some((vec![], vec![])),
        ),
        (
            "made anew by somebody",
            live(&json!({}), &["opm"]),
            Some("v"),
            None,
        ),
        (
            "another's",
            live(&json!({UUID: OTHER}), &["opm"]),
            Some("u"),
            None,
        ),
        (
            "shared by others alone",
            live(&json!({shared(OTHER): "b"}), &[&theirs]),
            Some("u"),
            None,
        ),
        ("nobody's", live(&json!({}), &["kubectl"]), Some("u"), None),
    ];
    let torn = live(
        &json!({UUID: me, shared(OTHER): "b", "app.kubernetes.io/managed-by": "open-platform-model"}),
        &["opm", &theirs],
    );
    let disowned = disown(&torn, None, &release()).unwrap();
    assert_eq!(
        disowned.labels,
        [UUID],
        "somebody joined what was about to be one's own"
    );
    assert_eq!(disowned.managed_fields.len(), 1);
    for (what, object, recorded, expected) in cases {
        let disowned = disown(&object, recorded, &release());
        let found = disowned.as_ref().map(|disown| {
            assert_eq!(
                (disown.uid.as_str(), disown.resource_version.as_str()),
                ("u", "7")
            );
            let mut labels: Vec<&str> = disown.labels.iter().map(String::as_str).collect();
            labels.sort_unstable();
            let left = disown.managed_fields.iter();
            let left: Vec<&str> = left
                .map(|entry| entry["manager"].as_str().unwrap())
                .collect();
            (labels, left)
        });
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_former_field_manager_is_known_by_its_entry() {
    let mine = format!("opm-{}", release());
    for (managers, is_shared, expected) in [
        (vec!["opm", mine.as_str()], true, Some("opm")),
        (vec!["opm", mine.as_str()], false, Some(mine.as_str())),
        (vec![mine.as_str()], true, None),
        (vec!["opm"], false, None),
        (vec!["opm!"], true, None),
        (vec![&*format!("opm-{OTHER}")], false, None),
    ] {
        let object = live(&json!({}), &managers);
        let found = former_manager(&object, is_shared, &release());
        assert_eq!(found.as_deref(), expected, "{managers:?} {is_shared}");
    }
}

/// What became of a shared object between the plan and the deed.
#[test]
fn others_join_and_leave_meanwhile() {
    let me = release().to_string();
    let (alone, both) = (
        json!({shared(&me): "a"}),
        json!({shared(&me): "a", shared(OTHER): "b"}),
    );
    let torn = json!({UUID: me, shared(OTHER): "b"});
    let (left, taken) = (json!({shared(OTHER): "b"}), json!({UUID: OTHER}));
    let step = |short: &str, method: PruneMethod| PruneStep {
        entry: Entry::new(id(short), "v1", "app"),
        origin: StaleOrigin::Inventory,
        uid: "u".into(),
        resource_version: "1".into(),
        shared: true,
        method,
        aggregated: false,
    };
    for (labels, planned, role, definition) in [
        (
            &alone,
            PruneMethod::Delete,
            RemovalDecision::Delete,
            RemovalDecision::Delete,
        ),
        (
            &alone,
            PruneMethod::LeaveShared,
            RemovalDecision::Delete,
            RemovalDecision::Guarded,
        ),
        (
            &both,
            PruneMethod::Delete,
            RemovalDecision::Leave,
            RemovalDecision::Leave,
        ),
        (
            &both,
            PruneMethod::LeaveShared,
            RemovalDecision::Leave,
            RemovalDecision::Leave,
        ),
        (
            &torn,
            PruneMethod::Delete,
            RemovalDecision::Leave,
            RemovalDecision::Leave,
        ),
        (
            &left,
            PruneMethod::LeaveShared,
            RemovalDecision::LetGo,
            RemovalDecision::LetGo,
        ),
        (
            &taken,
            PruneMethod::Delete,
            RemovalDecision::LetGo,
            RemovalDecision::LetGo,
        ),
        (
            &json!({}),
            PruneMethod::Delete,
            RemovalDecision::NotMine,
            RemovalDecision::NotMine,
        ),
    ] {
        let seen = LiveObject::read(&live(labels, &[]), &release());
        for (short, expected) in [("Role/r", role), ("CRD/c", definition)] {
            let found = decide_removal(&seen, &step(short, planned.clone()), &release());
            assert_eq!(found, expected, "{short} {labels} {planned:?}");
        }
    }
    // What was this release's alone.
    let own = PruneStep {
        shared: false,
        ..step("Role/r", PruneMethod::Delete)
    };
    for (labels, expected) in [
        (json!({UUID: me}), RemovalDecision::Delete),
        (taken, RemovalDecision::TakenOver),
        (left, RemovalDecision::TakenOver),
        (both, RemovalDecision::Leave),
        (json!({}), RemovalDecision::NotMine),
    ] {
        let seen = LiveObject::read(&live(&labels, &[]), &release());
        let found = decide_removal(&seen, &own, &release());
        assert_eq!(found, expected, "alone {labels}");
    }
}

#[test]
fn force_is_for_what_is_ones_own_and_for_what_was_named() {
    let uid = String::from("u");
    let other = LabelledRelease {
        id: OTHER.into(),
        name: None,
        namespace: None,
    };
    let named = Adopt::Named(Vec::new());
    let step = |method: ApplyMethod, shared_with: Vec<LabelledRelease>| ApplyStep {
        entry: Entry::new(id("CM/a"), "v1", "app"),
        shared: !shared_with.is_empty(),
        shared_with,
        recorded_uid: None,
        takes_fields: false,
        method,
    };
    let (update, adopt) = (
        ApplyMethod::Update { uid: uid.clone() },
        ApplyMethod::Adopt { uid: uid.clone() },
    );
    let take = ApplyMethod::Take {
        uid: uid.clone(),
        from: other.clone(),
    };
    for (step, by_flag, by_name) in [
        (step(update.clone(), vec![]), true, true),
        (step(update, vec![other.clone()]), false, false),
        (step(adopt, vec![]), false, true),
        (step(take, vec![]), false, false),
        (step(ApplyMethod::Join { uid }, vec![other]), false, false),
        (step(ApplyMethod::Create, vec![]), false, false),
    ] {
        assert_eq!(step.forces(&Adopt::All), by_flag, "{:?}", step.method);
        assert_eq!(step.forces(&named), by_name, "{:?}", step.method);
    }
}

#[test]
fn a_delete_that_cannot_finish_lets_go_of_what_others_have() {
    let mut world = World::default();
    world.apply(&["CM/taken", "CM/held"]);
    let owner = &mut world.objects.get_mut(&id("CM/taken")).unwrap().live.owner;
    owner.id = Some(OTHER.into());
    world.undeletable.insert(id("CM/held"));
    let ran = world.delete(None, &Flags::default());
    assert!(matches!(ran, Ran::Stays), "{ran:?}");
    let left: Vec<_> = world.inventory().into_iter().collect();
    assert_eq!(
        left,
        [id("CM/held")],
        "the record names only what is its own"
    );
    assert!(world.has("CM/taken"));
    world.undeletable.clear();
    world.delete(None, &Flags::default());
    assert!(world.has("CM/taken") && !world.has("CM/held"));
}
