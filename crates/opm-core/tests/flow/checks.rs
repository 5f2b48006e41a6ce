//! Checks against what is really there: the ownership table, and what follows from it for
//! applying, pruning and deleting.

use opm_core::check::{
    Adopt, ApplyMethod, ApplyStep, CheckContext, LiveObject, Ownership, check, preview,
};
use opm_core::entry::Entry;
use opm_core::failure::FailureKind;
use opm_core::labels::OwnerLabels;
use opm_core::observation::Observation;
use opm_core::plan::{PlanOptions, plan};
use serde_json::json;

use crate::world::{
    Flags, OTHER, Ran, World, desired, forbidden, id, object, release, unreachable,
};

fn no_prune() -> Flags {
    let plan = PlanOptions {
        no_prune: true,
        ..PlanOptions::default()
    };
    Flags {
        plan,
        ..Flags::default()
    }
}

/// Every line of the table: label, uid, whether `opm` applied it, and whose it is.
#[test]
fn the_ownership_table() {
    let me = release().to_string();
    let labels = [Some(me.as_str()), Some(OTHER), None];
    let uids = [Some("u"), Some("v"), None];
    for label in labels {
        for recorded in uids {
            for applied_by_opm in [true, false] {
                let live = LiveObject {
                    uid: "u".into(),
                    owner: OwnerLabels {
                        id: label.map(str::to_owned),
                        ..OwnerLabels::default()
                    },
                    applied_by_opm,
                    ..LiveObject::default()
                };
                let whose = Ownership::of(&live, recorded, &release());
                let expected = match (label, recorded, applied_by_opm) {
                    (Some(OTHER), _, _) => "another's",
                    (Some(_), _, _) | (None, Some("u"), true) => "mine",
                    _ => "nobody's",
                };
                let found = match whose {
                    Ownership::Mine => "mine",
                    Ownership::OtherRelease(_) => "another's",
                    Ownership::Unowned => "nobody's",
                    Ownership::Shared { .. } => "shared",
                };
                assert_eq!(found, expected, "{label:?} {recorded:?} {applied_by_opm}");
                let step = ApplyStep {
                    entry: Entry::new(id("CM/a"), "v1", "app"),
                    shared: false,
                    shared_with: Vec::new(),
                    recorded_uid: recorded.map(str::to_owned),
                    takes_fields: false,
                    method: ApplyMethod::Update { uid: "u".into() },
                };
                let replaced = step.may_replace(&live, &release());
                assert_eq!(replaced, expected == "mine", "no delete by another table");
            }
        }
    }
}

/// Labels can be stripped; who applies an object as a shared one is known all the same.
#[test]
fn without_labels_the_field_managers_say_who_shares_an_object() {
    let managers = |names: &[String]| {
        let entries = names
            .iter()
            .map(|name| json!({"manager": name, "operation": "Apply"}));
        let entries: Vec<_> = entries.collect();
        json!({"metadata": {"uid": "u", "managedFields": entries}})
    };
    let (mine, other) = (format!("opm-{}", release()), format!("opm-{OTHER}"));
    let of = |names: &[String], recorded| {
        let object = managers(names);
        let live = LiveObject::read(object.as_object().unwrap(), &release());
        Ownership::of(&live, recorded, &release())
    };
    let shared = of(&[mine.clone(), other.clone()], Some("u"));
    let Ownership::Shared { mine: true, others } = shared else {
        panic!("it is {shared:?}");
    };
    assert_eq!(others[0].id, OTHER);
    assert_eq!(of(std::slice::from_ref(&mine), Some("u")), Ownership::Mine);
    assert_eq!(of(&[other], Some("u")), Ownership::Unowned);
    assert_eq!(of(&[mine, "opm-lock".into()], Some("u")), Ownership::Mine);
}

/// A server that tells no uid, and a record that has an empty one, do not match.
#[test]
fn an_empty_uid_is_no_uid() {
    let live = LiveObject {
        applied_by_opm: true,
        ..LiveObject::default()
    };
    assert_eq!(
        Ownership::of(&live, Some(""), &release()),
        Ownership::Unowned
    );
}

