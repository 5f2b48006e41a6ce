//! What may be adopted, and which objects take the fields of retired tools along.

use std::collections::HashMap;

use opm_core::check::{Adopt, AdoptSelector, CheckContext, HelmRelease, check};
use opm_core::entry::Entry;
use opm_core::observation::Observation;
use opm_core::plan::{PlanOptions, plan};
use opm_core::record::{Body, Extra, KeptObject, KeptWhy, PendingObject, PendingWhy, Record};

use crate::world::{Flags, OTHER, Ran, World, desired, id, new_record, release};

#[test]
fn a_helm_release_is_adopted_as_a_whole() {
    let of = |namespace: &str, name: &str| HelmRelease {
        namespace: namespace.into(),
        name: name.into(),
    };
    let mut world = World::default();
    for (object, release) in [("CM/a", of("shop", "web")), ("CM/b", of("shop", "other"))] {
        let live = world.put(object);
        live.helm = Some(release.to_string());
        live.helm_release = Some(release);
    }
    // Marked by annotations alone, which Helm itself would not take for its own.
    world.put("CM/c").helm = Some("shop/web".into());
    for (selector, refused) in [
        ("helm/web", vec!["b", "c"]),
        ("helm/shop/web", vec!["b", "c"]),
        ("helm/shop/other", vec!["a", "c"]),
        ("helm/elsewhere/web", vec!["a", "b", "c"]),
    ] {
        let adopt = Adopt::Named(vec![selector.parse().unwrap()]);
        let flags = Flags {
            adopt: adopt.in_namespace("shop"),
            ..Flags::default()
        };
        let found = world
            .apply_with(&desired(&["CM/a", "CM/b", "CM/c"]), &flags)
            .refusals();
        assert_eq!(found.len(), refused.len(), "{selector}: {found:?}");
        for (found, name) in found.iter().zip(refused) {
            assert!(found.contains(&format!("ConfigMap/{name}")), "{found}");
        }
    }
    for wrong in ["helm/", "helm//x", "helm/a/b/c", "helm"] {
        assert!(wrong.parse::<AdoptSelector>().is_err(), "{wrong}");
    }
}

#[test]
fn what_took_the_place_of_an_object_and_was_half_adopted_is_not_deleted() {
    let replaced = || {
        let mut world = World::default();
        world.apply(&["CM/a", "CM/b"]);
        world.objects.remove(&id("CM/a"));
        world.put("CM/a");
        let flags = Flags {
            adopt: Adopt::All,
            ..Flags::default()
        };
        world.broken.insert(id("SS/x"));
        let attempt = desired(&["CM/a", "CM/b", "SS/x"]);
        assert!(matches!(world.apply_with(&attempt, &flags), Ran::Partial));
        assert_eq!(world.pending()[&id("CM/a")], ("adopt", false));
        world.broken.clear();
        world
    };
    let mut world = replaced();
    assert_eq!(world.apply(&["CM/b"]).pruned(), []);
    assert!(world.has("CM/a"));
    assert_eq!(world.kept()[&id("CM/a")], "not-mine");
    let mut world = replaced();
    world.delete(None, &Flags::default());
    assert!(world.has("CM/a") && !world.has("CM/b"));
    // Once an adoption is recorded, the object is the release's like any other.
    let mut world = replaced();
    world.apply(&["CM/a", "CM/b"]);
    assert!(!world.pending().contains_key(&id("CM/a")));
    assert_eq!(world.apply(&["CM/b"]).pruned(), [id("CM/a")]);
}

fn pending(why: PendingWhy) -> Record {
    let mut record = new_record();
    record.pending.objects = Body::Here(vec![PendingObject {
        entry: Entry::new(id("CM/a"), "v1", "app"),
        why,
        change: String::new(),
        since: String::new(),
        reason: None,
        late: false,
        extra: Extra::default(),
    }]);
    record
}

fn kept(why: KeptWhy) -> Record {
    let mut record = new_record();
    record.kept.objects = vec![KeptObject {
        entry: Entry::new(id("CM/a"), "v1", "app"),
        why,
        change: String::new(),
        since: String::new(),
        reason: None,
        extra: Extra::default(),
    }];
    record
}

/// Whose the live object is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Whose {
    Mine,
    Nobodys,
    Anothers,
}

#[test]
fn fields_come_along_with_an_adoption_and_until_it_is_done() {
    use Whose::{Anothers, Mine, Nobodys};
    let named = |selector: &str| Adopt::Named(vec![selector.parse().unwrap()]);
    let table = [
        (None, Nobodys, Adopt::All, true),
        (None, Nobodys, named("ConfigMap/a"), true),
        (None, Anothers, Adopt::None, true),
        // The label is on already: a run was cut short.
        (Some(pending(PendingWhy::Adopt)), Mine, Adopt::None, true),
        (Some(pending(PendingWhy::Take)), Mine, Adopt::None, true),
        (Some(kept(KeptWhy::NotMine)), Mine, Adopt::None, true),
        // What the release made itself is not taken over from anybody.
        (Some(pending(PendingWhy::Create)), Mine, Adopt::None, false),
        (Some(pending(PendingWhy::Repair)), Mine, Adopt::None, false),
        (Some(kept(KeptWhy::Guard)), Mine, Adopt::None, false),
        (None, Mine, Adopt::None, false),
        (None, Mine, Adopt::All, false),
        // Unless somebody names it.
        (None, Mine, named("ConfigMap/a"), true),
        (None, Mine, named("ConfigMap/b"), false),
        (None, Mine, named("helm/web"), false),
    ];
    for (record, whose, adopt, takes) in table {
        let mut world = World::default();
        match whose {
            Mine => drop(world.put_mine("CM/a").clone()),
            Nobodys => drop(world.put("CM/a").clone()),
            Anothers => world.put("CM/a").owner.id = Some(OTHER.into()),
        }
        let case = format!("{whose:?}, {adopt:?}, {:?}", record.is_some());
        let plan = plan(&desired(&["CM/a"]), record.as_ref(), PlanOptions::default()).unwrap();
        let live = world.objects[&id("CM/a")].live.clone();
        let observed = HashMap::from([(id("CM/a"), Observation::Present(live))]);
        let checking = CheckContext {
            release: release(),
            adopt,
            take_ownership: true,
            occupants: &HashMap::new(),
        };
        let checked = check(plan, &observed, &checking).unwrap();
        let step = checked.applies().next().unwrap();
        assert_eq!(step.takes_fields, takes, "{case}");
    }
}
