//! When an apply is refused because it looks like another module of the same name.

use opm_core::check::RefusalReason;
use opm_core::name::{ModuleName, ModulePath};
use opm_core::plan::{Plan, PlanOptions, plan};
use opm_core::record::Record;
use opm_core::rendered::Module;

use crate::world::{Flags, World, desired, id};

fn module(path: Option<&str>, origin: Option<&str>) -> Module {
    let name = ModuleName::new("web").unwrap();
    Module {
        path: match path {
            Some(path) => ModulePath::new(path).unwrap(),
            None => ModulePath::local(&name),
        },
        origin: origin.map(str::to_owned),
        ..Module::local(name)
    }
}

/// A release of two objects from the directory `here`, and one that is pending if asked for.
fn recorded(origin: Option<&str>) -> (World, Record) {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    let mut record = world.record().unwrap();
    if let opm_core::record::Content::Read(change) = &mut record.history[0].content {
        change.module.origin = origin.map(str::to_owned);
    }
    (world, record)
}

fn planned(record: &Record, objects: &[&str], module: &Module, options: PlanOptions) -> Plan {
    plan(&desired(objects), Some(record), options)
        .unwrap()
        .of_module(module, record)
}

#[test]
fn another_module_of_the_same_name_is_refused() {
    let (here, there) = (Some("aaaaaaaa"), Some("bbbbbbbb"));
    let path = Some("example.com/web@v0");
    for (what, recorded_from, objects, path, origin, refused) in [
        (
            "another directory",
            here,
            &["CM/x", "CM/y"][..],
            None,
            there,
            true,
        ),
        ("an unknown one", here, &["CM/x"], None, None, true),
        ("a record without one", None, &["CM/x"], None, there, true),
        ("nothing is known", None, &["CM/x"], None, None, true),
        ("the same directory", here, &["CM/x"], None, here, false),
        (
            "something stays",
            here,
            &["CM/a", "CM/x"],
            None,
            there,
            false,
        ),
        (
            "another kind of that name",
            here,
            &["PVC/a"],
            None,
            there,
            true,
        ),
        ("nothing is rendered", here, &[], None, there, false),
        ("it declares a path", here, &["CM/x"], path, there, false),
    ] {
        let (_, record) = recorded(recorded_from);
        let plan = planned(
            &record,
            objects,
            &module(path, origin),
            PlanOptions::default(),
        );
        assert_eq!(plan.replaces_all(), refused, "{what}");
    }
}

/// Where no module file says which module it is, what comes from another place removes nothing.
#[test]
fn what_is_undeclared_and_from_elsewhere_removes_nothing() {
    let (here, there) = (Some("aaaaaaaa"), Some("bbbbbbbb"));
    for (what, recorded_from, objects, origin, refused) in [
        (
            "something would go",
            here,
            &["CM/a", "CM/x"][..],
            there,
            true,
        ),
        (
            "nothing would go",
            here,
            &["CM/a", "CM/b", "CM/x"],
            there,
            false,
        ),
        ("the same place", here, &["CM/x"], here, false),
        ("its place is not known", here, &["CM/a"], None, false),
        ("nothing stays", here, &["CM/x"], None, true),
        ("a record without a place", None, &["CM/a"], there, false),
    ] {
        let (_, record) = recorded(recorded_from);
        let undeclared = Module {
            undeclared: true,
            charts: Default::default(),
            ..module(None, origin)
        };
        let plan = planned(&record, objects, &undeclared, PlanOptions::default());
        assert_eq!(plan.replaces_all(), refused, "{what}");
    }
}

#[test]
fn a_move_to_another_namespace_is_no_other_module() {
    let (_, mut record) = recorded(Some("aaaaaaaa"));
    if let opm_core::record::Content::Read(change) = &mut record.history[0].content {
        let inventory = match &mut change.inventory {
            opm_core::record::Body::Here(inventory) => inventory,
            opm_core::record::Body::InRecord => panic!("it is here"),
        };
        for recorded in &mut inventory.entries {
            recorded.entry.identity.namespace = Some("elsewhere".to_owned());
        }
    }
    let there = module(None, Some("bbbbbbbb"));
    let plan = planned(&record, &["CM/a", "CM/b"], &there, PlanOptions::default());
    assert_eq!(plan.stale.len(), 2);
    assert!(!plan.replaces_all());
}

#[test]
fn a_first_apply_and_what_is_deleted_are_not_touched() {
    let there = module(None, Some("bbbbbbbb"));
    let mut world = World::default();
    world.broken.insert(id("CM/b"));
    world.apply(&["CM/a", "CM/b"]);
    let record = world.record().unwrap();
    assert!(!record.pending.objects().is_empty() && record.current().is_none());
    assert!(!planned(&record, &["CM/x"], &there, PlanOptions::default()).replaces_all());

    let mut world = World::default();
    world.apply(&["CM/a", "PVC/data"]);
    world.delete(None, &Flags::default());
    let record = world.record().unwrap();
    assert!(!planned(&record, &["CM/x"], &there, PlanOptions::default()).replaces_all());
}

#[test]
fn the_refusal_says_what_would_go_and_its_option_lifts_it() {
    let (world, record) = recorded(Some("aaaaaaaa"));
    let there = module(None, Some("bbbbbbbb"));
    let plan = planned(&record, &["CM/x"], &there, PlanOptions::default());
    let refusals = world.check(plan, &Flags::default()).unwrap_err();
    let [refusal] = refusals.0.as_slice() else {
        panic!("{refusals}")
    };
    let RefusalReason::AnotherModule(going) = &refusal.why else {
        panic!("{refusal}")
    };
    assert_eq!(going.len(), 2);
    assert!(
        refusal.message().contains("another module") && refusal.message().contains("ConfigMap/a")
    );
    for options in [
        PlanOptions {
            replace_all: true,
            ..PlanOptions::default()
        },
        PlanOptions {
            no_prune: true,
            ..PlanOptions::default()
        },
    ] {
        let plan = planned(&record, &["CM/x"], &there, options);
        assert!(world.check(plan, &Flags::default()).is_ok());
    }
}
