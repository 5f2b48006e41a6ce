//! Paths of values, as people name them: `db.size`, `annotations."example.com/x"`.
//!
//! A list is one value: paths do not lead into it.

use super::Value;

/// The path of a field, given by the names on the way to it.
pub fn value_path<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(step).collect();
    names.join(".")
}

fn step(name: &str) -> String {
    match name.is_empty() || name.contains(['.', '[', '"', '=']) {
        true => format!("{name:?}"),
        false => name.to_owned(),
    }
}

impl Value {
    /// What is at a path, if anything is.
    pub fn at_path(&self, path: &str) -> Option<&Self> {
        let Self::Struct(fields) = self else {
            return None;
        };
        fields.iter().find_map(|(name, value)| {
            let rest = path.strip_prefix(step(name).as_str())?;
            match rest.strip_prefix('.') {
                Some(rest) => value.at_path(rest),
                None => rest.is_empty().then_some(value),
            }
        })
    }

    /// The paths of all fields that hold no others, in order.
    pub fn paths(&self) -> Vec<String> {
        fn walk<'a>(value: &'a Value, names: &mut Vec<&'a str>, found: &mut Vec<String>) {
            match value {
                Value::Struct(fields) if !fields.is_empty() => {
                    for (name, value) in fields {
                        names.push(name);
                        walk(value, names, found);
                        names.pop();
                    }
                }
                _ if names.is_empty() => {}
                _ => found.push(value_path(names.iter().copied())),
            }
        }
        let mut found = Vec::new();
        walk(self, &mut Vec::new(), &mut found);
        found
    }
}