#[test]
fn a_live_object_is_read_from_its_metadata() {
    let object = json!({"metadata": {
        "uid": "u", "resourceVersion": "7", "deletionTimestamp": "2026-02-11T14:30:00Z",
        "labels": {"module-release.opmodel.dev/uuid": OTHER, "module-release.opmodel.dev/name": "o"},
        "annotations": {"opmodel.dev/prune": "false", "meta.helm.sh/release-name": "h",
            "meta.helm.sh/release-namespace": "n"},
        "ownerReferences": [{"uid": "x"}],
        "managedFields": [{"manager": "opm", "operation": "Apply"}]}});
    let live = LiveObject::read(object.as_object().unwrap(), &release());
    assert_eq!(
        (live.uid.as_str(), live.resource_version.as_str()),
        ("u", "7")
    );
    assert!(live.terminating && live.opted_out && live.owned && live.applied_by_opm);
    assert_eq!(live.helm.as_deref(), Some("n/h"));
    assert_eq!(live.owner.id.as_deref(), Some(OTHER));
    for (manager, operation, counts) in [
        ("opm", "Update", false),
        ("opm-lock", "Apply", false),
        (&*format!("opm-{}", release()), "Apply", true),
        (&*format!("opm-{OTHER}"), "Apply", false),
    ] {
        let object = json!({"metadata": {"managedFields": [
            {"manager": manager, "operation": operation}]}});
        let live = LiveObject::read(object.as_object().unwrap(), &release());
        assert_eq!(live.applied_by_opm, counts, "{manager} {operation}");
    }
}

#[test]
fn another_releases_object_is_refused_on_every_apply_and_taken_only_with_the_flag() {
    let mut world = World::default();
    world.apply(&["CM/a"]);
    let owner = &mut world.objects.get_mut(&id("CM/a")).unwrap().live.owner;
    owner.id = Some(OTHER.into());
    owner.release = Some("web".into());
    owner.namespace = Some("shop".into());
    let flags = Flags {
        adopt: Adopt::All,
        ..Flags::default()
    };
    let refusals = world.apply_with(&desired(&["CM/a"]), &flags).refusals();
    assert_eq!(
        refusals,
        [format!(
            "Resource ConfigMap/a in namespace default belongs to release web in namespace shop \
             (id {OTHER})"
        )]
    );
    let flags = Flags {
        take_ownership: true,
        ..Flags::default()
    };
    assert!(matches!(
        world.apply_with(&desired(&["CM/a"]), &flags),
        Ran::Done { .. }
    ));
    let owner = &world.objects[&id("CM/a")].live.owner;
    assert_eq!(owner.id, Some(release().to_string()));
}

#[test]
fn a_transferred_object_is_let_go_of() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.objects.get_mut(&id("CM/a")).unwrap().live.owner.id = Some(OTHER.into());
    let ran = world.apply(&["CM/b"]);
    assert!(ran.pruned().is_empty());
    assert!(world.has("CM/a"));
    assert!(
        world.pending().is_empty() && world.kept().is_empty(),
        "dropped everywhere"
    );
}

#[test]
fn helms_objects_are_adopted_by_name_only() {
    let mut world = World::default();
    world.put("CM/a").helm = Some("shop/web".into());
    for adopt in [
        Adopt::None,
        Adopt::All,
        Adopt::Named(vec!["CM/b".parse().unwrap()]),
    ] {
        let flags = Flags {
            adopt,
            ..Flags::default()
        };
        let refusals = world.apply_with(&desired(&["CM/a"]), &flags).refusals();
        assert_eq!(
            refusals,
            ["Resource ConfigMap/a in namespace default belongs to the Helm release shop/web"]
        );
    }
    let adopt = Adopt::Named(vec!["ConfigMap/a".parse().unwrap()]);
    let flags = Flags {
        adopt,
        ..Flags::default()
    };
    assert!(matches!(
        world.apply_with(&desired(&["CM/a"]), &flags),
        Ran::Done { .. }
    ));
    assert!(
        matches!(world.apply(&["CM/a"]), Ran::Done { .. }),
        "it is ours from then on"
    );
}

#[test]
fn untracked_is_checked_for_every_object_that_is_new_to_the_inventory() {
    let mut world = World::default();
    world.apply(&["CM/a"]);
    world.put("CM/b");
    assert_eq!(world.apply(&["CM/a", "CM/b"]).refusals().len(), 1);
    // And for one that was replaced by somebody else's object of the same name.
    world.objects.remove(&id("CM/a"));
    world.put("CM/a");
    assert_eq!(world.apply(&["CM/a", "CM/b"]).refusals().len(), 2);
    // A stripped label is no replacement: the uid is as recorded.
    let mut world = World::default();
    world.apply(&["CM/a"]);
    world.objects.get_mut(&id("CM/a")).unwrap().live.owner = OwnerLabels::default();
    assert!(matches!(world.apply(&["CM/a"]), Ran::Done { .. }));
}

