//! Scenarios A to P of RFC-0001, by their letters.

use std::collections::BTreeSet;

use opm_core::check::Adopt;
use opm_core::digest::ManifestDigest;
use opm_core::identity::Identity;
use opm_core::ids::ChangeId;
use opm_core::manifest::Manifest;
use opm_core::plan::{GuardFlags, Occupants, PlanOptions, plan};
use serde_json::json;

use crate::world::{Flags, Ran, World, desired, id};

const V1: [&str; 3] = ["SS/minecraft", "Svc/minecraft", "PVC/config"];
const V2: [&str; 3] = ["SS/minecraft-server", "Svc/minecraft-server", "PVC/config"];

fn ids(short: &[&str]) -> Vec<Identity> {
    short.iter().map(|short| id(short)).collect()
}

fn set(short: &[&str]) -> BTreeSet<Identity> {
    ids(short).into_iter().collect()
}

fn allow_empty() -> Flags {
    let plan = PlanOptions {
        allow_empty: true,
        ..PlanOptions::default()
    };
    Flags {
        plan,
        ..Flags::default()
    }
}

#[test]
fn a_normal_rename() {
    let mut world = World::default();
    world.apply(&V1);
    let ran = world.apply(&V2);
    assert_eq!(ran.pruned(), ids(&["SS/minecraft", "Svc/minecraft"]));
    assert_eq!(world.inventory(), set(&V2));
    assert_eq!(world.objects.len(), 3);
    assert!(world.pending().is_empty() && world.kept().is_empty());
}

#[test]
fn b_partial_failure_records_and_prunes_nothing_and_the_retry_is_clean() {
    let mut world = World::default();
    world.apply(&V1);
    let before = world.index();
    world.broken.insert(id("Svc/minecraft-server"));
    assert!(matches!(world.apply(&V2), Ran::Partial));
    assert_eq!(world.index(), before, "the index is untouched");
    assert_eq!(world.inventory(), set(&V1));
    assert!(world.has("SS/minecraft") && world.has("Svc/minecraft"));
    world.broken.clear();
    let ran = world.apply(&V2);
    assert_eq!(ran.pruned(), ids(&["SS/minecraft", "Svc/minecraft"]));
    assert_eq!(world.inventory(), set(&V2));
    assert!(world.pending().is_empty());
}

#[test]
fn c_a_component_is_removed_entirely() {
    let mut world = World::default();
    let all = [
        "Deploy/app@app",
        "Deploy/cache@cache",
        "Deploy/worker@worker",
        "Svc/app@app",
        "Svc/cache@cache",
    ];
    world.apply(&all);
    let ran = world.apply(&["Deploy/app@app", "Deploy/worker@worker", "Svc/app@app"]);
    assert_eq!(ran.pruned(), ids(&["Deploy/cache", "Svc/cache"]));
}

#[test]
fn d_first_time_apply() {
    let mut world = World::default();
    let ran = world.apply(&V1);
    assert!(ran.pruned().is_empty());
    assert_eq!(world.inventory(), set(&V1));
    assert_eq!(world.index().len(), 1);
}

#[test]
fn e_the_record_is_deleted_and_the_next_apply_goes_on() {
    let mut world = World::default();
    world.apply(&V1);
    world.secret = None;
    let ran = world.apply(&V2);
    assert!(ran.pruned().is_empty(), "without a record nothing is stale");
    assert_eq!(world.inventory(), set(&V2));
    assert!(world.has("SS/minecraft"), "an orphan, labelled");
    assert_eq!(
        world.objects[&id("SS/minecraft")].live.owner.id,
        Some(crate::world::release().to_string())
    );
}

#[test]
fn f_no_ghost_after_a_failed_apply_that_is_reverted() {
    let mut world = World::default();
    world.apply(&V1);
    // Services are sent before StatefulSets, so this one leaves something behind.
    world.broken.insert(id("SS/minecraft-server"));
    assert!(matches!(world.apply(&V2), Ran::Partial));
    assert!(
        world.has("Svc/minecraft-server"),
        "created before the failure"
    );
    assert_eq!(
        world.pending()[&id("Svc/minecraft-server")],
        ("create", false)
    );
    world.broken.clear();
    let ran = world.apply(&V1);
    assert_eq!(
        ran.pruned(),
        ids(&["Svc/minecraft-server"]),
        "the ghost goes"
    );
    assert_eq!(world.objects.len(), 3);
    assert!(world.pending().is_empty());
}

