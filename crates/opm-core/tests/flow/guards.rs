//! Guarded kinds: what needs a flag of its own, and what not even the flag allows.

use opm_core::identity::{GroupKind, Identity};
use opm_core::plan::{GuardFlags, Occupant, Occupants, PlanOptions};

use crate::world::{Flags, OTHER, Ran, World, desired, id, release};

fn guards(guards: GuardFlags) -> Flags {
    let plan = PlanOptions {
        guards,
        ..PlanOptions::default()
    };
    Flags {
        plan,
        ..Flags::default()
    }
}

#[test]
fn guarded_kinds_need_their_own_flag() {
    let table: [(&str, GuardFlags); 4] = [
        (
            "NS/a",
            GuardFlags {
                namespaces: true,
                ..GuardFlags::default()
            },
        ),
        (
            "PVC/a",
            GuardFlags {
                volume_claims: true,
                ..GuardFlags::default()
            },
        ),
        (
            "PV/a",
            GuardFlags {
                volumes: true,
                ..GuardFlags::default()
            },
        ),
        (
            "CRD/as.example.com",
            GuardFlags {
                crds: true,
                ..GuardFlags::default()
            },
        ),
    ];
    for (short, flag) in table {
        for (_, given) in table {
            let mut world = World::default();
            world.apply(&[short, "CM/b"]);
            world.occupants.insert(id(short), Occupants::Known(vec![]));
            let ran = world.apply_with(&desired(&["CM/b"]), &guards(given));
            assert!(matches!(
                ran,
                Ran::Done {
                    unpruned: false,
                    ..
                }
            ));
            assert_eq!(world.has(short), given != flag, "{short} with {given:?}");
            assert_eq!(world.kept().contains_key(&id(short)), given != flag);
        }
    }
}

#[test]
fn a_namespace_that_holds_the_releases_own_objects_does_not_go_either() {
    let flags = guards(GuardFlags {
        namespaces: true,
        ..GuardFlags::default()
    });
    let v1 = ["NS/games", "PVC/data in games", "CM/b in games"];
    let refusal = |staying: &str| {
        format!(
            "Resource Namespace/games still holds objects that would go with it: {staying} in \
             namespace games"
        )
    };
    // One that is still rendered, and one that a guard keeps.
    for (v2, staying) in [
        (
            vec!["CM/b in games"],
            "ConfigMap/b in namespace games, PersistentVolumeClaim/data",
        ),
        (vec!["CM/x"], "PersistentVolumeClaim/data"),
    ] {
        let mut world = World::default();
        world.apply(&v1);
        world
            .occupants
            .insert(id("NS/games"), Occupants::Known(vec![]));
        let refusals = world.apply_with(&desired(&v2), &flags).refusals();
        assert_eq!(refusals, [refusal(staying)]);
    }
}

#[test]
fn what_kubernetes_makes_in_a_namespace_does_not_hold_it() {
    let flags = guards(GuardFlags {
        namespaces: true,
        ..GuardFlags::default()
    });
    let occupant = |group: &str, kind: &str, name: &str, owned| Occupant {
        identity: Identity::new(GroupKind::new(group, kind), Some("games"), name),
        owned,
    };
    let harmless = [
        occupant("", "Event", "e", false),
        occupant("coordination.k8s.io", "Lease", "l", false),
        occupant("", "Endpoints", "e", false),
        occupant("discovery.k8s.io", "EndpointSlice", "e", false),
        occupant("", "ConfigMap", "kube-root-ca.crt", false),
        occupant("", "ServiceAccount", "default", false),
        occupant("", "Pod", "p", true),
    ];
    let strangers = [
        occupant("", "Pod", "p", false),
        occupant("", "ConfigMap", "other", false),
        occupant("", "Secret", &format!("opm.web.{OTHER}"), false),
    ];
    for stranger in std::iter::once(None).chain(strangers.map(Some)) {
        let mut world = World::default();
        world.apply(&["NS/games", "CM/b"]);
        let refused = stranger.is_some();
        let occupants = harmless.iter().cloned().chain(stranger).collect();
        world
            .occupants
            .insert(id("NS/games"), Occupants::Known(occupants));
        let ran = world.apply_with(&desired(&["CM/b"]), &flags);
        assert_eq!(matches!(ran, Ran::Refused(_)), refused);
    }
    let mut world = World::default();
    world.apply(&["NS/games", "CM/b"]);
    world.occupants.insert(
        id("NS/games"),
        Occupants::Unknown("may not list pods".into()),
    );
    assert_eq!(
        world
            .apply_with(&desired(&["CM/b"]), &flags)
            .refusals()
            .len(),
        1
    );
}

/// The record lives in the release's namespace: an apply cannot do without it, a delete can.
#[test]
fn the_namespace_of_the_record_goes_only_with_the_release() {
    let flags = guards(GuardFlags {
        namespaces: true,
        ..GuardFlags::default()
    });
    let own = Occupant {
        identity: Identity::new(
            GroupKind::new("", "Secret"),
            Some("games"),
            format!("opm.minecraft.{}", release()),
        ),
        owned: false,
    };
    let mut world = World::default();
    world.apply(&["NS/games", "Role/a"]);
    world
        .occupants
        .insert(id("NS/games"), Occupants::Known(vec![own]));
    let ran = world.apply_with(&desired(&["Role/a"]), &flags);
    assert_eq!(ran.refusals().len(), 1);
    let ran = world.delete(None, &flags);
    assert_eq!(ran.pruned(), [id("Role/a"), id("NS/games")]);
}