/// Also where no release has its record yet: whoever takes its place keeps that release from
/// ever being applied.
#[test]
fn nothing_is_created_in_the_place_of_a_record() {
    let mut world = World::default();
    for name in [format!("opm.web.{OTHER}"), format!("opm.web.{OTHER}.07")] {
        let refusals = world.apply(&[&format!("Secret/{name}")]).refusals();
        assert!(
            refusals[0].contains("the record of a release"),
            "{name}: {refusals:?}"
        );
        let elsewhere = world.apply(&[&format!("CM/{name}")]);
        assert!(matches!(elsewhere, Ran::Done { .. }), "{name}");
    }
}

#[test]
fn a_replaced_object_is_not_pruned() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.objects.remove(&id("CM/a"));
    world.put("CM/a");
    let ran = world.apply(&["CM/b"]);
    assert!(ran.pruned().is_empty());
    assert_eq!(world.kept()[&id("CM/a")], "not-mine");
}

#[test]
fn refusals_have_a_kind() {
    let table = [
        (vec![forbidden("no")], FailureKind::NotPermitted),
        (vec![unreachable("down")], FailureKind::Unreachable),
        (
            vec![forbidden("no"), unreachable("down")],
            FailureKind::Refused,
        ),
    ];
    for (seen, kind) in table {
        let mut world = World::default();
        let names = ["CM/a", "CM/b"];
        for (name, seen) in names.iter().zip(seen) {
            world.hidden.insert(id(name), seen);
        }
        let Ran::Refused(refusals) = world.apply(&names) else {
            panic!("must be refused")
        };
        assert_eq!(refusals.kind(), kind);
    }
}

#[test]
fn an_object_that_nobody_looked_at_is_never_taken_for_absent() {
    let planned = plan(&desired(&["CM/a"]), None, PlanOptions::default()).unwrap();
    let checking = CheckContext {
        release: release(),
        adopt: Adopt::None,
        take_ownership: false,
        occupants: &Default::default(),
    };
    let refusals = check(planned, &Default::default(), &checking).unwrap_err();
    assert_eq!(refusals.kind(), FailureKind::Unreachable);
}

#[test]
fn opt_outs_are_read_off_the_live_object() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.objects.get_mut(&id("CM/a")).unwrap().live.opted_out = true;
    world.apply(&["CM/c"]);
    assert!(world.has("CM/a") && !world.has("CM/b"));
    assert_eq!(world.kept()[&id("CM/a")], "opt-out");
    // Delete covers kept objects, and the opt-out still holds.
    assert!(matches!(
        world.delete(None, &Flags::default()),
        Ran::Done { .. }
    ));
    assert!(world.has("CM/a") && world.record().unwrap().is_deleted());
    // It kept its label, so the next apply takes it up again.
    assert!(matches!(world.apply(&["CM/a"]), Ran::Done { .. }));
}

#[test]
fn no_prune_keeps_and_later_runs_do_not_retry_and_rendering_again_ends_it() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.apply_with(&desired(&["CM/b"]), &no_prune());
    assert_eq!(world.kept()[&id("CM/a")], "no-prune");
    world.apply(&["CM/b", "CM/c"]);
    assert!(world.has("CM/a"), "kept is not pending");
    world.apply(&["CM/a", "CM/b"]);
    assert!(world.kept().is_empty());
    assert!(world.inventory().contains(&id("CM/a")));
}

#[test]
fn a_kept_object_that_is_gone_leaves_kept() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.apply_with(&desired(&["CM/b"]), &no_prune());
    world.objects.remove(&id("CM/a"));
    world.apply(&["CM/b"]);
    assert!(world.kept().is_empty());
}

#[test]
fn a_kept_object_that_a_failed_apply_rendered_again_stays_kept() {
    let mut world = World::default();
    world.apply(&["CM/a", "CM/b"]);
    world.apply_with(&desired(&["CM/b"]), &no_prune());
    world.broken.insert(id("SS/x"));
    assert!(matches!(
        world.apply(&["CM/a", "CM/b", "SS/x"]),
        Ran::Partial
    ));
    world.broken.clear();
    world.apply(&["CM/b"]);
    assert!(
        world.has("CM/a"),
        "the failed attempt did not make it anybody's to delete"
    );
    assert_eq!(world.kept()[&id("CM/a")], "no-prune");
}