#[test]
fn g_a_kind_changes() {
    let mut world = World::default();
    world.apply(&["Deploy/minecraft", "Svc/minecraft"]);
    let ran = world.apply(&["SS/minecraft", "Svc/minecraft"]);
    assert_eq!(ran.pruned(), ids(&["Deploy/minecraft"]));
}

#[test]
fn h_idempotent_re_apply_overwrites_and_moves_to_front() {
    let mut world = World::default();
    world.apply(&V1);
    let first = world.index();
    let time = world.record().unwrap().current().unwrap().timestamp.clone();
    world.apply(&V1);
    assert_eq!(world.index(), first, "no growth");
    assert_ne!(world.record().unwrap().current().unwrap().timestamp, time);
    world.apply(&V2);
    assert_eq!(world.index().len(), 2);
    assert_eq!(world.index()[1], first[0]);
    world.apply(&V1);
    assert_eq!(
        world.index()[0],
        first[0],
        "A, B, A: two changes, A in front"
    );
    assert_eq!(world.index().len(), 2);
}

#[test]
fn i_a_local_template_change_is_a_new_change() {
    let digest = |port: u32| {
        let object = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "a", "namespace": "b"}, "spec": {"port": port}});
        ManifestDigest::of(&[Manifest::parse(object).unwrap()])
    };
    let change = |port| ChangeId::of("local/web", None, "{}", &digest(port));
    assert_eq!(change(80), change(80));
    assert_ne!(change(80), change(81));
}

#[test]
fn j_a_component_rename_prunes_nothing() {
    let mut world = World::default();
    world.apply(&["SS/minecraft@app", "Svc/minecraft@app", "PVC/config@app"]);
    let renamed = desired(&[
        "SS/minecraft@server",
        "Svc/minecraft@server",
        "PVC/config@server",
    ]);
    let planned = plan(&renamed, world.record().as_ref(), PlanOptions::default()).unwrap();
    assert!(planned.stale.is_empty());
    let ran = world.apply_with(&renamed, &Flags::default());
    assert!(ran.pruned().is_empty());
    let components: BTreeSet<String> = world
        .record()
        .unwrap()
        .inventory()
        .iter()
        .map(|recorded| recorded.entry.component.clone())
        .collect();
    assert_eq!(components, BTreeSet::from(["server".to_owned()]));
}

#[test]
fn k_existing_untracked_objects_are_refused_unless_adopted() {
    let mut world = World::default();
    world.put("PVC/config");
    let ran = world.apply(&V1);
    assert_eq!(
        ran.refusals(),
        [
            "Resource PersistentVolumeClaim/config in namespace default already exists but is not \
          tracked by this release"
        ]
    );
    assert_eq!(world.objects.len(), 1, "nothing was touched");
    assert!(world.secret.is_none());
    let adopt = Adopt::Named(vec!["persistentvolumeclaim/config".parse().unwrap()]);
    let flags = Flags {
        adopt,
        ..Flags::default()
    };
    assert!(matches!(
        world.apply_with(&desired(&V1), &flags),
        Ran::Done { .. }
    ));
    assert_eq!(world.inventory(), set(&V1));
}

#[test]
fn l_terminating_objects_are_refused_on_every_apply() {
    for first in [true, false] {
        let mut world = World::default();
        if !first {
            world.apply(&V1);
        }
        world.put_mine("SS/minecraft").terminating = true;
        world.put_mine("PVC/config").terminating = true;
        let flags = Flags {
            adopt: Adopt::All,
            take_ownership: true,
            ..Flags::default()
        };
        let refusals = world.apply_with(&desired(&V1), &flags).refusals();
        assert_eq!(refusals.len(), 2, "all reasons at once: {refusals:?}");
        assert_eq!(
            refusals[1],
            "Resource StatefulSet/minecraft in namespace default is being deleted"
        );
    }
}

#[test]
fn m_cross_namespace_migration_whose_prune_is_denied_stays_pending_and_is_retried() {
    let mut world = World::default();
    world.apply(&["SS/minecraft in games", "Svc/minecraft in games"]);
    let moved = ["SS/minecraft in production", "Svc/minecraft in production"];
    world.undeletable.insert(id("SS/minecraft in games"));
    let denied = crate::world::forbidden("no");
    world.hidden.insert(id("Svc/minecraft in games"), denied);
    let ran = world.apply(&moved);
    assert!(
        matches!(ran, Ran::Done { unpruned: true, .. }),
        "recorded all the same"
    );
    assert_eq!(world.inventory(), set(&moved));
    for short in ["SS/minecraft in games", "Svc/minecraft in games"] {
        assert_eq!(world.pending()[&id(short)], ("prune-failed", false));
    }
    (world.undeletable, world.hidden) = Default::default();
    let ran = world.apply(&moved);
    assert_eq!(
        ran.pruned(),
        ids(&["SS/minecraft in games", "Svc/minecraft in games"])
    );
    assert!(world.pending().is_empty());
}

