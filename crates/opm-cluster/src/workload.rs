//! A workload's pods, by its selector, and what their containers wrote.

use std::time::Duration;

use opm_core::identity::GroupKind;
use opm_engine::ports::{ApiError, Detail, PodLog};
use serde_json::{Map, Value};

use crate::client::ClusterClient;
use crate::json::{self, Object};
use crate::list::Selectors;
use crate::request::pods;
use crate::send::SendOptions;

/// A log is not worth waiting long for.
const LOG_PATIENCE: Duration = Duration::from_secs(10);

impl ClusterClient {
    pub(crate) async fn pods_by_selector(
        &self,
        workload: &Object,
    ) -> Result<Vec<Object>, ApiError> {
        let Some(selector) = selector_of(workload) else {
            return Ok(Vec::new());
        };
        let selectors = Selectors {
            detail: Detail::Whole,
            labels: Some(&selector),
            fields: None,
        };
        let namespace = json::metadata(workload, "namespace");
        self.list_kind(&GroupKind::new("", "Pod"), namespace, selectors)
            .await
    }
}

impl ClusterClient {
    pub(crate) async fn log_of(&self, log: &PodLog<'_>) -> Result<String, ApiError> {
        let call = pods(log.namespace).log(log)?;
        let options = SendOptions::reading(self).within(LOG_PATIENCE);
        let answer = self.exchange(&call, options).await.result?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }
}

/// The selector as a query has it, or none if the object has none: an empty selector would
/// name every pod.
fn selector_of(workload: &Object) -> Option<String> {
    let selector = workload.get("spec")?.get("selector")?.as_object()?;
    let has = |field: &str| selector.get(field).is_some_and(|value| !value.is_null());
    let terms = if has("matchLabels") || has("matchExpressions") {
        let labels = selector.get("matchLabels").and_then(Value::as_object);
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        labels
            .map(equalities)
            .into_iter()
            .flatten()
            .chain(expressions.into_iter().flatten().filter_map(expression))
            .collect()
    } else {
        // A ReplicationController or Service: the map itself.
        equalities(selector)
    };
    (!terms.is_empty()).then(|| terms.join(","))
}

fn equalities(labels: &Map<String, Value>) -> Vec<String> {
    labels
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect()
}

fn expression(value: &Value) -> Option<String> {
    let key = value["key"].as_str()?;
    let values = || {
        let values = value["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        values.join(",")
    };
    match value["operator"].as_str()? {
        "In" => Some(format!("{key} in ({})", values())),
        "NotIn" => Some(format!("{key} notin ({})", values())),
        "Exists" => Some(key.to_owned()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_become_queries() {
        for (selector, expected) in [
            (
                json!({"matchLabels": {"a": "b", "c": "d"}}),
                Some("a=b,c=d"),
            ),
            (
                json!({"matchLabels": {"a": "b"}, "matchExpressions": [
                    {"key": "x", "operator": "In", "values": ["1", "2"]},
                    {"key": "y", "operator": "NotIn", "values": ["3"]},
                    {"key": "z", "operator": "Exists"},
                    {"key": "q", "operator": "DoesNotExist"}]}),
                Some("a=b,x in (1,2),y notin (3),z,!q"),
            ),
            (json!({"app": "old"}), Some("app=old")),
            (json!({}), None),
            (json!({"matchLabels": {}}), None),
            (json!(null), None),
        ] {
            let workload = json!({"spec": {"selector": selector}});
            let found = selector_of(workload.as_object().unwrap());
            assert_eq!(found.as_deref(), expected, "{selector}");
        }
    }
}
