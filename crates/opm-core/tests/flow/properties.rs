//! What holds for any sequence of applies, failures and deletes.

use std::collections::{BTreeMap, BTreeSet};

use opm_core::digest::ObjectHash;
use opm_core::identity::Identity;
use opm_core::plan::{ComponentOrder, Desired, DesiredObject, PlanOptions, plan, plan_delete};
use opm_core::plan::{apply_order, is_custom};
use opm_core::record::{
    Body, Content, Extra, HistorySlot, KeptObject, KeptWhy, LogEntry, LogResult, PartLocation,
    PendingObject, PendingWhy, Record, RecordPart, RecordRef, Stored, Values, decode, encode,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::world::{Flags, Ran, World, lock, new_record, object};

const NAMES: [&str; 12] = [
    "CRD/foos.example.com",
    "NS/games",
    "NS/shop",
    "CM/a",
    "CM/b",
    "Secret/a",
    "PVC/a",
    "Svc/a",
    "SS/a",
    "Deploy/a",
    "Ing/a",
    "Foo/a",
];

fn components() -> Vec<ComponentOrder> {
    let order = |name: &str, after: &[&str]| ComponentOrder {
        name: name.into(),
        after: after.iter().map(|name| (*name).into()).collect(),
    };
    vec![
        order("db", &[]),
        order("app", &["db"]),
        order("web", &["app", "db"]),
    ]
}

/// Some of the objects, each in some component.
fn renders() -> impl Strategy<Value = Desired> {
    let some = subsequence(NAMES.to_vec(), 1..NAMES.len());
    some.prop_flat_map(|names| {
        let of = proptest::collection::vec(select(vec!["db", "app", "web"]), names.len());
        (Just(names), of)
    })
    .prop_map(|(names, of)| {
        let objects = names
            .iter()
            .zip(of)
            .map(|(n, component)| object(&format!("{n}@{component}")));
        Desired {
            components: components(),
            objects: objects.collect(),
        }
    })
}

fn identities(desired: &Desired) -> BTreeSet<Identity> {
    desired
        .objects
        .iter()
        .map(|object| object.entry.identity.clone())
        .collect()
}

fn allow_all() -> Flags {
    let plan = PlanOptions {
        allow_empty: true,
        ..PlanOptions::default()
    };
    Flags {
        plan,
        ..Flags::default()
    }
}

/// One thing that happens to a release.
#[derive(Debug, Clone)]
enum Happening {
    Apply(Desired),
    /// An apply during which this object cannot be applied.
    Fail(Desired, usize),
    /// An apply during which this object cannot be deleted.
    Denied(Desired, usize),
    NoPrune(Desired),
    /// Somebody deletes an object.
    Vanish(usize),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        renders().prop_map(Happening::Apply),
        (renders(), 0..NAMES.len()).prop_map(|(render, at)| Happening::Fail(render, at)),
        (renders(), 0..NAMES.len()).prop_map(|(render, at)| Happening::Denied(render, at)),
        renders().prop_map(Happening::NoPrune),
        (0..NAMES.len()).prop_map(Happening::Vanish),
    ];
    proptest::collection::vec(one, 1..8)
}