#[test]
fn n_a_definition_comes_before_its_instances_and_goes_after_them() {
    let mut world = World::default();
    let module = desired(&["Foo/my-foo", "CRD/foos.example.com"]);
    let planned = plan(&module, None, PlanOptions::default()).unwrap();
    let order: Vec<_> = planned
        .applies()
        .map(|p| p.object.entry.identity.clone())
        .collect();
    assert_eq!(order, ids(&["CRD/foos.example.com", "Foo/my-foo"]));
    assert_eq!(planned.phases[0].steps.len(), 2, "with a wait between them");
    world.broken.insert(id("Foo/my-foo"));
    assert!(matches!(
        world.apply_with(&module, &Flags::default()),
        Ran::Partial
    ));
    world.broken.clear();
    assert!(matches!(
        world.apply_with(&module, &Flags::default()),
        Ran::Done { .. }
    ));
    let guards = GuardFlags {
        crds: true,
        ..GuardFlags::default()
    };
    let flags = Flags {
        plan: PlanOptions {
            guards,
            ..PlanOptions::default()
        },
        ..Flags::default()
    };
    world
        .occupants
        .insert(id("CRD/foos.example.com"), Occupants::Known(vec![]));
    let ran = world.delete(None, &flags);
    assert_eq!(ran.pruned(), ids(&["Foo/my-foo", "CRD/foos.example.com"]));
}

#[test]
fn o_a_stale_namespace_is_kept_unless_its_flag_is_given_and_it_holds_nothing_else() {
    let v1 = [
        "NS/games@infra",
        "SS/minecraft in games",
        "Svc/minecraft in games",
    ];
    let mut world = World::default();
    world.apply(&v1);
    let ran = world.apply(&["CM/other"]);
    assert_eq!(
        ran.pruned(),
        ids(&["SS/minecraft in games", "Svc/minecraft in games"])
    );
    assert_eq!(world.kept()[&id("NS/games")], "guard");

    // The flag acts on what goes stale in that very plan, not on what was kept before.
    let guards = GuardFlags {
        namespaces: true,
        ..GuardFlags::default()
    };
    let flags = Flags {
        plan: PlanOptions {
            guards,
            ..PlanOptions::default()
        },
        ..Flags::default()
    };
    world.apply_with(&desired(&["CM/another"]), &flags);
    assert!(world.has("NS/games"));

    let mut world = World::default();
    world.apply(&v1);
    let foreign = opm_core::plan::Occupant {
        identity: id("CM/theirs in games"),
        owned: false,
    };
    world
        .occupants
        .insert(id("NS/games"), Occupants::Known(vec![foreign]));
    let refusals = world.apply_with(&desired(&["CM/other"]), &flags).refusals();
    assert_eq!(
        refusals,
        [
            "Resource Namespace/games still holds objects that would go with it: ConfigMap/theirs \
          in namespace games"
        ]
    );
    world
        .occupants
        .insert(id("NS/games"), Occupants::Known(vec![]));
    let ran = world.apply_with(&desired(&["CM/other"]), &flags);
    assert_eq!(
        ran.pruned(),
        ids(&[
            "SS/minecraft in games",
            "Svc/minecraft in games",
            "NS/games"
        ])
    );
}

#[test]
fn p_an_empty_render_is_refused_unless_allowed() {
    let all = [
        "SS/minecraft",
        "Svc/minecraft",
        "PVC/config",
        "CM/settings",
        "Secret/creds",
    ];
    let mut world = World::default();
    world.apply(&all);
    assert_eq!(
        world.apply(&[]).refusals(),
        ["the module renders no objects, and 5 would be removed"]
    );
    assert_eq!(world.objects.len(), 5);
    let ran = world.apply_with(&desired(&[]), &allow_empty());
    assert_eq!(
        ran.pruned(),
        ids(&[
            "SS/minecraft",
            "Svc/minecraft",
            "Secret/creds",
            "CM/settings"
        ])
    );
    assert_eq!(
        world.kept()[&id("PVC/config")],
        "guard",
        "guards hold even then"
    );
}
