//! What lies below the objects of a release: objects whose owner references lead up to one of
//! them, what happened to any of these, and what their containers wrote.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::health::{self, Health};
use crate::identity::{GroupKind, Identity};

/// The most objects of a tree: more would be no help.
pub const MOST_NODES: usize = 5_000;

/// An object, and what it owns.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeNode {
    /// Which object.
    pub identity: Identity,
    /// Its uid; none if it is not there or could not be looked at.
    pub uid: Option<String>,
    /// How it is doing, as far as its kind says.
    pub health: Option<Health>,
    /// What it owns.
    pub owned: Vec<TreeNode>,
}

impl TreeNode {
    /// It and everything below it.
    pub fn all(&self) -> Vec<&TreeNode> {
        let (mut all, mut next) = (Vec::new(), vec![self]);
        while let Some(node) = next.pop() {
            all.push(node);
            next.extend(node.owned.iter().rev());
        }
        all
    }
}

impl Serialize for TreeNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        identity_fields(&mut fields, &self.identity)?;
        fields.serialize_entry("uid", &self.uid)?;
        let health = self.health.as_ref();
        fields.serialize_entry("health", &health.map(|health| health.state.word()))?;
        fields.serialize_entry("message", &health.map(|health| &health.message))?;
        fields.serialize_entry("owned", &self.owned)?;
        fields.end()
    }
}

fn identity_fields<M: serde::ser::SerializeMap>(
    fields: &mut M,
    of: &Identity,
) -> Result<(), M::Error> {
    fields.serialize_entry("group", of.group())?;
    fields.serialize_entry("kind", of.kind())?;
    fields.serialize_entry("namespace", &of.namespace)?;
    fields.serialize_entry("name", &of.name)
}

fn text<'a>(object: &'a Map<String, Value>, pointer: &[&str]) -> Option<&'a str> {
    let (first, rest) = pointer.split_first()?;
    let found = rest
        .iter()
        .try_fold(object.get(*first)?, |value, key| value.get(key));
    found?.as_str()
}

/// The identity of a live object.
fn identity(object: &Map<String, Value>) -> Option<Identity> {
    let kind = GroupKind::of(text(object, &["apiVersion"])?, text(object, &["kind"])?);
    let namespace = text(object, &["metadata", "namespace"]);
    Some(Identity::new(
        kind,
        namespace,
        text(object, &["metadata", "name"])?,
    ))
}

/// The trees below these objects, made of the live ones that may belong there, and whether
/// something was left out because there is too much.
pub fn trees(roots: Vec<TreeNode>, live: &[Map<String, Value>]) -> (Vec<TreeNode>, bool) {
    let mut by_owner: BTreeMap<&str, Vec<&Map<String, Value>>> = BTreeMap::new();
    for object in live {
        let owners = object
            .get("metadata")
            .and_then(|meta| meta.get("ownerReferences"));
        for owner in owners.and_then(Value::as_array).into_iter().flatten() {
            let uid = owner.get("uid").and_then(Value::as_str).unwrap_or_default();
            by_owner.entry(uid).or_default().push(object);
        }
    }
    let seen = roots.iter().filter_map(|root| root.uid.clone()).collect();
    let mut growth = Growth {
        by_owner,
        seen,
        is_cut: false,
    };
    let grown = roots.into_iter().map(|mut root| {
        root.owned = growth.below(root.uid.as_deref());
        root
    });
    let grown = grown.collect();
    (grown, growth.is_cut)
}

struct Growth<'a> {
    by_owner: BTreeMap<&'a str, Vec<&'a Map<String, Value>>>,
    /// The uids that stand in a tree: nothing stands there twice, whoever owns it.
    seen: BTreeSet<String>,
    is_cut: bool,
}

impl Growth<'_> {
    fn below(&mut self, uid: Option<&str>) -> Vec<TreeNode> {
        let owned = uid.and_then(|uid| self.by_owner.get(uid)).cloned();
        let mut nodes = Vec::new();
        for object in owned.unwrap_or_default() {
            let uid = text(object, &["metadata", "uid"]).unwrap_or_default();
            let Some(identity) = identity(object) else {
                continue;
            };
            if self.seen.len() >= MOST_NODES {
                self.is_cut = true;
                continue;
            }
            if !self.seen.insert(uid.to_owned()) {
                continue;
            }
            // Of what was read without its status, nothing is known.
            let is_whole = object.contains_key("status");
            nodes.push(TreeNode {
                identity,
                uid: Some(uid.to_owned()),
                health: is_whole.then(|| health::of(object)),
                owned: self.below(Some(uid)),
            });
        }
        nodes.sort_by(|a, b| a.identity.cmp(&b.identity));
        nodes
    }
}

/// Something that happened to an object, as the cluster tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterEvent {
    /// When it last happened; empty if nobody says.
    pub time: String,
    /// `Normal` or `Warning`.
    pub severity: String,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// To which object.
    pub object: Identity,
}

impl Serialize for ClusterEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("lastTime", &self.time)?;
        fields.serialize_entry("type", &self.severity)?;
        fields.serialize_entry("reason", &self.reason)?;
        fields.serialize_entry("message", &self.message)?;
        fields.serialize_entry("count", &self.count)?;
        identity_fields(&mut fields, &self.object)?;
        fields.end()
    }
}