fn happen(world: &mut World, happening: &Happening) {
    let named = |at: &usize| crate::world::id(NAMES[*at]);
    match happening {
        Happening::Apply(render) => _ = world.apply_with(render, &allow_all()),
        Happening::Fail(render, at) => {
            world.broken.insert(named(at));
            world.apply_with(render, &allow_all());
            world.broken.clear();
        }
        Happening::Denied(render, at) => {
            world.undeletable.insert(named(at));
            world.apply_with(render, &allow_all());
            world.undeletable.clear();
        }
        Happening::NoPrune(render) => {
            let plan = PlanOptions {
                no_prune: true,
                ..PlanOptions::default()
            };
            world.apply_with(
                render,
                &Flags {
                    plan,
                    ..Flags::default()
                },
            );
        }
        Happening::Vanish(at) => _ = world.objects.remove(&named(at)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_component_rename_never_prunes(render in renders(), to in select(vec!["db", "app", "web"])) {
        let mut world = World::default();
        world.apply_with(&render, &allow_all());
        let mut renamed = render.clone();
        for object in &mut renamed.objects {
            object.entry.component = to.to_owned();
        }
        let record = world.record();
        let plan = plan(&renamed, record.as_ref(), PlanOptions::default()).unwrap();
        prop_assert!(plan.stale.is_empty());
        prop_assert!(world.apply_with(&renamed, &allow_all()).pruned().is_empty());
    }

    #[test]
    fn stale_and_current_never_share_an_object(before in happenings(), render in renders()) {
        let mut world = World::default();
        before.iter().for_each(|happening| happen(&mut world, happening));
        let plan = plan(&render, world.record().as_ref(), PlanOptions::default()).unwrap();
        let current = identities(&render);
        let stale: Vec<_> = plan.stale.iter().map(|stale| &stale.entry.identity).collect();
        prop_assert!(stale.iter().all(|identity| !current.contains(identity)));
        prop_assert_eq!(stale.iter().collect::<BTreeSet<_>>().len(), stale.len());
    }

    #[test]
    fn prune_order_is_the_reverse_of_apply_order_but_for_what_needs_others(render in renders()) {
        let mut world = World::default();
        world.apply_with(&render, &allow_all());
        let record = world.record().unwrap();
        let applied: Vec<_> =
            record.inventory().iter().map(|recorded| &recorded.entry.identity).collect();
        let plan = plan_delete(&record, PlanOptions::default()).unwrap();
        let order: Vec<_> = plan.stale.iter().map(|stale| &stale.entry.identity).collect();
        let departs = |identity: &Identity| match identity.kind() {
            _ if is_custom(&identity.group_kind) => 0,
            "CustomResourceDefinition" => 2,
            "Namespace" => 3,
            _ => 1,
        };
        let mut expected: Vec<_> = applied.iter().rev().copied().collect();
        expected.sort_by_key(|identity| departs(identity));
        prop_assert_eq!(order, expected);
    }

    #[test]
    fn within_a_stage_the_order_is_by_rank(render in renders()) {
        let mut flat = render;
        flat.components = vec![ComponentOrder::first("app")];
        flat.objects.iter_mut().for_each(|object| object.entry.component = "app".to_owned());
        let plan = plan(&flat, None, PlanOptions::default()).unwrap();
        let order: Vec<_> = plan.applies().map(|planned| &planned.object.entry.identity).collect();
        prop_assert!(order.is_sorted_by(|a, b| apply_order(a, b).is_lt()));
    }

    /// Whatever has happened, a successful apply leaves nothing pending, and everything that is
    /// alive is in the inventory or was kept on purpose.
    #[test]
    fn no_object_is_ever_alive_and_forgotten(before in happenings(), last in renders()) {
        let mut world = World::default();
        for happening in &before {
            happen(&mut world, happening);
            let known = known(&world);
            let forgotten: Vec<_> =
                world.objects.keys().filter(|identity| !known.contains(identity)).collect();
            prop_assert!(forgotten.is_empty(), "{:?} after {:?}", forgotten, happening);
        }
        let ran = world.apply_with(&last, &allow_all());
        prop_assert!(matches!(ran, Ran::Done { unpruned: false, .. }), "{ran:?}");
        prop_assert!(world.pending().is_empty());
        let inventory = world.inventory();
        prop_assert_eq!(&inventory, &identities(&last));
        let kept = world.kept();
        for identity in world.objects.keys() {
            prop_assert!(inventory.contains(identity) || kept.contains_key(identity));
        }
        prop_assert!(kept.keys().all(|identity| !inventory.contains(identity)), "disjoint");
    }

    #[test]
    fn two_failed_applies_and_a_success_leave_nothing_pending(
        renders in proptest::collection::vec(renders(), 3),
        failing in proptest::collection::vec(0..NAMES.len(), 2),
    ) {
        let mut world = World::default();
        for (render, at) in renders.iter().zip(failing) {
            happen(&mut world, &Happening::Fail(render.clone(), at));
        }
        let ran = world.apply_with(&renders[2], &allow_all());
        let done = matches!(ran, Ran::Done { unpruned: false, .. });
        prop_assert!(done);
        prop_assert!(world.pending().is_empty());
        let guarded = |id: &Identity| world.kept().contains_key(id);
        for identity in world.objects.keys() {
            prop_assert!(identities(&renders[2]).contains(identity) || guarded(identity));
        }
    }

    #[test]
    fn a_failed_apply_changes_neither_index_nor_inventory(
        first in renders(), second in renders(), at in 0..NAMES.len(),
    ) {
        let mut world = World::default();
        world.apply_with(&first, &allow_all());
        let (index, inventory) = (world.index(), world.inventory());
        world.broken.insert(crate::world::id(NAMES[at]));
        if matches!(world.apply_with(&second, &allow_all()), Ran::Partial) {
            prop_assert_eq!(world.index(), index);
            prop_assert_eq!(world.inventory(), inventory);
        }
    }

    #[test]
    fn decode_is_the_inverse_of_encode(record in records()) {
        let Stored::Writable(read) = decode(&encode(&record)).unwrap().stored else {
            panic!("must be writable");
        };
        prop_assert_eq!(read, record);
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(
        key in select(vec!["metadata", "index", "change-sha1-1", "pending", "kept", "lock", "log"]),
        text in "[\\PC]{0,60}",
        cut in 0.0..1.0_f64,
    ) {
        let mut secret = encode(&example());
        let bytes = secret.data.get(key).cloned().unwrap_or_default();
        let at = (bytes.len() as f64 * cut) as usize;
        let mut broken = bytes[..at].to_vec();
        broken.extend(text.bytes());
        secret.data.insert(key.to_owned(), broken);
        let _ = decode(&secret);
    }
}

fn known(world: &World) -> BTreeSet<Identity> {
    let pending = world.pending();
    let kept = world.kept();
    world
        .inventory()
        .into_iter()
        .chain(pending.into_keys())
        .chain(kept.into_keys())
        .collect()
}

fn example() -> Record {
    let mut world = World::default();
    world.apply(&["CM/a", "PVC/b"]);
    world.apply(&["CM/a"]);
    world.broken.insert(crate::world::id("SS/x"));
    world.apply(&["CM/a", "CM/c", "SS/x"]);
    let mut record = world.record().unwrap();
    record.lock = Some(lock("l", "apply"));
    record
}

prop_compose! {
    fn extra()(fields in proptest::collection::btree_map("x-[a-z]{1,3}", any::<i64>(), 0..2)) -> Extra {
        Extra(fields.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

prop_compose! {
    fn entry()(
        name in select(NAMES.to_vec()),
        component in "[a-z ]{0,5}",
        uid in proptest::option::of("[a-f0-9]{4}"),
        hash in proptest::option::of("[a-z]{1,9}"),
    ) -> opm_core::entry::Entry {
        let DesiredObject { entry, .. } = object(name);
        let hash = hash.map(|text| ObjectHash::of_bytes(text.as_bytes()));
        opm_core::entry::Entry { component, uid, hash, ..entry }
    }
}

prop_compose! {
    fn pending()(
        entry in entry(), why in select(PendingWhy::ALL.to_vec()), change in ".{0,9}",
        since in ".{0,9}", reason in proptest::option::of(".{0,20}"), late in any::<bool>(),
        extra in extra(),
    ) -> PendingObject {
        PendingObject { entry, why, change, since, reason, late, extra }
    }
}

prop_compose! {
    fn kept()(
        entry in entry(), why in select(KeptWhy::ALL.to_vec()), change in ".{0,9}",
        since in ".{0,9}", reason in proptest::option::of(".{0,20}"), extra in extra(),
    ) -> KeptObject {
        KeptObject { entry, why, change, since, reason, extra }
    }
}

prop_compose! {
    fn slots()(
        id in "change-sha1-[0-9a-f]{8}",
        entries in proptest::collection::vec((entry(), extra()), 0..4),
        values in ".{0,30}",
        version in proptest::option::of("[0-9]\\.[0-9]"),
        components in proptest::option::of(proptest::collection::vec("[a-z]{1,4}", 0..3)),
        places in proptest::collection::btree_map(
            select(RecordPart::ALL.to_vec()), (proptest::collection::vec(0..64_u8, 1..3), any::<u32>()), 0..3),
        extra in extra(),
    ) -> HistorySlot {
        let mut world = World::default();
        world.apply(&["CM/a"]);
        let Content::Read(mut change) = world.record().unwrap().history.remove(0).content else {
            panic!("must be readable");
        };
        change.id = id.clone();
        change.values = Body::Here(Values(values));
        change.module.version = version;
        change.components = components;
        change.extra = extra;
        let entries = entries.into_iter()
            .map(|(entry, extra)| opm_core::record::RecordedEntry { entry, extra });
        change.inventory = Body::Here(opm_core::record::Inventory {
            entries: entries.collect(), extra: Extra::default(),
        });
        let parts = places.into_iter()
            .map(|(part, (places, bytes))| (part, PartLocation {
                hash: Some(ObjectHash::of_bytes(&places)), places, bytes: bytes.into(),
            }));
        change.record = Some(RecordRef { parts: parts.collect(), ..RecordRef::default() });
        HistorySlot { id, content: Content::Read(change) }
    }
}

prop_compose! {
    fn records()(
        history in proptest::collection::vec(slots(), 0..3),
        pending in proptest::collection::vec(pending(), 0..4),
        kept in proptest::collection::vec(kept(), 0..4),
        until in proptest::option::of(Just("2026-02-11T14:30:00Z".to_owned())),
        locked in any::<bool>(),
        results in proptest::collection::vec("[a-z-]{1,9}", 0..3),
        extra in extra(),
        unknown in proptest::collection::btree_map("z[a-z]{1,5}", proptest::collection::vec(any::<u8>(), 0..9), 0..2),
    ) -> Record {
        let mut record = new_record();
        record.metadata.extra = extra;
        let mut seen = BTreeSet::new();
        record.history = history.into_iter().filter(|slot| seen.insert(slot.id.clone())).collect();
        let mut seen = BTreeSet::new();
        let pending = pending.into_iter().filter(|o| seen.insert(o.entry.identity.clone()));
        record.pending = opm_core::record::Pending::from(pending.collect::<Vec<_>>());
        record.pending.until = until;
        record.kept.objects =
            kept.into_iter().filter(|o| seen.insert(o.entry.identity.clone())).collect();
        record.lock = locked.then(|| lock("l", "apply"));
        record.log = results.into_iter().map(log_entry).collect();
        record.unknown = unknown;
        record
    }
}

fn log_entry(result: String) -> LogEntry {
    LogEntry {
        number: Some(3),
        id: "l".into(),
        command: "apply".into(),
        time: String::new(),
        seconds: 3,
        who: "me".into(),
        from: String::new(),
        opm: "0.1.0".into(),
        message: None,
        change: None,
        module: None,
        values: None,
        components: None,
        record: None,
        result: LogResult::from_word(&result),
        reason: None,
        counts: BTreeMap::from([(result, 1)]),
        extra: Extra::default(),
    }
}
