//! What needs what: the order in which objects go, what is waited for, and whose an aggregated
//! ClusterRole is that came back.

use opm_core::check::{
    CheckContext, CheckedPlan, LiveObject, Observed, PruneMethod, Refusals, check, prune_groups,
    still_holds,
};
use opm_core::failure::Remedy;
use opm_core::identity::Identity;
use opm_core::observation::Observation;
use opm_core::plan::{
    ComponentOrder, Guard, GuardFlags, Occupant, Occupants, Plan, PlanOptions, SilentGroup, plan,
    plan_delete,
};
use serde_json::json;

use crate::world::{Flags, World, desired, id, release};

fn checked(plan: Plan, world: &World) -> Result<CheckedPlan, Refusals> {
    let entries = plan.to_observe().map(|entry| entry.identity.clone());
    let live = |identity: Identity| {
        let seen = match world.objects.get(&identity) {
            Some(thing) => Observation::Present(thing.live.clone()),
            None => Observation::Absent,
        };
        (identity, seen)
    };
    let observed: Observed = entries.map(live).collect();
    let context = CheckContext {
        release: release(),
        adopt: opm_core::check::Adopt::None,
        take_ownership: false,
        occupants: &world.occupants,
    };
    check(plan, &observed, &context)
}

fn delete(world: &World) -> CheckedPlan {
    let options = PlanOptions::default();
    checked(
        plan_delete(&world.record().unwrap(), options).unwrap(),
        world,
    )
    .unwrap()
}

fn groups(checked: &CheckedPlan) -> Vec<Vec<Identity>> {
    let identities = |group: &[_]| {
        let steps = group.iter();
        steps
            .map(|step: &opm_core::check::PruneStep| step.entry.identity.clone())
            .collect()
    };
    prune_groups(&checked.stale.prune).map(identities).collect()
}

#[test]
fn objects_go_by_what_needs_what_whatever_their_stage() {
    let mut module = desired(&[
        "Foo/a@first",
        "Hook/a@first",
        "APIService/v1.a@first",
        "Deploy/a@first",
        "Svc/b@second",
        "Deploy/b@second",
        "Foo/b@second",
    ]);
    module.components = vec![
        ComponentOrder::first("first"),
        ComponentOrder {
            name: "second".into(),
            after: vec!["first".into()],
        },
    ];
    let mut world = World::default();
    world.apply_with(&module, &Flags::default());
    let expected = [
        vec![id("Foo/b"), id("Foo/a")],
        vec![id("Hook/a")],
        vec![id("APIService/v1.a")],
        vec![id("Deploy/b")],
        vec![id("Svc/b")],
        vec![id("Deploy/a")],
    ];
    assert_eq!(groups(&delete(&world)), expected);
}

#[test]
fn aggregated_roles_go_before_their_parts() {
    let mut world = World::default();
    world.apply(&["Role/a-part", "Role/whole", "Role/z-part", "CM/a"]);
    for role in ["Role/whole", "CM/a"] {
        let thing = world.objects.get_mut(&id(role)).unwrap();
        thing.live.aggregated = true;
    }
    let expected = [
        vec![id("CM/a")],
        vec![id("Role/whole")],
        vec![id("Role/z-part"), id("Role/a-part")],
    ];
    assert_eq!(groups(&delete(&world)), expected);
}

#[test]
fn a_delete_waits_for_custom_resources_that_are_being_deleted() {
    let mut world = World::default();
    world.apply(&["CM/a", "Foo/a"]);
    for object in ["CM/a", "Foo/a"] {
        let thing = world.objects.get_mut(&id(object)).unwrap();
        thing.live.terminating = true;
    }
    let deleting = delete(&world).stale;
    assert_eq!(deleting.prune.len(), 1);
    assert_eq!(deleting.prune[0].entry.identity, id("Foo/a"));
    assert_eq!(deleting.prune[0].method, PruneMethod::AwaitGone);
    assert!(deleting.prune[0].is_custom());
    assert_eq!(deleting.gone[0].entry.identity, id("CM/a"));
    // A prune does not wait for anything.
    let options = PlanOptions {
        allow_empty: true,
        ..PlanOptions::default()
    };
    let record = world.record().unwrap();
    let pruning = plan(&desired(&["Secret/b"]), Some(&record), options).unwrap();
    let pruning = checked(pruning, &world).unwrap().stale;
    assert!(pruning.prune.is_empty());
    assert_eq!(pruning.gone.len(), 2);
}

#[test]
fn custom_resources_that_nobody_can_see_are_told_apart() {
    let mut world = World::default();
    world.apply(&["CM/a", "Foo/a"]);
    let plan = plan_delete(&world.record().unwrap(), PlanOptions::default()).unwrap();
    let context = CheckContext {
        release: release(),
        adopt: opm_core::check::Adopt::None,
        take_ownership: false,
        occupants: &world.occupants,
    };
    let stale = check(plan, &Observed::new(), &context).unwrap().stale;
    assert_eq!(stale.undetermined.len(), 2);
    let custom: Vec<_> = stale.undetermined_custom().collect();
    assert_eq!(custom.len(), 1);
    assert_eq!(custom[0].entry.identity, id("Foo/a"));
}

