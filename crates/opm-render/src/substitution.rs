//! `${values.port}` and its kin in manifests: replaced in parsed documents, never in text, so that
//! no value can become anything but a value.
//!
//! A text that is nothing but one expression takes the value's type. `$${` is a literal `${`. What
//! a value holds is not looked at again.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use opm_core::ids::ReleaseId;
use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::nearest::{did_you_mean, nearest};
use opm_core::rendered::Module;
use opm_core::values::Value;
use serde_json::{Map, Value as Json};
use thiserror::Error;

use crate::values::{KeyPath, Segment};
use crate::zarf::Markers;

/// The most bytes that values may put into a module's manifests.
pub(crate) const MAX_BYTES: usize = 128 << 20;

/// Why an expression cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct SubstitutionError {
    problem: String,
    hint: Option<String>,
    /// As it stands in the text.
    pub(crate) expression: String,
}

impl SubstitutionError {
    fn new(expression: &str, problem: &str) -> Self {
        let expression = format!("${{{expression}}}");
        Self {
            problem: format!("{expression} {problem}"),
            hint: None,
            expression,
        }
    }

    /// An error about a marker, which stands in the text as `expression`.
    pub(crate) fn of_marker(problem: String, hint: Option<String>, expression: String) -> Self {
        Self {
            problem,
            hint,
            expression,
        }
    }

    /// The same, about what stands in the text as `expression`.
    pub(crate) fn at(self, expression: &str) -> Self {
        let expression = expression.to_owned();
        Self { expression, ..self }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// What is replaced in a module's manifests.
#[derive(Debug)]
pub(crate) enum Replaced {
    /// `${values.port}` and its kin.
    Expressions(Substitution),
    /// The markers of a package.
    Markers(Markers),
}

impl Replaced {
    /// The text as it can be read before anything is replaced.
    pub(crate) fn readable<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Expressions(_) => Cow::Borrowed(text),
            Self::Markers(markers) => markers.readable(text),
        }
    }

    /// Replaces whatever stands for something in the texts and keys of a document.
    pub(crate) fn apply(&self, document: &mut Json) -> Result<(), SubstitutionError> {
        match self {
            Self::Expressions(with) => with.apply(document),
            Self::Markers(with) => with.apply(document),
        }
    }
}

/// What expressions stand for.
#[derive(Debug)]
pub(crate) struct Substitution {
    values: Value,
    /// Names beside the values, and what they stand for.
    names: Vec<(&'static str, String)>,
    used: AtomicUsize,
}

impl Substitution {
    /// What expressions mean for one release of a module.
    pub(crate) fn new(
        values: &Value,
        module: &Module,
        name: &ReleaseName,
        namespace: &NamespaceName,
    ) -> Self {
        let id = ReleaseId::of(&module.path, name, namespace);
        let mut names = vec![
            ("release.name", name.to_string()),
            ("release.namespace", namespace.to_string()),
            ("release.id", id.to_string()),
            ("module.name", module.name.to_string()),
        ];
        names.extend(
            module
                .version
                .clone()
                .map(|version| ("module.version", version)),
        );
        Self {
            values: values.clone(),
            names,
            used: AtomicUsize::new(0),
        }
    }

