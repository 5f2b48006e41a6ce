//! What the server has to permit for a plan to be carried out, and what it says it permits.
//!
//! Rules are a first guess: an authorizer need not tell all of them. So what no rule grants is
//! asked about one by one before anything is refused; whoever carries this out asks.

mod least;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::check::{ApplyMethod, ApplyStep, HookMethod, HookStep, Refusal, RefusalReason};
use crate::identity::{GroupKind, Identity};

pub use least::{PermittedWork, ResourceRule, least, of_refusal, rules_of};

/// One thing that may be done to objects of a resource, in a namespace or in the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ResourceRight {
    /// What is done: `create`, `patch`, `update` or `delete`.
    pub verb: &'static str,
    /// The API group.
    pub group: String,
    /// The plural of the kind.
    pub resource: String,
    /// The namespace; none for what belongs to the whole cluster.
    pub namespace: Option<String>,
}

impl fmt::Display for ResourceRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// Rights, and the objects for which each is needed.
pub type NeededRights = BTreeMap<ResourceRight, BTreeSet<Identity>>;

/// What a kind is called in rights: its group and its plural.
pub type Plurals = BTreeMap<GroupKind, String>;

/// One rule of what somebody may do. `*` stands for everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRule {
    /// What may be done.
    pub verbs: Vec<String>,
    /// In which API groups.
    pub groups: Vec<String>,
    /// To which resources.
    pub resources: Vec<String>,
    /// Only to objects of these names; none means to all.
    pub names: Vec<String>,
}

impl AccessRule {
    /// Whether it permits this for an object of this name.
    fn grants(&self, right: &ResourceRight, name: &str) -> bool {
        let has = |list: &[String], wanted: &str| {
            list.iter().any(|listed| listed == "*" || listed == wanted)
        };
        has(&self.verbs, right.verb)
            && has(&self.groups, &right.group)
            && has(&self.resources, &right.resource)
            && (self.names.is_empty() || self.names.iter().any(|listed| listed == name))
    }
}

/// What is left to ask about: what no rule of its namespace grants, and everything that belongs
/// to the whole cluster. Namespaces whose rules are not known are left to the server.
pub fn unconfirmed(
    needed: NeededRights,
    rules: &BTreeMap<String, Vec<AccessRule>>,
) -> NeededRights {
    let mut left = NeededRights::new();
    for (right, objects) in needed {
        let rules = match &right.namespace {
            None => &[][..],
            Some(namespace) => match rules.get(namespace) {
                Some(rules) => rules.as_slice(),
                None => continue,
            },
        };
        let granted =
            |object: &Identity| rules.iter().any(|rule| rule.grants(&right, &object.name));
        let objects: BTreeSet<Identity> = objects.into_iter().filter(|o| !granted(o)).collect();
        if !objects.is_empty() {
            left.insert(right, objects);
        }
    }
    left
}

/// What applying these objects needs. An apply that creates is asked for both. Kinds of which
/// nobody knows the plural are left to the server.
pub fn to_apply<'a>(
    steps: impl IntoIterator<Item = &'a ApplyStep>,
    recreated: &BTreeSet<Identity>,
    plurals: &Plurals,
) -> NeededRights {
    let mut needed = NeededRights::new();
    for step in steps {
        let identity = &step.entry.identity;
        let verbs: &[&'static str] = match &step.method {
            ApplyMethod::Completed => &[],
            ApplyMethod::Create => &["create", "patch"],
            _ if recreated.contains(identity) => &["create", "delete", "patch"],
            _ => &["patch"],
        };
        for verb in verbs {
            need(&mut needed, verb, identity, plurals);
        }
    }
    needed
}

