//! `--set KEY=VALUE` and its kin, taken apart.

use std::fmt;

use super::key::{KeyPath, closing_quote};
use super::{ValuesError, literal};

/// What an assignment gives.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum AssignedValue {
    /// A literal if the module takes one there, else the text itself. The source is one line.
    Either {
        /// The literal as CUE source.
        literal: String,
        /// The text as typed.
        text: String,
    },
    /// A text.
    Text(String),
}

/// One value for one path.
#[derive(Clone)]
pub(crate) struct Assignment {
    pub(crate) key: KeyPath,
    pub(crate) value: AssignedValue,
    /// The flag with its key, for messages; never the value, which may be a password.
    pub(crate) shown: String,
}

impl fmt::Debug for Assignment {
    /// Without the value, which may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Assignment").field(&self.shown).finish()
    }
}

impl Assignment {
    /// `--set KEY=VALUE`.
    pub(super) fn literal(given: &str) -> Result<Self, ValuesError> {
        let (key, text) = split("--set", given)?;
        let value = match literal::is_literal(text) {
            true => AssignedValue::Either {
                // Between the parts of a literal a line break is as good as a space.
                literal: text.trim().replace(['\n', '\r'], " "),
                text: text.to_owned(),
            },
            false => AssignedValue::Text(text.to_owned()),
        };
        Self::new("--set", key, value)
    }

    /// `--set-string KEY=VALUE`.
    pub(super) fn string(given: &str) -> Result<Self, ValuesError> {
        let (key, text) = split("--set-string", given)?;
        Self::new("--set-string", key, AssignedValue::Text(text.to_owned()))
    }

    /// `--set-file KEY=FILE`, with the file's content.
    pub(super) fn content(key: &str, content: String) -> Result<Self, ValuesError> {
        Self::new("--set-file", key, AssignedValue::Text(content))
    }

    /// Whether it takes a key away.
    pub(super) fn removes(&self) -> bool {
        matches!(&self.value, AssignedValue::Either { literal, .. } if literal == "null")
    }

    fn flag(&self) -> &str {
        self.shown.split(' ').next().unwrap_or_default()
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.key == other.key && self.value == other.value
    }

    fn new(flag: &'static str, key: &str, value: AssignedValue) -> Result<Self, ValuesError> {
        let parsed = KeyPath::parse(key);
        let key = parsed.map_err(|why| ValuesError::Assignment {
            flag,
            given: key.to_owned(),
            why,
        })?;
        let shown = format!("{flag} {key}");
        Ok(Self { key, value, shown })
    }
}

/// Key and value of an assignment; the first `=` that is not inside quotes parts them.
pub(super) fn split<'a>(
    flag: &'static str,
    given: &'a str,
) -> Result<(&'a str, &'a str), ValuesError> {
    let mut at = 0;
    while let Some(c) = given[at..].chars().next() {
        match c {
            '=' => return Ok((&given[..at], &given[at + 1..])),
            '"' => at += closing_quote(&given[at + 1..]).map_or(0, |end| end + 1),
            _ => {}
        }
        at += c.len_utf8();
    }
    let why = "expected KEY=VALUE".to_owned();
    Err(ValuesError::Assignment {
        flag,
        given: given.to_owned(),
        why,
    })
}

/// Refuses two assignments by different flags of which one replaces, or reaches into, the other:
/// of one flag the later counts, but which of two flags came later is not known here.
pub(super) fn check_conflicts(assignments: &[Assignment]) -> Result<(), ValuesError> {
    for (place, second) in assignments.iter().enumerate() {
        let contradicts = |first: &&Assignment| {
            let overlaps = second.key.is_within(&first.key) || first.key.is_within(&second.key);
            overlaps && first.flag() != second.flag() && !first.says_the_same(second)
        };
        if let Some(first) = assignments[..place].iter().find(contradicts) {
            return Err(ValuesError::Conflict {
                first: first.shown.clone(),
                second: second.shown.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting() {
        for (given, expected) in [
            ("a=b", Some(("a", "b"))),
            ("a=", Some(("a", ""))),
            ("a=b=c", Some(("a", "b=c"))),
            ("\"a=b\"=c", Some(("\"a=b\"", "c"))),
            ("größe=ü", Some(("größe", "ü"))),
            ("a", None),
            ("\"a=b", Some(("\"a", "b"))),
        ] {
            assert_eq!(split("--set", given).ok(), expected, "{given}");
        }
    }

    #[test]
    fn conflicts() {
        for (set, strings, conflict) in [
            (&["a=1", "a=2"][..], &[][..], false),
            (&["a={}", "a.b=2"], &[], false),
            (&["a=1"], &["b=2"], false),
            (&["a.b=1"], &["a.c=2"], false),
            (&["a=x"], &["a=x"], false),
            (&["a=1"], &["a=2"], true),
            (&["a={}"], &["a.b=2"], true),
            (&["a.b.c=1", "x=1"], &["a.b=2"], true),
            (&["ab=1"], &["a=2"], false),
        ] {
            let set = set.iter().map(|given| Assignment::literal(given));
            let strings = strings.iter().map(|given| Assignment::string(given));
            let all: Vec<_> = set.chain(strings).map(Result::unwrap).collect();
            let given = &all;
            assert_eq!(check_conflicts(&all).is_err(), conflict, "{given:?}");
        }
    }
}
