//! What a live object has of what a rendered one states.
//!
//! The server fills in defaults that nobody wrote. Where there is no answer of a dry run to
//! compare with, or where what is new should be shown as it was written, only what is stated
//! counts. Items of lists that have merge keys are matched by them; those that are not stated
//! are kept, because the lists as a whole are.

use serde_json::{Map, Value};

use super::lists::{ItemMatch, match_items};

/// The fields of `live` that `stated` has too, with the live values.
pub fn stated(live: &Map<String, Value>, stated: &Map<String, Value>) -> Map<String, Value> {
    live.iter()
        .filter_map(|(key, value)| {
            let wanted = stated.get(key)?;
            Some((key.clone(), part(key, value, wanted)))
        })
        .collect()
}

fn part(name: &str, live: &Value, wanted: &Value) -> Value {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => Value::Object(stated(live, wanted)),
        (Value::Array(live), Value::Array(wanted)) => Value::Array(items(name, live, wanted)),
        _ => live.clone(),
    }
}

fn items(name: &str, live: &[Value], wanted: &[Value]) -> Vec<Value> {
    match match_items(name, live, wanted) {
        ItemMatch::Whole => live.to_vec(),
        ItemMatch::Index => live
            .iter()
            .enumerate()
            .map(|(at, item)| one(item, wanted.get(at)))
            .collect(),
        ItemMatch::Keys(live_keys, wanted_keys) => live_keys
            .iter()
            .zip(live)
            .map(|(key, item)| {
                let at = wanted_keys.iter().position(|wanted| wanted == key);
                one(item, at.and_then(|at| wanted.get(at)))
            })
            .collect(),
    }
}

fn one(item: &Value, wanted: Option<&Value>) -> Value {
    match wanted {
        Some(wanted) => part("", item, wanted),
        None => item.clone(),
    }
}