/// What making these hooks needs, and taking away those that do not stay.
pub fn to_hook<'a>(
    steps: impl IntoIterator<Item = &'a HookStep>,
    plurals: &Plurals,
) -> NeededRights {
    let mut needed = NeededRights::new();
    for step in steps {
        let goes = step.delete.succeeded || step.delete.failed;
        let verbs: &[&'static str] = match (&step.method, goes) {
            (HookMethod::Replace(_), _) | (HookMethod::Create, true) => {
                &["create", "delete", "patch"]
            }
            (HookMethod::Create, false) => &["create", "patch"],
            (HookMethod::Keep(_), true) => &["delete", "patch"],
            (HookMethod::Keep(_), false) => &["patch"],
        };
        for verb in verbs {
            need(&mut needed, verb, &step.entry.identity, plurals);
        }
    }
    needed
}

/// What creating an object by an apply needs.
pub fn to_create(object: &Identity, plurals: &Plurals) -> NeededRights {
    let mut needed = NeededRights::new();
    for verb in ["create", "patch"] {
        need(&mut needed, verb, object, plurals);
    }
    needed
}

/// What writing a release's record needs, which is there already or not.
pub fn to_record(secret: &Identity, exists: bool) -> NeededRights {
    let mut needed = NeededRights::new();
    let plurals = Plurals::from([(secret.group_kind.clone(), "secrets".to_owned())]);
    let verbs: &[&'static str] = match exists {
        true => &["patch", "update"],
        false => &["create", "patch", "update"],
    };
    for verb in verbs {
        need(&mut needed, verb, secret, &plurals);
    }
    needed
}

fn need(needed: &mut NeededRights, verb: &'static str, object: &Identity, plurals: &Plurals) {
    let Some(plural) = plurals.get(&object.group_kind) else {
        return;
    };
    let right = ResourceRight {
        verb,
        group: object.group().to_owned(),
        resource: plural.clone(),
        namespace: object.namespace.clone(),
    };
    needed.entry(right).or_default().insert(object.clone());
}

