//! The fewest rules that permit a piece of work on a release, object by object, and the rule that
//! the server's own words say is missing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Plurals, ResourceRight};
use crate::candidate::Candidate;
use crate::hook::{Hook, HookFlow};
use crate::identity::{GroupKind, Identity};
use crate::manifest::Manifest;

const RBAC: &str = "rbac.authorization.k8s.io";

/// What somebody is to be permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermittedWork {
    /// Apply the module, and prune what a later version of it leaves out.
    Apply,
    /// Delete the release.
    Delete,
    /// See how the release stands.
    Status,
    /// Keep the release as its module says, without anybody at hand.
    Controller,
}

impl PermittedWork {
    fn on_objects(self) -> &'static [&'static str] {
        match self {
            Self::Apply => &["create", "delete", "get", "patch"],
            Self::Delete => &["delete", "get"],
            Self::Status => &["get"],
            Self::Controller => &["create", "delete", "get", "patch", "watch"],
        }
    }

    fn on_record(self) -> &'static [&'static str] {
        match self {
            Self::Apply => &["create", "get", "patch", "update"],
            Self::Delete => &["delete", "get", "patch", "update"],
            Self::Status => &["get"],
            Self::Controller => &["create", "delete", "get", "patch", "update"],
        }
    }

    /// On the Secrets that hold parts of a record.
    fn on_parts(self) -> &'static [&'static str] {
        match self {
            Self::Apply | Self::Controller => &["create", "delete", "get", "patch", "update"],
            Self::Delete => &["delete", "get"],
            Self::Status => &["get"],
        }
    }

    /// Whether a hook belongs to it, and what it then takes. What stays of any hook goes with the
    /// release.
    fn on_hook(self, hook: &Hook) -> &'static [&'static str] {
        let is_run = |flow: HookFlow| hook.events.iter().any(|event| flow.has(*event));
        let run: &[HookFlow] = match self {
            Self::Apply | Self::Controller => {
                &[HookFlow::Install, HookFlow::Upgrade, HookFlow::Rollback]
            }
            Self::Delete => &[HookFlow::Delete],
            Self::Status => &[],
        };
        match self {
            _ if run.iter().any(|flow| is_run(*flow)) => &["create", "delete", "get", "patch"],
            Self::Delete => &["delete", "get"],
            _ => &[],
        }
    }

    fn grants_rights(self) -> bool {
        matches!(self, Self::Apply | Self::Controller)
    }
}

/// A rule about objects of a resource, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceRule {
    /// The namespace; none for what belongs to the whole cluster.
    pub namespace: Option<String>,
    /// The API group.
    pub group: String,
    /// The plural of the kind.
    pub resource: String,
    /// What may be done.
    pub verbs: BTreeSet<&'static str>,
    /// To which objects; none means to all.
    pub names: BTreeSet<String>,
}

