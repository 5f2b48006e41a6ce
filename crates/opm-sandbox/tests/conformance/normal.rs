//! What may differ between two servers: uids, times, versions, addresses, the run's own names, and
//! what controllers write at their own pace. Everything else must be equal.

use serde_json::{Map, Value};

use crate::request::Step;

/// Managers whose writes are not part of the comparison.
const CONTROLLERS: &[&str] = &[
    "kube-controller-manager",
    "kube-apiserver",
    "kube-scheduler",
];

pub(crate) struct Names<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) id: &'a str,
    pub(crate) address: Option<&'a str>,
}

impl Names<'_> {
    fn text(&self, text: &str) -> String {
        let text = text
            .replace(self.namespace, "{ns}")
            .replace(self.id, "{id}");
        let text = match self.address {
            Some(address) => text.replace(address, "{ip}"),
            None => text,
        };
        let text = text.replace("00000000-0000-0000-0000-000000000000", "{zero}");
        masked(&masked(&text, UID, "{uid}"), TIME, "{time}")
    }
}

const UID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
const TIME: &str = "dddd-dd-ddTdd:dd:ddZ";

/// Replaces what has the shape: `x` a hexadecimal digit, `d` a decimal one.
fn masked(text: &str, shape: &str, by: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let shape: Vec<char> = shape.chars().collect();
    let fits = |at: usize| {
        chars.len() >= at + shape.len()
            && shape.iter().zip(&chars[at..]).all(|(s, c)| match s {
                'x' => c.is_ascii_hexdigit(),
                'd' => c.is_ascii_digit(),
                other => other == c,
            })
    };
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        if fits(at) {
            out.push_str(by);
            at += shape.len();
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

pub(crate) fn normal(value: &Value, step: &Step, names: &Names<'_>, path: &str) -> Value {
    if step.ignore.iter().any(|i| i == path) {
        return Value::String("{ignored}".into());
    }
    match value {
        Value::String(text) => Value::String(record(&names.text(text))),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            Value::Array(
                items
                    .map(|(i, v)| normal(v, step, names, &format!("{path}/{i}")))
                    .collect(),
            )
        }
        Value::Object(map) => Value::Object(normal_map(map, step, names, path)),
        other => other.clone(),
    }
}

/// A version inside a message.
fn record(text: &str) -> String {
    match text.split_once("ResourceVersion in record (") {
        Some((head, tail)) => {
            let tail = tail.split_once(')').map_or("", |(_, t)| t);
            format!("{head}ResourceVersion in record ({{rv}}){tail}")
        }
        None => text.to_string(),
    }
}

fn normal_map(
    map: &Map<String, Value>,
    step: &Step,
    names: &Names<'_>,
    path: &str,
) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in map {
        let mask = |text: &str| Some(Value::String(text.into()));
        let kept = match (key.as_str(), value) {
            ("resourceVersion", Value::String(_)) => mask("{rv}"),
            ("storageVersionHash", _) => None,
            ("remainingItemCount" | "continue", _) => mask("{page}"),
            ("status", Value::Object(_)) if !step.status => None,
            ("clusterIP", v) if v.as_str().is_some_and(|s| !s.is_empty() && s != "None") => {
                mask("{ip}")
            }
            ("clusterIPs", Value::Array(ips)) if ips.first().is_some_and(|ip| ip != "None") => {
                mask("{ips}")
            }
            ("managedFields", Value::Array(entries)) => {
                let entries = managers(entries);
                Some(normal(
                    &Value::Array(entries),
                    step,
                    names,
                    &format!("{path}/{key}"),
                ))
            }
            // The real server lists conflicts of several managers in no particular order.
            ("causes", Value::Array(causes)) => {
                let mut causes = causes.clone();
                causes.sort_by_key(Value::to_string);
                Some(normal(
                    &Value::Array(causes),
                    step,
                    names,
                    &format!("{path}/{key}"),
                ))
            }
            ("annotations", Value::Object(all)) => {
                let mut all = all.clone();
                all.remove("deployment.kubernetes.io/revision");
                let shown = normal(
                    &Value::Object(all.clone()),
                    step,
                    names,
                    &format!("{path}/{key}"),
                );
                (!all.is_empty()).then_some(shown)
            }
            (_, value) => Some(normal(value, step, names, &format!("{path}/{key}"))),
        };
        if let Some(kept) = kept {
            out.insert(names.text(key), kept);
        }
    }
    out
}

/// Without controllers, and in an order that does not depend on when the clock ticked.
fn managers(entries: &[Value]) -> Vec<Value> {
    let name = |e: &Value| e["manager"].as_str().unwrap_or_default().to_string();
    let mut entries: Vec<_> = entries
        .iter()
        .filter(|e| !CONTROLLERS.contains(&name(e).as_str()))
        .cloned()
        .collect();
    entries.sort_by_key(|e| {
        let text = |k: &str| e[k].as_str().unwrap_or_default().to_string();
        (
            text("operation"),
            name(e),
            text("apiVersion"),
            text("subresource"),
        )
    });
    entries
}

/// Where two normal forms differ.
pub(crate) fn differences(real: &Value, sandbox: &Value, path: &str, out: &mut Vec<String>) {
    match (real, sandbox) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let at = format!("{path}/{key}");
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) => differences(x, y, &at, out),
                    (Some(x), None) => out.push(format!("{at}: real {x}, sandbox has none")),
                    (None, Some(y)) => out.push(format!("{at}: real has none, sandbox {y}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                differences(x, y, &format!("{path}/{index}"), out);
            }
        }
        (a, b) if a != b => out.push(format!("{path}: real {a}, sandbox {b}")),
        _ => {}
    }
}