    /// Replaces every expression in the texts and keys of a document.
    pub(crate) fn apply(&self, document: &mut Json) -> Result<(), SubstitutionError> {
        match document {
            Json::String(text) if text.contains("${") => *document = self.leaf(text)?,
            Json::Array(items) => {
                for item in items {
                    self.apply(item)?;
                }
            }
            Json::Object(fields) => {
                for value in fields.values_mut() {
                    self.apply(value)?;
                }
                if fields.keys().any(|key| key.contains("${")) {
                    *fields = self.keys(std::mem::take(fields))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What a text becomes.
    pub(crate) fn replaced(&self, text: &str) -> Result<Json, SubstitutionError> {
        let mut replaced = Json::from(text);
        self.apply(&mut replaced)?;
        Ok(replaced)
    }

    fn keys(&self, fields: Map<String, Json>) -> Result<Map<String, Json>, SubstitutionError> {
        let is_expression = |(key, _): &(String, Json)| key.contains("${");
        let (made, plain): (Vec<_>, Vec<_>) = fields.into_iter().partition(is_expression);
        let mut replaced: Map<String, Json> = plain.into_iter().collect();
        for (key, value) in made {
            if replaced.insert(self.text(&key)?, value).is_some() {
                let expression = expression_in(&key).unwrap_or_default();
                let problem = "makes two keys of one mapping the same";
                return Err(SubstitutionError::new(expression, problem));
            }
        }
        Ok(replaced)
    }

    /// A text that is one expression is that value; any other is a text again.
    fn leaf(&self, text: &str) -> Result<Json, SubstitutionError> {
        let alone = expression_in(text).filter(|inner| text.len() == inner.len() + 3);
        match alone {
            Some(expression) => {
                let value = self.value(expression)?;
                self.count(size(&value), expression)?;
                Ok(value.to_json())
            }
            None => self.text(text).map(Json::String),
        }
    }

    /// A text with every expression replaced.
    pub(crate) fn text(&self, text: &str) -> Result<String, SubstitutionError> {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            replaced.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("$${") {
                replaced.push_str("${");
                rest = after;
            } else if rest.starts_with("${") {
                let expression = expression_in(rest)
                    .ok_or_else(|| unclosed(rest.lines().next().unwrap_or(rest)))?;
                let shown = self.shown(expression)?;
                self.count(shown.len(), expression)?;
                replaced.push_str(&shown);
                rest = &rest[expression.len() + 3..];
            } else {
                replaced.push('$');
                rest = &rest[1..];
            }
        }
        replaced.push_str(rest);
        Ok(replaced)
    }

    /// A value inside a text.
    fn shown(&self, expression: &str) -> Result<String, SubstitutionError> {
        let what = match self.value(expression)? {
            Value::String(text) => return Ok(text),
            Value::Number(number) => return Ok(number.to_string()),
            Value::Bool(flag) => return Ok(flag.to_string()),
            Value::Null => "null",
            Value::List(_) => "a list",
            Value::Struct(_) => "a mapping",
        };
        let problem = format!("is {what}, so it must be the whole value");
        Err(SubstitutionError::new(expression, &problem))
    }

    fn value(&self, expression: &str) -> Result<Value, SubstitutionError> {
        let name = expression.trim();
        if let Some((_, value)) = self.names.iter().find(|(known, _)| *known == name) {
            return Ok(Value::String(value.clone()));
        }
        let found = match name.strip_prefix("values.") {
            Some(path) => KeyPath::parse(path).ok().and_then(|path| self.at(&path)),
            None => (name == "values").then_some(&self.values),
        };
        found.cloned().ok_or_else(|| self.unknown(expression))
    }

    fn at(&self, path: &KeyPath) -> Option<&Value> {
        path.0
            .iter()
            .try_fold(&self.values, |value, step| match (value, step) {
                (Value::Struct(fields), Segment::Field(name)) => fields.get(name),
                (Value::List(items), Segment::Index(place)) => items.get(*place),
                _ => None,
            })
    }

    fn unknown(&self, expression: &str) -> SubstitutionError {
        let values = self.values.paths().into_iter();
        let names: Vec<String> = values
            .map(|path| format!("values.{path}"))
            .chain(self.names.iter().map(|(name, _)| (*name).to_owned()))
            .collect();
        let near = nearest(expression.trim(), names.iter().map(String::as_str));
        let missing = match expression.trim() {
            "module.version" => Some("the module declares no version".to_owned()),
            _ => did_you_mean(&near[..near.len().min(1)]),
        };
        let literal = format!("`$${{{expression}}}` is the text itself");
        SubstitutionError {
            hint: Some(missing.unwrap_or(literal)),
            ..SubstitutionError::new(expression, "is not known")
        }
    }

    fn count(&self, bytes: usize, expression: &str) -> Result<(), SubstitutionError> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        match used.saturating_add(bytes) <= MAX_BYTES {
            true => Ok(()),
            false => {
                let problem = format!("puts more than {} MiB into the manifests", MAX_BYTES >> 20);
                Err(SubstitutionError::new(expression, &problem))
            }
        }
    }
}

/// What stands between the braces of the expression that a text begins with.
fn expression_in(text: &str) -> Option<&str> {
    let start = text.find("${")?;
    let inner = &text[start + 2..];
    Some(&inner[..inner.find('}')?])
}

fn unclosed(rest: &str) -> SubstitutionError {
    let shown: String = rest.chars().take(40).collect();
    SubstitutionError {
        problem: "`${` is not closed".to_owned(),
        hint: Some("`$${` is the text itself".to_owned()),
        expression: shown,
    }
}

/// About what a value takes.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 64,
        Value::String(text) => 64 + text.len(),
        Value::List(items) => 64 + items.iter().map(size).sum::<usize>(),
        Value::Struct(fields) => {
            let fields = fields.iter().map(|(key, value)| key.len() + size(value));
            640 + fields.sum::<usize>()
        }
    }
}

/// The line on which an expression stands: the first behind the document's own first that has it
/// and is no comment; the document's own if it is written otherwise there.
pub(crate) fn line_of(text: &str, first: u64, expression: &str) -> u64 {
    let skipped = usize::try_from(first.saturating_sub(1)).unwrap_or_default();
    let lines = text.lines().enumerate().skip(skipped);
    let has = |line: &str| line.contains(expression) && !line.trim_start().starts_with('#');
    let found = lines.into_iter().find(|(_, line)| has(line));
    found.map_or(first, |(at, _)| at as u64 + 1)
}

#[cfg(test)]
mod tests {
    use opm_core::name::ModuleName;
    use serde_json::json;

