//! The floor: the requests that nobody can do without, as a file for `opm-bench send`.
//!
//! One apply for every object that has to change, one delete for every object that has to go, and
//! one list of each kind where the question is how things stand. No record, no lock, no discovery.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::matrix::{Action, Shape};
use super::objects::{Version, objects};

/// How many requests are in flight.
pub(super) const AT_ONCE: &str = "24";

/// The requests of an action, one a line; an empty line waits for all before it.
pub(super) fn requests(action: Action, shape: Shape, namespace: &str) -> String {
    let first = objects(shape, Version::First);
    let one_changed = objects(shape, Version::OneChanged);
    let upgraded = objects(shape, Version::Upgraded);
    let apply = |object: &Value, query: &str| {
        let path = format!(
            "{}?fieldManager=floor&force=true{query}",
            path(object, namespace)
        );
        json!(["PATCH", path, object])
    };
    let applies = |objects: &[Value]| objects.iter().map(|object| apply(object, "")).collect();
    let delete = |object: &Value| json!(["DELETE", path(object, namespace), null]);
    let changed = |query: &str| {
        let changed = one_changed.iter().filter(|object| !first.contains(object));
        changed.map(|object| apply(object, query)).collect()
    };
    let stale = || {
        let kept: BTreeSet<_> = upgraded
            .iter()
            .map(|object| path(object, namespace))
            .collect();
        let stale = first
            .iter()
            .filter(|object| !kept.contains(&path(object, namespace)));
        stale.map(delete).collect()
    };
    let groups: Vec<Vec<Value>> = match action {
        Action::Install => vec![applies(&first)],
        Action::Unchanged | Action::Status => vec![lists(&first, namespace)],
        Action::Diff => vec![lists(&first, namespace), changed("&dryRun=All")],
        Action::OneChanged => vec![lists(&first, namespace), changed("")],
        Action::Upgrade => vec![applies(&upgraded), stale()],
        Action::Rollback => vec![applies(&one_changed)],
        Action::Delete => vec![first.iter().map(delete).collect()],
        Action::List => {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps");
            vec![vec![json!(["GET", path, null])]]
        }
    };
    let group = |group: Vec<Value>| {
        let lines: Vec<String> = group.iter().map(Value::to_string).collect();
        lines.join("\n")
    };
    groups
        .into_iter()
        .map(group)
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn lists(objects: &[Value], namespace: &str) -> Vec<Value> {
    let kinds: BTreeSet<String> = objects
        .iter()
        .map(|object| collection(object, namespace))
        .collect();
    kinds
        .into_iter()
        .map(|path| json!(["GET", path, null]))
        .collect()
}

fn path(object: &Value, namespace: &str) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{}/{name}", collection(object, namespace))
}

fn collection(object: &Value, namespace: &str) -> String {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    let plural = match kind.as_str() {
        "ingress" => "ingresses".to_owned(),
        kind => format!("{kind}s"),
    };
    let root = match version.contains('/') {
        true => "apis",
        false => "api",
    };
    format!("/{root}/{version}/namespaces/{namespace}/{plural}")
}

#[cfg(test)]
mod tests {
    use super::{Action, Shape, requests};

    fn counts(action: Action) -> Vec<usize> {
        let text = requests(action, Shape::ConfigMaps(20), "ns");
        text.split("\n\n")
            .map(|group| group.lines().count())
            .collect()
    }

    #[test]
    fn nothing_is_sent_that_need_not_be() {
        assert_eq!(counts(Action::Install), [20]);
        assert_eq!(counts(Action::Unchanged), [1]);
        assert_eq!(counts(Action::OneChanged), [1, 1]);
        assert_eq!(counts(Action::Upgrade), [18, 2]);
        assert_eq!(counts(Action::Rollback), [20]);
        assert_eq!(counts(Action::Delete), [20]);
    }
}
