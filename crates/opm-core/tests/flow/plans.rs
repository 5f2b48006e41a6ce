//! Plans: the order of components, phases, prunes and deletes.

use opm_core::plan::{
    ComponentOrder, Desired, PlanError, PlanOptions, plan, plan_delete, plan_delete_component,
    stages,
};

use crate::world::{Flags, Ran, World, desired, id, object};

/// Components, each with those it comes after.
type Components<'a> = &'a [(&'a str, &'a [&'a str])];

fn component(name: &str, after: &[&str]) -> ComponentOrder {
    ComponentOrder {
        name: name.into(),
        after: after.iter().map(|name| (*name).into()).collect(),
    }
}

fn module(components: Components<'_>, objects: &[&str]) -> Desired {
    Desired {
        components: components
            .iter()
            .map(|(name, after)| component(name, after))
            .collect(),
        objects: objects.iter().map(|short| object(short)).collect(),
    }
}

fn names(identities: impl IntoIterator<Item = opm_core::identity::Identity>) -> Vec<String> {
    identities.into_iter().map(|id| id.name).collect()
}

#[test]
fn components_have_stages() {
    let table: [(Components<'_>, &[usize]); 4] = [
        (&[("a", &[])], &[0]),
        (&[("a", &["b"]), ("b", &[])], &[1, 0]),
        (
            &[("a", &["b"]), ("b", &["c"]), ("c", &[]), ("d", &[])],
            &[2, 1, 0, 0],
        ),
        (&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])], &[2, 1, 0]),
    ];
    for (components, expected) in table {
        let components: Vec<_> = components
            .iter()
            .map(|(n, after)| component(n, after))
            .collect();
        let stages = stages(&components).unwrap();
        let found: Vec<usize> = components.iter().map(|c| stages[&c.name]).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn components_that_wait_for_one_another_are_named() {
    let table: [(Components<'_>, &str); 5] = [
        (
            &[("a", &["a"])],
            "components wait for one another in a circle: a after a",
        ),
        (
            &[("a", &["b"]), ("b", &["a"])],
            "components wait for one another in a circle: a after b after a",
        ),
        (
            &[
                ("x", &["a"]),
                ("a", &["b"]),
                ("b", &["c"]),
                ("c", &["a"]),
                ("d", &[]),
            ],
            "components wait for one another in a circle: a after b after c after a",
        ),
        (
            &[("a", &["b"])],
            "component a comes after b, and there is no such component",
        ),
        (
            &[("a", &[]), ("a", &[])],
            "there are two components named a",
        ),
    ];
    for (components, expected) in table {
        let components: Vec<_> = components
            .iter()
            .map(|(n, after)| component(n, after))
            .collect();
        assert_eq!(stages(&components).unwrap_err().to_string(), expected);
    }
}

#[test]
fn phases_follow_components_and_steps_follow_ranks() {
    let module = module(
        &[("app", &["db"]), ("db", &[]), ("extra", &[])],
        &[
            "Deploy/app@app",
            "CM/app@app",
            "SS/db@db",
            "PVC/db@db",
            "CM/extra@extra",
            "Foo/z@db",
        ],
    );
    let plan = plan(&module, None, PlanOptions::default()).unwrap();
    let phases: Vec<Vec<Vec<String>>> = plan
        .phases
        .iter()
        .map(|phase| {
            let step = |step: &opm_core::plan::PlanStep| {
                names(step.objects.iter().map(|p| p.object.entry.identity.clone()))
            };
            phase.steps.iter().map(step).collect()
        })
        .collect();
    assert_eq!(
        phases,
        [
            vec![vec!["extra"], vec!["db"], vec!["db"], vec!["z"]],
            vec![vec!["app"], vec!["app"]]
        ]
    );
    assert_eq!(plan.phases[0].components, ["extra", "db"]);
}

#[test]
fn objects_must_be_rendered_once_and_by_a_known_component() {
    let twice = module(&[("a", &[]), ("b", &[])], &["CM/x@a", "CM/x@b"]);
    let error = plan(&twice, None, PlanOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap/x in namespace default is rendered more than once (components a and b)"
    );
    let stray = module(&[("a", &[])], &["CM/x@b"]);
    assert!(matches!(
        plan(&stray, None, PlanOptions::default()),
        Err(PlanError::StrayObject { .. })
    ));
}

#[test]
fn a_delete_goes_backwards_through_the_stages_of_the_recorded_change() {
    let module = module(
        &[("app", &["db"]), ("db", &[])],
        &[
            "Deploy/app@app",
            "CM/app@app",
            "SS/db@db",
            "Foo/db-cr@db",
            "NS/games@app",
        ],
    );
    let mut world = World::default();
    world.apply_with(&module, &Flags::default());
    let record = world.record().unwrap();
    let applied = names(record.inventory().iter().map(|r| r.entry.identity.clone()));
    assert_eq!(applied, ["db", "db-cr", "games", "app", "app"]);
    let plan = plan_delete(&record, PlanOptions::default()).unwrap();
    let order = names(plan.stale.iter().map(|stale| stale.entry.identity.clone()));
    assert_eq!(
        order,
        ["db-cr", "app", "app", "db", "games"],
        "reversed, the custom resource first, the Namespace last"
    );
}

#[test]
fn a_record_of_plain_rfc_0001_promises_no_order_so_ranks_decide() {
    let mut world = World::default();
    world.apply(&["SS/minecraft", "Svc/minecraft", "PVC/config"]);
    let mut record = world.record().unwrap();
    if let opm_core::record::Content::Read(change) = &mut record.history[0].content {
        change.components = None;
        if let opm_core::record::Body::Here(inventory) = &mut change.inventory {
            inventory.entries.reverse();
        }
    }
    let plan = plan_delete(&record, PlanOptions::default()).unwrap();
    let kinds: Vec<&str> = plan
        .stale
        .iter()
        .map(|stale| stale.entry.identity.kind())
        .collect();
    assert_eq!(kinds, ["StatefulSet", "Service", "PersistentVolumeClaim"]);
}

#[test]
fn a_component_is_deleted_and_the_rest_recorded() {
    let mut world = World::default();
    world.apply(&["CM/a@app", "CM/b@cache", "PVC/c@cache"]);
    let uid = world.objects[&id("CM/a")].live.uid.clone();
    let ran = world.delete(Some("cache"), &Flags::default());
    assert_eq!(ran.pruned(), [id("CM/b")]);
    assert_eq!(world.kept()[&id("PVC/c")], "guard");
    let record = world.record().unwrap();
    assert_eq!(record.inventory().len(), 1);
    assert_eq!(
        record.inventory()[0].entry.uid.as_ref(),
        Some(&uid),
        "as it was"
    );
    assert_eq!(world.index().len(), 2, "recorded as a change");
    let record = world.record().unwrap();
    let error = plan_delete_component(&record, "nothing", PlanOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the release has no component named nothing"
    );
}

#[test]
fn deleting_a_component_leaves_what_is_pending_of_others() {
    let mut world = World::default();
    world.apply(&["CM/a@app", "CM/b@cache"]);
    world.broken.insert(id("SS/x"));
    world.apply(&["CM/a@app", "CM/b@cache", "CM/p@app", "SS/x@app"]);
    world.delete(Some("cache"), &Flags::default());
    assert!(world.pending().contains_key(&id("CM/p")));
    assert_eq!(world.apply(&["CM/a@app"]).pruned(), [id("CM/p")]);
}

#[test]
fn a_delete_with_failures_leaves_the_record_as_it_was() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    let inventory = world.inventory();
    world.undeletable.insert(id("CM/a"));
    assert!(matches!(world.delete(None, &Flags::default()), Ran::Stays));
    assert_eq!(world.inventory(), inventory);
    assert!(
        world.pending().is_empty(),
        "inventory and pending are disjoint"
    );
    assert_eq!(world.record().unwrap().lock, None);
    world.undeletable.clear();
    assert!(matches!(
        world.delete(None, &Flags::default()),
        Ran::Done { .. }
    ));
    assert!(world.objects.is_empty() && world.secret.is_none());
}

#[test]
fn a_delete_covers_inventory_pending_and_kept() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    let no_prune = PlanOptions {
        no_prune: true,
        ..PlanOptions::default()
    };
    let flags = Flags {
        plan: no_prune,
        ..Flags::default()
    };
    world.apply_with(&desired(&["CM/a"]), &flags);
    world.broken.insert(id("SS/x"));
    world.apply(&["CM/a", "CM/p", "SS/x"]);
    assert!(world.kept().contains_key(&id("CM/b")) && world.pending().contains_key(&id("CM/p")));
    world.delete(None, &Flags::default());
    assert!(world.objects.is_empty());
}

#[test]
fn kept_objects_go_when_they_are_named() {
    use opm_core::plan::{Occupants, plan_prune_kept};
    let mut world = World::default();
    world.apply(&["PVC/a", "NS/games", "CM/b"]);
    world.apply(&["CM/b"]);
    assert_eq!(world.kept().len(), 2);
    world
        .occupants
        .insert(id("NS/games"), Occupants::Known(vec![]));
    let record = world.record().unwrap();
    let plan = plan_prune_kept(&record, |id| id.name == "a", PlanOptions::default()).unwrap();
    let checked = world.check(plan, &Flags::default()).unwrap();
    let locked = world.begin(Some(record), checked, "prune", None);
    let applied = locked.finish(&Default::default()).unwrap();
    let (outcomes, pruned) = world.prune(applied.plan());
    let reconciled = applied.reconcile(&outcomes, world.now);
    let record = reconciled
        .release(&world.ended(opm_core::record::LogResult::Succeeded))
        .into_record();
    world.write(&record);
    assert_eq!(pruned, [id("PVC/a")], "being named, it needs no flag");
    assert_eq!(world.kept().len(), 1);
    assert_eq!(world.index().len(), 2, "no new change");
    assert_eq!(world.inventory().len(), 1);
}
