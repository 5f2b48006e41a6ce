//! Label and field selectors.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::apply::value::quoted;
use crate::kinds::{Resource, metadata};
use crate::status::{ApiError, Cause};
use crate::wire::call::Call;

/// Which objects a list, watch or delete of a collection is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    Missing,
    Greater,
    Less,
}

impl Selector {
    pub(crate) fn read(call: &Call, resource: &Resource) -> Result<Selector, ApiError> {
        let labels = call.query.get("labelSelector").unwrap_or_default();
        let labels = parse_labels(labels).map_err(ApiError::bad_request)?;
        let text = call.query.get("fieldSelector").unwrap_or_default();
        let fields = parse_fields(text).map_err(ApiError::bad_request)?;
        for (field, _, _) in &fields {
            if !supported(resource, field) {
                return Err(ApiError::bad_request(format!(
                    "{} is not a known field selector: only \"metadata.name\", \
                     \"metadata.namespace\"",
                    quoted(field)
                )));
            }
        }
        Ok(Selector { labels, fields })
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.labels
            .iter()
            .all(|r| r.matches(&object["metadata"]["labels"]))
            && self.fields.iter().all(|(path, equal, wanted)| {
                let found = path.split('.').fold(object, |v, step| &v[step]);
                let found = found.as_str().map_or_else(
                    || {
                        if found.is_null() {
                            String::new()
                        } else {
                            found.to_string()
                        }
                    },
                    str::to_string,
                );
                (found == *wanted) == *equal
            })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

fn supported(resource: &Resource, field: &str) -> bool {
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    match field {
        "metadata.name" | "metadata.namespace" => true,
        "type" => kind == "Secret" && group.is_empty(),
        "status.phase" => group.is_empty() && matches!(kind, "Namespace" | "Pod"),
        "spec.nodeName"
        | "spec.restartPolicy"
        | "spec.schedulerName"
        | "spec.serviceAccountName"
        | "status.podIP" => kind == "Pod" && group.is_empty(),
        "status.successful" => kind == "Job" && group == "batch",
        "status.replicas" => matches!(kind, "ReplicaSet" | "ReplicationController"),
        "spec.unschedulable" => kind == "Node",
        "reason"
        | "reportingComponent"
        | "source"
        | "involvedObject.kind"
        | "involvedObject.name"
        | "involvedObject.namespace"
        | "involvedObject.uid" => kind == "Event",
        _ => false,
    }
}

impl Requirement {
    fn matches(&self, labels: &Value) -> bool {
        let found = labels.get(&self.key).and_then(Value::as_str);
        let number = |t: Option<&str>| t.and_then(|t| t.parse::<i64>().ok());
        let wanted = self.values.first().map(String::as_str);
        match self.operator {
            Operator::In => found.is_some_and(|f| self.values.contains(f)),
            Operator::NotIn => found.is_none_or(|f| !self.values.contains(f)),
            Operator::Exists => found.is_some(),
            Operator::Missing => found.is_none(),
            Operator::Greater => number(found) > number(wanted) && found.is_some(),
            Operator::Less => number(found) < number(wanted) && number(found).is_some(),
        }
    }
}

/// Splits at commas that are not inside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
        .into_iter()
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .collect()
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, String> {
    split(text)
        .into_iter()
        .map(|part| check_label(parse_label(part, text)?))
        .collect()
}

/// Keys and values that no label can have are refused, in the real server's words.
fn check_label(requirement: Requirement) -> Result<Requirement, String> {
    let unable = |place: &str, cause: &Cause| {
        let value = cause.value.as_deref().unwrap_or_default();
        let detail = &cause.detail;
        format!("unable to parse requirement: {place}: Invalid value: {value}: {detail}")
    };
    let key = &requirement.key;
    if let Some(cause) = metadata::check_key("", key).first() {
        return Err(unable("<nil>", cause));
    }
    for (index, value) in requirement.values.iter().enumerate() {
        let numeric = matches!(requirement.operator, Operator::Greater | Operator::Less);
        if numeric && value.parse::<i64>().is_err() {
            return Err(format!(
                "unable to parse requirement: values[{index}]: Invalid value: {}: for 'Gt', 'Lt' \
                 operators, the value must be an integer",
                quoted(value)
            ));
        }
        if let Some(cause) = metadata::check_label_value("", value).first() {
            return Err(unable(&format!("values[{index}][{key}]"), cause));
        }
    }
    Ok(requirement)
}

fn parse_label(part: &str, all: &str) -> Result<Requirement, String> {
    let unable = || match part.trim_end().rsplit(' ').next() {
        Some("in" | "notin") => "unable to parse requirement: found '' expected: '('".to_string(),
        _ => format!("unable to parse requirement: found '{all}', expected: identifier"),
    };
    let build = |key: &str, operator, values: BTreeSet<String>| {
        let key = key.trim().to_string();
        let fits = !key.is_empty() && !key.contains(char::is_whitespace);
        let requirement = Requirement {
            key,
            operator,
            values,
        };
        fits.then_some(requirement).ok_or_else(unable)
    };
    for (symbol, operator) in [
        ("!=", Operator::NotIn),
        ("==", Operator::In),
        ("=", Operator::In),
        (">", Operator::Greater),
        ("<", Operator::Less),
    ] {
        if let Some((key, value)) = part.split_once(symbol) {
            if let Some(found) = value.chars().find(|c| matches!(c, '=' | '!' | '>' | '<')) {
                return Err(format!("found '{found}', expected: ',' or 'end of string'"));
            }
            return build(key, operator, BTreeSet::from([value.trim().to_string()]));
        }
    }
    if let Some(key) = part.strip_prefix('!') {
        return build(key, Operator::Missing, BTreeSet::new());
    }
    if let Some((head, list)) = part.split_once('(') {
        let values = list.trim_end().strip_suffix(')').ok_or_else(unable)?;
        let values = values.split(',').map(|v| v.trim().to_string()).collect();
        let (key, word) = head
            .trim()
            .rsplit_once(char::is_whitespace)
            .ok_or_else(unable)?;
        return match word {
            "in" => build(key, Operator::In, values),
            "notin" => build(key, Operator::NotIn, values),
            _ => Err(unable()),
        };
    }
    build(part, Operator::Exists, BTreeSet::new())
}

fn parse_fields(text: &str) -> Result<Vec<(String, bool, String)>, String> {
    let one = |part: &str| {
        let (key, equal, value) = if let Some((k, v)) = part.split_once("!=") {
            (k, false, v)
        } else {
            let split = part.split_once("==").or_else(|| part.split_once('='));
            let (k, v) = split
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            (k, true, v)
        };
        if value.contains('=') {
            return Err("invalid field selector: unescaped character in value: 61".to_string());
        }
        Ok((key.trim().to_string(), equal, value.trim().to_string()))
    };
    split(text).into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn label_selectors() {
        let object = json!({"a": "1", "b": "x"});
        for (text, expected) in [
            ("a=1", true),
            ("a==1,b!=y", true),
            ("a in (1, 2)", true),
            ("a notin (1,2)", false),
            ("c", false),
            ("!c", true),
            ("c!=1", true),
            ("a>0", true),
        ] {
            let all = parse_labels(text).unwrap();
            assert_eq!(all.iter().all(|r| r.matches(&object)), expected, "{text}");
        }
        assert!(parse_labels("a in 1").is_err());
    }
}