/// A role as a server keeps it, with the managers that wrote it.
fn role(managers: &[(&str, serde_json::Value)], labels: &serde_json::Value) -> LiveObject {
    let fields = managers.iter().map(
        |(manager, fields)| json!({"manager": manager, "operation": "Apply", "fieldsV1": fields}),
    );
    let object = json!({"metadata": {"uid": "u", "labels": labels,
        "managedFields": fields.collect::<Vec<_>>()}});
    LiveObject::read(object.as_object().unwrap(), &release())
}

#[test]
fn a_role_that_its_controller_alone_wrote_is_nobody_elses() {
    const CONTROLLER: &str = "clusterrole-aggregation-controller";
    let rules = json!({"f:rules": {}});
    let rule = json!({"f:aggregationRule": {}});
    let mine = json!({"module-release.opmodel.dev/uuid": release().to_string()});
    for (managers, labels, aggregated, rebuilt) in [
        (vec![(CONTROLLER, rules.clone())], json!({}), true, true),
        (vec![(CONTROLLER, rules.clone())], mine.clone(), true, false),
        (
            vec![(CONTROLLER, rules.clone()), ("kubectl", rule.clone())],
            json!({}),
            true,
            false,
        ),
        (vec![("kubectl", rule)], json!({}), true, false),
        (vec![("opm", rules)], mine, false, false),
        (vec![], json!({}), false, false),
    ] {
        let live = role(&managers, &labels);
        assert_eq!(
            (live.aggregated, live.rebuilt),
            (aggregated, rebuilt),
            "{managers:?}"
        );
    }
    // Applied, pruned and deleted as this release's; what somebody else made is not.
    let mut world = World::default();
    world.put("Role/whole").rebuilt = true;
    world.apply(&["Role/whole"]);
    assert!(world.has("Role/whole"));
    world.put("Role/whole").rebuilt = true;
    assert_eq!(world.apply(&["CM/a"]).pruned(), [id("Role/whole")]);
    world.put("Role/theirs");
    let refused = world.apply_with(&desired(&["Role/theirs"]), &Flags::default());
    assert_eq!(refused.refusals().len(), 1);
}

#[test]
fn a_silent_group_holds_a_namespace_unless_its_server_goes_too() {
    let silent = |api_services: &[&str]| Occupants::Partly {
        occupants: Vec::new(),
        silent: vec![SilentGroup {
            group: "metrics.example.com".into(),
            api_services: api_services.iter().map(|name| id(name)).collect(),
            cause: "503".into(),
        }],
    };
    let own = "APIService/v1.metrics.example.com";
    let others = "APIService/v2.metrics.example.com";
    for (objects, services, blocked_by) in [
        (vec!["NS/games", own], vec![own], None),
        (vec!["NS/games", own], vec![], None),
        (
            vec!["NS/games", own],
            vec![own, others],
            Some(format!("{}, {}", id(own), id(others))),
        ),
        (vec!["NS/games"], vec![own], Some(id(own).to_string())),
        (
            vec!["NS/games"],
            vec![],
            Some("the APIService of group metrics.example.com".to_owned()),
        ),
    ] {
        let mut world = World::default();
        world.apply(&objects);
        world.occupants.insert(id("NS/games"), silent(&services));
        let options = PlanOptions {
            guards: GuardFlags {
                namespaces: true,
                ..GuardFlags::default()
            },
            ..PlanOptions::default()
        };
        let plan = plan_delete(&world.record().unwrap(), options).unwrap();
        let remedy = checked(plan, &world)
            .err()
            .map(|refusals| refusals.0[0].remedies().remove(0));
        let expected = blocked_by.map(|server| Remedy::RepairServerOrKeepGuard {
            server,
            guard: Guard::Namespace,
        });
        assert_eq!(remedy, expected, "{objects:?}, {services:?}");
    }
}

#[test]
fn a_definition_goes_only_when_nothing_is_left_of_its_kind() {
    let occupant = Occupant {
        identity: id("Foo/theirs"),
        owned: false,
    };
    assert_eq!(still_holds(&Occupants::Known(Vec::new())), None);
    let held = still_holds(&Occupants::Known(vec![occupant])).unwrap();
    assert!(held.contains("Foo/theirs"), "{held}");
    assert!(still_holds(&Occupants::Unknown("403".into())).is_some());
}

#[test]
fn refusals_say_each_reason_once() {
    let mut world = World::default();
    world.put("CM/a");
    world.put("CM/b");
    world.put("Secret/c").helm = Some("shop/web".into());
    world.put("Secret/d").terminating = true;
    let module = desired(&["CM/a", "CM/b", "Secret/c", "Secret/d"]);
    let crate::world::Ran::Refused(refusals) = world.apply_with(&module, &Flags::default()) else {
        panic!("not refused");
    };
    assert_eq!(
        refusals.to_string(),
        "2 objects already exist but are not tracked by this release:\n  \
         ConfigMap/a in namespace default\n  ConfigMap/b in namespace default\n\
         Resource Secret/c in namespace default belongs to the Helm release shop/web\n\
         Resource Secret/d in namespace default is being deleted"
    );
}