impl ResourceRule {
    /// The rule as a Role holds it.
    pub fn to_json(&self) -> Value {
        let mut rule = json!({
            "apiGroups": [self.group],
            "resources": [self.resource],
            "verbs": self.verbs,
        });
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}

/// The rules that are collected, by what they are about and what they permit of an object.
#[derive(Default)]
struct RuleSet {
    verbs: BTreeMap<(Option<String>, String, String, String), BTreeSet<&'static str>>,
}

impl RuleSet {
    fn add(
        &mut self,
        namespace: Option<&str>,
        group: &str,
        resource: &str,
        name: &str,
        verbs: &[&'static str],
    ) {
        let key = (
            namespace.map(str::to_owned),
            group.to_owned(),
            resource.to_owned(),
            name.to_owned(),
        );
        self.verbs.entry(key).or_default().extend(verbs);
    }

    /// One rule for all objects of a resource of which the same is permitted.
    fn rules(self) -> Vec<ResourceRule> {
        let mut rules: Vec<ResourceRule> = Vec::new();
        for ((namespace, group, resource, name), verbs) in self.verbs {
            let names: BTreeSet<String> = (!name.is_empty()).then_some(name).into_iter().collect();
            let same = |rule: &&mut ResourceRule| {
                rule.namespace == namespace
                    && rule.group == group
                    && rule.resource == resource
                    && rule.verbs == verbs
                    && rule.names.is_empty() == names.is_empty()
            };
            match rules.iter_mut().find(same) {
                Some(rule) => rule.names.extend(names),
                None => rules.push(ResourceRule {
                    namespace,
                    group,
                    resource,
                    verbs,
                    names,
                }),
            }
        }
        rules.sort();
        rules
    }
}

/// The fewest rules for a purpose, or the kinds of which nobody knows the plural.
pub fn least(
    purpose: PermittedWork,
    candidate: &Candidate,
    plurals: &Plurals,
) -> Result<Vec<ResourceRule>, BTreeSet<GroupKind>> {
    let mut rules = RuleSet::default();
    let mut unknown = BTreeSet::new();
    let objects = candidate.objects.iter();
    let objects = objects.map(|object| (object, purpose.on_objects()));
    let hooks = candidate.hooks.iter();
    let hooks = hooks.map(|hook| (&hook.object, purpose.on_hook(&hook.hook)));
    let all = objects.chain(hooks.filter(|(_, verbs)| !verbs.is_empty()));
    for (object, verbs) in all {
        let identity = object.manifest.identity();
        let Some(plural) = plurals.get(&identity.group_kind) else {
            unknown.insert(identity.group_kind.clone());
            continue;
        };
        let namespace = identity.namespace.as_deref();
        let mut add = |verbs| rules.add(namespace, identity.group(), plural, &identity.name, verbs);
        add(verbs);
        if purpose.grants_rights() && is_role(identity) {
            add(&["escalate"]);
        }
        if purpose.grants_rights()
            && let Some((resource, name)) = bound_role(&object.manifest)
        {
            rules.add(namespace, RBAC, resource, &name, &["bind"]);
        }
    }
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let owner = &candidate.owner;
    let home = Some(owner.namespace.as_str());
    let record = owner.id.inventory_secret(&owner.release);
    rules.add(home, "", "secrets", &record, purpose.on_record());
    for part in owner.id.record_secrets(&owner.release) {
        rules.add(home, "", "secrets", &part, purpose.on_parts());
    }
    if purpose == PermittedWork::Controller {
        let (group, name) = ("core.opmodel.dev", owner.release.as_str());
        rules.add(home, group, "modulereleases", "", &["list", "watch"]);
        rules.add(home, group, "modulereleases", name, &["get", "patch"]);
        rules.add(home, group, "modulereleases/status", name, &["patch"]);
    }
    Ok(rules.rules())
}

/// Whoever writes a role needs the rights in it, or this one.
fn is_role(identity: &Identity) -> bool {
    ["Role", "ClusterRole"]
        .iter()
        .any(|kind| identity.group_kind.is(RBAC, kind))
}

/// The role that a binding binds: whoever writes it needs the rights in that, or to bind it.
fn bound_role(manifest: &Manifest) -> Option<(&'static str, String)> {
    let kind = &manifest.identity().group_kind;
    if !kind.is(RBAC, "RoleBinding") && !kind.is(RBAC, "ClusterRoleBinding") {
        return None;
    }
    let object = manifest.object();
    let reference = object.get("roleRef")?;
    let text = |key: &str| reference.get(key).and_then(Value::as_str);
    let resource = match text("kind")? {
        "Role" => "roles",
        "ClusterRole" => "clusterroles",
        _ => return None,
    };
    Some((resource, text("name")?.to_owned()))
}

/// The rules that rights on objects come to.
pub fn rules_of<'a>(
    missing: impl IntoIterator<Item = (&'a ResourceRight, &'a str)>,
) -> Vec<ResourceRule> {
    let mut rules = RuleSet::default();
    for (right, name) in missing {
        let namespace = right.namespace.as_deref();
        rules.add(
            namespace,
            &right.group,
            &right.resource,
            name,
            &[right.verb],
        );
    }
    rules.rules()
}

const VERBS: &[&str] = &[
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// The rights that the server says are missing, each with the object's name (none if it is about
/// all): its words are `configmaps "a" is forbidden: User "u" cannot get resource "configmaps" in
/// API group "" in the namespace "n"`.
pub fn of_refusal(text: &str) -> Vec<(ResourceRight, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" cannot ") {
        rest = after;
        if let Some(right) = refused_right(after) {
            found.push((right, forbidden_name(before).unwrap_or_default().to_owned()));
        }
    }
    found
}

fn refused_right(words: &str) -> Option<ResourceRight> {
    let (verb, rest) = words.split_once(" resource ")?;
    let verb = VERBS.iter().find(|known| **known == verb)?;
    let (resource, rest) = quoted(rest)?;
    let (group, rest) = quoted(rest.strip_prefix(" in API group ")?)?;
    let namespace = rest.strip_prefix(" in the namespace ").and_then(quoted);
    Some(ResourceRight {
        verb,
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.map(|(name, _)| name.to_owned()),
    })
}

/// The text in quotes at the beginning, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('"')?.split_once('"')
}

/// `a` of `configmaps "a" is forbidden: User "u"`.
fn forbidden_name(before: &str) -> Option<&str> {
    let (subject, _) = before.rsplit_once(" is forbidden: ")?;
    let subject = subject.strip_suffix('"')?;
    subject.rsplit_once('"').map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_words_say_which_right_is_missing() {
        let right = |verb, group: &str, resource: &str, namespace: Option<&str>| ResourceRight {
            verb,
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
        };
        for (text, expected) in [
            (
                r#"configmaps "a" is forbidden: User "u" cannot get resource "configmaps" in API group "" in the namespace "games""#,
                vec![(
                    right("get", "", "configmaps", Some("games")),
                    "a".to_owned(),
                )],
            ),
            (
                r#"secrets is forbidden: User "u" cannot list resource "secrets" in API group "" in the namespace "games""#,
                vec![(right("list", "", "secrets", Some("games")), String::new())],
            ),
            (
                r#"403 Forbidden: clusterroles.rbac.authorization.k8s.io "r" is forbidden: User "u" cannot patch resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope"#,
                vec![(
                    right("patch", "rbac.authorization.k8s.io", "clusterroles", None),
                    "r".to_owned(),
                )],
            ),
            ("it cannot be read", vec![]),
            (
                r#"User "u" cannot dance resource "x" in API group """#,
                vec![],
            ),
        ] {
            assert_eq!(of_refusal(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_permitted_of_one_resource_is_one_rule() {
        let right = |verb| ResourceRight {
            verb,
            group: "apps".to_owned(),
            resource: "deployments".to_owned(),
            namespace: Some("games".to_owned()),
        };
        let (get, patch) = (right("get"), right("patch"));
        let rules = rules_of([
            (&get, "a"),
            (&patch, "a"),
            (&get, "b"),
            (&patch, "b"),
            (&get, "c"),
        ]);
        let shown: Vec<String> = rules
            .iter()
            .map(|rule| rule.to_json().to_string())
            .collect();
        let of = |names: &str, verbs: &str| {
            format!(
                r#"{{"apiGroups":["apps"],"resourceNames":[{names}],"resources":["deployments"],"verbs":[{verbs}]}}"#
            )
        };
        assert_eq!(
            shown,
            [
                of(r#""c""#, r#""get""#),
                of(r#""a","b""#, r#""get","patch""#)
            ]
        );
    }
}