/// The reasons to refuse, given what the server does not permit.
pub fn refusals(missing: NeededRights) -> Vec<Refusal> {
    let missing = missing.into_iter();
    missing
        .map(|(right, objects)| Refusal {
            object: None,
            why: RefusalReason::MissingRight {
                right,
                objects: objects.into_iter().collect(),
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{HookObject, Refusals};
    use crate::entry::Entry;
    use crate::failure::FailureKind;
    use crate::hook::{DeletePolicy, HookEvent};

    fn object(kind: &str, namespace: Option<&str>, name: &str) -> Identity {
        let kind = GroupKind::new("", kind);
        Identity::new(kind, namespace, name)
    }

    fn step(identity: Identity, method: ApplyMethod) -> ApplyStep {
        ApplyStep {
            entry: Entry::new(identity, "v1", "app"),
            shared: false,
            shared_with: Vec::new(),
            recorded_uid: None,
            takes_fields: false,
            method,
        }
    }

    #[test]
    fn hooks_need_what_making_and_removing_them_takes() {
        let plurals = Plurals::from([(GroupKind::new("", "ConfigMap"), "configmaps".to_owned())]);
        let object_there = || HookObject {
            uid: "1".to_owned(),
            resource_version: "2".to_owned(),
        };
        for (method, goes, expected) in [
            (HookMethod::Create, false, &["create", "patch"][..]),
            (HookMethod::Create, true, &["create", "delete", "patch"]),
            (
                HookMethod::Replace(object_there()),
                false,
                &["create", "delete", "patch"],
            ),
            (HookMethod::Keep(object_there()), false, &["patch"]),
            (HookMethod::Keep(object_there()), true, &["delete", "patch"]),
        ] {
            let step = HookStep {
                entry: Entry::new(object("ConfigMap", Some("a"), "hook"), "v1", "app"),
                event: HookEvent::PreInstall,
                delete: DeletePolicy {
                    succeeded: goes,
                    failed: false,
                },
                method,
            };
            let needed = to_hook([&step], &plurals);
            let verbs: Vec<&str> = needed.keys().map(|right| right.verb).collect();
            assert_eq!(verbs, expected, "{step:?}");
        }
    }

    fn words(needed: &NeededRights) -> Vec<String> {
        needed.keys().map(ToString::to_string).collect()
    }

    fn plurals() -> Plurals {
        let of = |kind: &str, plural: &str| (GroupKind::new("", kind), plural.to_owned());
        Plurals::from([
            of("ConfigMap", "configmaps"),
            of("Namespace", "namespaces"),
            of("Secret", "secrets"),
        ])
    }

    #[test]
    fn what_each_way_of_sending_needs() {
        let uid = || "u".to_owned();
        let config = |name: &str| object("ConfigMap", Some("games"), name);
        let steps = [
            step(config("new"), ApplyMethod::Create),
            step(config("old"), ApplyMethod::Update { uid: uid() }),
            step(config("again"), ApplyMethod::Update { uid: uid() }),
            step(config("done"), ApplyMethod::Completed),
            step(object("Namespace", None, "games"), ApplyMethod::Create),
            step(object("Unknown", None, "x"), ApplyMethod::Create),
        ];
        let recreated = BTreeSet::from([config("again")]);
        let needed = to_apply(&steps, &recreated, &plurals());
        let expected = [
            "create configmaps in namespace games",
            "create namespaces",
            "delete configmaps in namespace games",
            "patch configmaps in namespace games",
            "patch namespaces",
        ];
        let mut found = words(&needed);
        found.sort();
        assert_eq!(found, expected);
        let patched = needed.iter().find(|(right, _)| right.verb == "patch");
        assert_eq!(patched.unwrap().1.len(), 3, "a completed Job needs nothing");
    }

    #[test]
    fn rules_are_a_first_guess() {
        let rule = |verbs: &[&str], resources: &[&str], names: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
            AccessRule {
                verbs: owned(verbs),
                groups: owned(&[""]),
                resources: owned(resources),
                names: owned(names),
            }
        };
        let record = object("Secret", Some("games"), "opm.web");
        let table = [
            ("everything", rule(&["*"], &["*"], &[]), vec![]),
            (
                "its name",
                rule(&["patch", "update"], &["secrets"], &["opm.web"]),
                vec![],
            ),
            (
                "another name",
                rule(&["patch", "update"], &["secrets"], &["opm.db"]),
                vec![
                    "patch secrets in namespace games",
                    "update secrets in namespace games",
                ],
            ),
            (
                "one verb",
                rule(&["patch"], &["secrets"], &[]),
                vec!["update secrets in namespace games"],
            ),
            (
                "another resource",
                rule(&["*"], &["configmaps"], &[]),
                vec![
                    "patch secrets in namespace games",
                    "update secrets in namespace games",
                ],
            ),
        ];
        for (what, rule, expected) in table {
            let rules = BTreeMap::from([("games".to_owned(), vec![rule])]);
            let left = unconfirmed(to_record(&record, true), &rules);
            assert_eq!(words(&left), expected, "{what}");
        }
        let nothing_known = BTreeMap::new();
        assert!(unconfirmed(to_record(&record, false), &nothing_known).is_empty());
        let cluster = [step(object("Namespace", None, "x"), ApplyMethod::Create)];
        let everything = BTreeMap::from([("x".to_owned(), vec![rule(&["*"], &["*"], &[])])]);
        let left = unconfirmed(
            to_apply(&cluster, &BTreeSet::new(), &plurals()),
            &everything,
        );
        assert_eq!(
            left.len(),
            2,
            "a namespace's rules say nothing of the cluster"
        );
    }

    #[test]
    fn a_missing_right_is_told_with_what_needs_it() {
        let record = object("Secret", Some("games"), "opm.web");
        let missing = refusals(to_record(&record, false));
        assert_eq!(missing.len(), 3);
        assert_eq!(
            missing[0].message(),
            "the right to create secrets in namespace games is missing, for Secret/opm.web in namespace games"
        );
        assert_eq!(Refusals(missing).kind(), FailureKind::NotPermitted);
    }
}