/// The events that are about one of these uids, oldest first, and only so many of the newest.
pub fn events_about(
    uids: &BTreeSet<&str>,
    events: &[Map<String, Value>],
    most: usize,
) -> Vec<ClusterEvent> {
    let about = events.iter().filter(|event| {
        text(event, &["involvedObject", "uid"]).is_some_and(|uid| uids.contains(uid))
    });
    let mut told: Vec<ClusterEvent> = about.filter_map(cluster_event).collect();
    told.sort_by(|a, b| (&a.time, &a.object).cmp(&(&b.time, &b.object)));
    told.split_off(told.len().saturating_sub(most))
}

fn cluster_event(event: &Map<String, Value>) -> Option<ClusterEvent> {
    let of = |key: &str| text(event, &["involvedObject", key]);
    let kind = GroupKind::of(of("apiVersion").unwrap_or("v1"), of("kind")?);
    let object = Identity::new(kind, of("namespace"), of("name")?);
    let times: [&[&str]; 5] = [
        &["series", "lastObservedTime"],
        &["lastTimestamp"],
        &["eventTime"],
        &["firstTimestamp"],
        &["metadata", "creationTimestamp"],
    ];
    let time = times.iter().find_map(|pointer| text(event, pointer));
    let count = event.get("count").and_then(Value::as_u64);
    let series = event.get("series").and_then(|series| series.get("count"));
    let word = |key: &str| text(event, &[key]).unwrap_or_default().to_owned();
    Some(ClusterEvent {
        time: time.unwrap_or_default().to_owned(),
        severity: word("type"),
        reason: word("reason"),
        message: word("message").trim_end().to_owned(),
        count: series.and_then(Value::as_u64).or(count).unwrap_or(1),
        object,
    })
}

/// A line that a container wrote, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// When, as the server writes it; empty if it does not say.
    pub time: String,
    /// What.
    pub text: String,
}

/// The lines of a log whose lines begin with their time, but for those up to a time that was seen
/// before.
pub fn log_lines(log: &str, after: Option<&str>) -> Vec<LogLine> {
    let lines = log.lines().map(|line| match line.split_once(' ') {
        Some((time, text)) if time.contains('T') && time.ends_with('Z') => LogLine {
            time: time.to_owned(),
            text: text.to_owned(),
        },
        _ => LogLine {
            time: String::new(),
            text: line.to_owned(),
        },
    });
    let is_new = |line: &LogLine| after.is_none_or(|after| line.time.as_str() > after);
    lines.filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, name: &str, owner: &str) -> Map<String, Value> {
        let value = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name,
            "namespace": "n", "uid": format!("u-{name}"), "ownerReferences": [{"uid": owner}]}});
        value.as_object().unwrap().clone()
    }

    fn root(name: &str) -> TreeNode {
        TreeNode {
            identity: Identity::new(GroupKind::new("apps", "Deployment"), Some("n"), name),
            uid: Some(format!("u-{name}")),
            health: None,
            owned: Vec::new(),
        }
    }

    fn drawn(node: &TreeNode) -> String {
        let owned: Vec<String> = node.owned.iter().map(drawn).collect();
        match owned.is_empty() {
            true => node.identity.name.clone(),
            false => format!("{}({})", node.identity.name, owned.join(" ")),
        }
    }

    #[test]
    fn owners_make_a_tree_and_circles_end() {
        let live = [
            object("Pod", "p2", "u-rs"),
            object("Pod", "p1", "u-rs"),
            object("ReplicaSet", "rs", "u-web"),
            object("Pod", "of-nobody", "u-x"),
            object("Pod", "c1", "u-c2"),
            object("Pod", "c2", "u-c1"),
            object("Pod", "c1", "u-db"),
        ];
        let (trees, is_cut) = trees(vec![root("web"), root("db"), root("idle")], &live);
        let drawn: Vec<String> = trees.iter().map(drawn).collect();
        assert_eq!(drawn, ["web(rs(p1 p2))", "db(c1(c2))", "idle"]);
        assert!(!is_cut);
        assert_eq!(trees[0].all().len(), 4);
    }

    #[test]
    fn a_tree_has_an_end() {
        let live: Vec<_> = (0..MOST_NODES + 9)
            .map(|n| object("Pod", &format!("p{n}"), "u-web"))
            .collect();
        let (trees, is_cut) = trees(vec![root("web")], &live);
        assert!(is_cut);
        assert_eq!(trees[0].all().len(), MOST_NODES);
    }

    #[test]
    fn events_are_those_of_the_objects_newest_last() {
        let event = |uid: &str, time: &str, message: &str| {
            let value = json!({"type": "Warning", "reason": "Failed", "message": message, "count": 2,
                "lastTimestamp": time, "involvedObject": {"apiVersion": "v1", "kind": "Pod",
                "namespace": "n", "name": "p", "uid": uid}});
            value.as_object().unwrap().clone()
        };
        let events = [
            event("a", "2026-01-01T00:00:03Z", "third\n"),
            event("a", "2026-01-01T00:00:01Z", "first"),
            event("b", "2026-01-01T00:00:02Z", "of another"),
            event("a", "2026-01-01T00:00:02Z", "second"),
        ];
        let told = events_about(&BTreeSet::from(["a"]), &events, 2);
        let told: Vec<&str> = told.iter().map(|event| event.message.as_str()).collect();
        assert_eq!(told, ["second", "third"]);
    }

    #[test]
    fn lines_that_were_seen_are_not_told_again() {
        let log = "2026-01-01T00:00:01.5Z one\n2026-01-01T00:00:02Z two words\nno time\n";
        let texts = |after| -> Vec<String> {
            log_lines(log, after)
                .into_iter()
                .map(|line| line.text)
                .collect()
        };
        assert_eq!(texts(None), ["one", "two words", "no time"]);
        assert_eq!(texts(Some("2026-01-01T00:00:01.5Z")), ["two words"]);
    }
}