    use super::*;

    fn substitution(values: &str) -> Substitution {
        let name = ModuleName::new("web").unwrap();
        let module = Module {
            version: Some("1.2.3".to_owned()),
            ..Module::local(name)
        };
        let release = ReleaseName::new("blue").unwrap();
        let namespace = NamespaceName::new("prod").unwrap();
        Substitution::new(
            &Value::from_json(values).unwrap(),
            &module,
            &release,
            &namespace,
        )
    }

    const VALUES: &str = r#"{"port":8080,"host":"h","on":true,"none":null,"list":["a",{"b":1}],
        "map":{"x.y":1,"z":"${values.port}"},"evil":"a: 1\n- ${release.name}"}"#;

    #[test]
    fn expressions_become_values() {
        let substitution = substitution(VALUES);
        for (given, expected) in [
            (json!("${values.port}"), json!(8080)),
            (json!("${ values.port }"), json!(8080)),
            (json!("p${values.port}"), json!("p8080")),
            (json!("${values.port}${values.on}"), json!("8080true")),
            (json!("${values.list}"), json!(["a", {"b": 1}])),
            (json!("${values.list[1].b}"), json!(1)),
            (json!("${values.map.\"x.y\"}"), json!(1)),
            (json!("${values.none}"), json!(null)),
            (json!("${values.evil}"), json!("a: 1\n- ${release.name}")),
            (json!("${values.map.z}!"), json!("${values.port}!")),
            (
                json!("${release.name}-${release.namespace}"),
                json!("blue-prod"),
            ),
            (
                json!("${module.name}:${module.version}"),
                json!("web:1.2.3"),
            ),
            (
                json!("$${HOME} costs $5 and $"),
                json!("${HOME} costs $5 and $"),
            ),
            (
                json!({"${values.host}/a": ["${values.on}"]}),
                json!({"h/a": [true]}),
            ),
            (json!({"a": 1, "b": null}), json!({"a": 1, "b": null})),
        ] {
            let mut document = given.clone();
            substitution.apply(&mut document).unwrap();
            assert_eq!(document, expected, "{given}");
        }
    }

    #[test]
    fn what_is_wrong_says_what_was_meant() {
        let substitution = substitution(VALUES);
        for (given, problem, hint) in [
            (
                json!("${values.prot}"),
                "${values.prot} is not known",
                "did you mean `values.port`?",
            ),
            (
                json!("${relase.name}"),
                "${relase.name} is not known",
                "did you mean `release.name`?",
            ),
            (
                json!("${HOME}"),
                "${HOME} is not known",
                "`$${HOME}` is the text itself",
            ),
            (
                json!("${values.list[7]}"),
                "${values.list[7]} is not known",
                "did you mean `values.list`?",
            ),
            (
                json!("x ${values.list}"),
                "${values.list} is a list, so it must be the whole value",
                "",
            ),
            (
                json!("x ${values.none}"),
                "${values.none} is null, so it must be the whole value",
                "",
            ),
            (
                json!("x ${values.port"),
                "`${` is not closed",
                "`$${` is the text itself",
            ),
            (
                json!({"h": 1, "${values.host}": 2}),
                "${values.host} makes two keys of one mapping the same",
                "",
            ),
        ] {
            let error = substitution.apply(&mut given.clone()).unwrap_err();
            assert_eq!(error.to_string(), problem);
            assert_eq!(error.hint().unwrap_or_default(), hint, "{given}");
        }
    }

    #[test]
    fn values_cannot_fill_the_memory() {
        let big = "x".repeat(1 << 20);
        let substitution = substitution(&json!({ "big": big }).to_string());
        let mut many = json!(vec!["${values.big}"; 200]);
        let error = substitution.apply(&mut many).unwrap_err();
        assert!(error.to_string().contains("more than 128 MiB"), "{error}");
    }

    #[test]
    fn the_line_is_that_of_the_expression() {
        let text = "a: 1\n---\n# ${x}\nb: 2\nc: ${x}\n";
        assert_eq!(line_of(text, 3, "${x}"), 5);
        assert_eq!(line_of(text, 3, "${y}"), 3);
    }
}