#[test]
fn a_failed_adoption_that_is_reverted_deletes_nothing_that_was_there_before() {
    for landed in [true, false] {
        let mut world = World::default();
        world.apply(&["CM/b"]);
        world.put("CM/a");
        let flags = Flags {
            adopt: Adopt::All,
            ..Flags::default()
        };
        let broken = if landed { "SS/x" } else { "CM/a" };
        world.broken.insert(id(broken));
        let attempt = desired(&["CM/a", "CM/b", "SS/x"]);
        assert!(matches!(world.apply_with(&attempt, &flags), Ran::Partial));
        assert_eq!(world.pending()[&id("CM/a")], ("adopt", false));
        // A second failed attempt, without the flag when the label is on it already.
        assert!(matches!(world.apply_with(&attempt, &flags), Ran::Partial));
        assert_eq!(world.pending()[&id("CM/a")].0, "adopt");
        world.broken.clear();
        world.apply(&["CM/b"]);
        assert!(world.has("CM/a"), "landed: {landed}");
        assert_eq!(world.kept()[&id("CM/a")], "not-mine");
        // Not even deleting the release does.
        world.delete(None, &Flags::default());
        assert!(world.has("CM/a"), "landed: {landed}");
    }
}

#[test]
fn shared_objects_are_left_to_the_others_and_deleted_by_the_last() {
    let mut shared = desired(&["CM/b"]);
    let mut role = object("Role/reader");
    role.shared = true;
    shared.objects.push(role);
    let mut world = World::default();
    world.put("Role/reader").owner.shared = vec![(OTHER.into(), "web".into())];
    assert!(
        matches!(
            world.apply_with(&shared, &Flags::default()),
            Ran::Done { .. }
        ),
        "joins"
    );
    assert_eq!(world.objects[&id("Role/reader")].live.owner.shared.len(), 2);
    let ran = world.apply(&["CM/b"]);
    assert!(ran.pruned().is_empty());
    let left = &world.objects[&id("Role/reader")].live.owner.shared;
    assert_eq!(left[..], [(OTHER.to_owned(), "web".to_owned())]);
    assert!(world.pending().is_empty() && world.kept().is_empty());

    let mut world = World::default();
    world.apply_with(&shared, &Flags::default());
    assert!(
        world.objects[&id("Role/reader")].live.owner.id.is_none(),
        "no uuid label"
    );
    assert_eq!(
        world.apply(&["CM/b"]).pruned(),
        [id("Role/reader")],
        "the last one out"
    );
}

#[test]
fn a_shared_object_is_not_rendered_for_one_release_alone() {
    let mut world = World::default();
    world.put("Role/reader").owner.shared = vec![(OTHER.into(), "web".into())];
    let refusals = world.apply(&["Role/reader"]).refusals();
    assert!(
        refusals[0].contains("is shared by release web"),
        "{refusals:?}"
    );
}

#[test]
fn a_job_that_completed_and_removed_itself_is_not_run_again() {
    use opm_core::digest::ObjectHash;
    let hash = |text: &str| Some(ObjectHash::of_bytes(text.as_bytes()));
    let module = |text: &str, expires| {
        let mut job = object("Job/migrate");
        job.entry.hash = hash(text);
        job.expires = expires;
        let mut module = desired(&["CM/a"]);
        module.objects.push(job);
        module
    };
    for (second, expires, runs_again) in
        [("v1", true, false), ("v2", true, true), ("v1", false, true)]
    {
        let mut world = World::default();
        world.apply_with(&module("v1", expires), &Flags::default());
        world.objects.remove(&id("Job/migrate"));
        let ran = world.apply_with(&module(second, expires), &Flags::default());
        assert!(matches!(ran, Ran::Done { .. }));
        assert_eq!(world.has("Job/migrate"), runs_again, "{second} {expires}");
        assert!(
            world.inventory().contains(&id("Job/migrate")),
            "not missing either"
        );
    }
}

/// A preview refuses what the check refuses, and shows everything else.
#[test]
fn a_preview_shows_what_is_not_refused() {
    let mut world = World::default();
    world.put("CM/theirs");
    world.put_mine("CM/mine");
    world.put("CM/going").terminating = true;
    let plan = plan(
        &desired(&["CM/theirs", "CM/mine", "CM/going", "CM/new"]),
        None,
        PlanOptions::default(),
    )
    .unwrap();
    let observed = plan
        .to_observe()
        .map(|entry| {
            let found = world.objects.get(&entry.identity);
            let seen = found.map_or(Observation::Absent, |thing| {
                Observation::Present(thing.live.clone())
            });
            (entry.identity.clone(), seen)
        })
        .collect();
    let occupants = std::collections::HashMap::new();
    let checking = CheckContext {
        release: release(),
        adopt: Adopt::None,
        take_ownership: false,
        occupants: &occupants,
    };
    let shown = preview(&plan, &observed, &checking);
    let applies: Vec<_> = shown.applies().map(|step| &step.entry.identity).collect();
    assert_eq!(applies, [&id("CM/mine"), &id("CM/new")]);
    let refused = check(plan, &observed, &checking).unwrap_err();
    assert_eq!(shown.refusals, refused.0);
    assert_eq!(shown.refusals.len(), 2);
}
