//! Names of features: kebab-case, so that they read well on a command line, in a variable and
//! as a key of a stored map.

use std::borrow::{Borrow, Cow};

use super::FeatureError;
use crate::name::text_type;

/// Long enough to say what it is, short enough for a table.
const MAX: usize = 63;

/// The name of a feature. A value of this type is kebab-case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureName(Cow<'static, str>);

impl FeatureName {
    /// Takes a name that is kebab-case: words of lower-case letters and digits, the first
    /// beginning with a letter, with one `-` between them.
    pub fn new(given: impl Into<String>) -> Result<Self, FeatureError> {
        let given = given.into();
        match broken_rule(given.as_bytes()) {
            Some(rule) => {
                let given = given.chars().take(80).collect();
                Err(FeatureError::Name { given, rule })
            }
            None => Ok(Self(Cow::Owned(given))),
        }
    }

    /// A name that is written in the source. In a constant, a bad one does not compile.
    pub(super) const fn literal(given: &'static str) -> Self {
        assert!(broken_rule(given.as_bytes()).is_none());
        Self(Cow::Borrowed(given))
    }
}

/// The first rule of kebab-case that `given` breaks.
const fn broken_rule(given: &[u8]) -> Option<&'static str> {
    if given.is_empty() {
        return Some("it must not be empty");
    }
    if given.len() > MAX {
        return Some("it must have at most 63 characters");
    }
    if !given[0].is_ascii_lowercase() {
        return Some("it must start with a lower-case letter");
    }
    let mut at = 0;
    while at < given.len() {
        let dash = given[at] == b'-';
        if !(dash || given[at].is_ascii_lowercase() || given[at].is_ascii_digit()) {
            return Some("only lower-case letters, digits and '-' are allowed");
        }
        if dash && (at + 1 == given.len() || given[at + 1] == b'-') {
            return Some("every '-' must stand between two words");
        }
        at += 1;
    }
    None
}

impl AsRef<str> for FeatureName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for FeatureName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

text_type!(FeatureName);

impl std::str::FromStr for FeatureName {
    type Err = FeatureError;

    fn from_str(given: &str) -> Result<Self, FeatureError> {
        Self::new(given)
    }
}
