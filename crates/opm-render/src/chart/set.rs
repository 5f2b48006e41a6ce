//! `chart.set`: values by their paths, as one document for `helm`. A file, not arguments: those
//! can be seen by everybody on the machine.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::yaml::MAX_DEPTH;

/// The values as one mapping. A dot parts names; `\.` is a dot in a name.
pub(super) fn nested(set: &BTreeMap<String, Value>) -> Result<Value, String> {
    let mut all = Map::new();
    for (path, value) in set {
        let names = names(path)?;
        insert(&mut all, &names, value).ok_or_else(|| {
            format!("`chart.set` has values both at and below a part of {path:?}")
        })?;
    }
    Ok(Value::Object(all))
}

fn insert(into: &mut Map<String, Value>, names: &[String], value: &Value) -> Option<()> {
    match names {
        [] => None,
        [name] => match into.insert(name.clone(), value.clone()) {
            None => Some(()),
            Some(_) => None,
        },
        [name, rest @ ..] => {
            let below = into
                .entry(name.clone())
                .or_insert_with(|| Value::Object(Map::new()));
            insert(below.as_object_mut()?, rest, value)
        }
    }
}

fn names(path: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        let last = names.last_mut();
        match (letter, last) {
            ('.', _) => names.push(String::new()),
            ('[', _) => {
                return Err(format!(
                    "`chart.set` cannot name an item of a list ({path:?}): use a values file"
                ));
            }
            ('\\', Some(name)) => name.extend(letters.next()),
            (letter, Some(name)) => name.push(letter),
            (_, None) => {}
        }
    }
    if names.len() > MAX_DEPTH {
        let begins: String = path.chars().take(20).collect();
        return Err(format!(
            "`chart.set` has a path of more than {MAX_DEPTH} names ({begins:?}…)"
        ));
    }
    match names.iter().any(String::is_empty) {
        true => Err(format!("`chart.set` has an empty name in {path:?}")),
        false => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_become_one_mapping() {
        for (set, expected) in [
            (
                json!({"image.tag": "1", "image.pull.always": true, "replicas": 2}),
                Ok(json!({"image": {"tag": "1", "pull": {"always": true}}, "replicas": 2})),
            ),
            (
                json!({"nodeSelector.kubernetes\\.io/os": "linux"}),
                Ok(json!({"nodeSelector": {"kubernetes.io/os": "linux"}})),
            ),
            (json!({"list": [1, 2]}), Ok(json!({"list": [1, 2]}))),
            (
                json!({"a[0]": 1}),
                Err("`chart.set` cannot name an item of a list (\"a[0]\"): use a values file"),
            ),
            (
                json!({"a": 1, "a.b": 1}),
                Err("`chart.set` has values both at and below a part of \"a.b\""),
            ),
            (
                json!({"a..b": 1}),
                Err("`chart.set` has an empty name in \"a..b\""),
            ),
        ] {
            let set: BTreeMap<String, Value> = serde_json::from_value(set).unwrap();
            assert_eq!(nested(&set), expected.map_err(str::to_owned));
        }
        let path = |names: usize| vec!["a"; names].join(".");
        let nested = |names| nested(&BTreeMap::from([(path(names), json!(1))]));
        assert!(nested(MAX_DEPTH).is_ok());
        let error = nested(500_000).unwrap_err();
        assert!(
            error.contains("more than 100 names") && error.len() < 100,
            "{error}"
        );
    }
}
