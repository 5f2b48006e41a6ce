//! Values that the server fills in where nobody says anything: a tool that created an object is
//! said to own them, and nobody would miss them.

use serde_json::Value;

use super::field_set::{FieldSet, value_at};

/// The fields without those whose value the server would fill in again.
pub(super) fn without(fields: &FieldSet, value: &Value) -> FieldSet {
    let below = fields.below.iter().filter_map(|(key, below)| {
        let Some(inner) = value_at(value, key) else {
            return Some((key.clone(), below.clone()));
        };
        let name = key.strip_prefix("f:");
        // A port leads to the port of the same number.
        let same_port = name == Some("targetPort") && value.get("port") == Some(inner);
        if same_port || name.is_some_and(|name| is_filled_in(name, inner)) {
            return None;
        }
        let left = match below.member {
            true => below.clone(),
            false => without(below, inner),
        };
        (!left.is_empty()).then(|| (key.clone(), left))
    });
    FieldSet {
        member: fields.member,
        below: below.collect(),
    }
}

fn is_filled_in(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => is_text(name, text),
        Value::Number(number) => number
            .as_u64()
            .is_some_and(|number| is_number(name, number)),
        Value::Bool(true) => name == "allocateLoadBalancerNodePorts",
        Value::Bool(false) => name == "suspend",
        Value::Object(fields) if fields.is_empty() => {
            ["resources", "securityContext"].contains(&name)
        }
        Value::Object(fields) => fields.iter().all(|(name, value)| is_filled_in(name, value)),
        _ => false,
    }
}

fn is_text(name: &str, text: &str) -> bool {
    match name {
        "concurrencyPolicy" => text == "Allow",
        "dnsPolicy" => text == "ClusterFirst",
        "externalTrafficPolicy" | "internalTrafficPolicy" => text == "Cluster",
        "imagePullPolicy" => ["Always", "IfNotPresent"].contains(&text),
        "maxSurge" | "maxUnavailable" => text == "25%",
        "podManagementPolicy" => text == "OrderedReady",
        "protocol" => text == "TCP",
        "restartPolicy" => text == "Always",
        "schedulerName" => text == "default-scheduler",
        "scheme" => text == "HTTP",
        "sessionAffinity" => text == "None",
        "terminationMessagePath" => text == "/dev/termination-log",
        "terminationMessagePolicy" => text == "File",
        "type" => ["ClusterIP", "Opaque", "RollingUpdate"].contains(&text),
        "volumeMode" => text == "Filesystem",
        _ => false,
    }
}

fn is_number(name: &str, number: u64) -> bool {
    let filled_in = match name {
        "backoffLimit" => 6,
        "defaultMode" => 420,
        "failedJobsHistoryLimit" | "successThreshold" | "timeoutSeconds" => 1,
        "failureThreshold" | "successfulJobsHistoryLimit" => 3,
        "periodSeconds" | "revisionHistoryLimit" => 10,
        "progressDeadlineSeconds" => 600,
        "terminationGracePeriodSeconds" => 30,
        _ => return false,
    };
    number == filled_in
}
