//! Names that people choose: of releases, modules, components and namespaces.
//!
//! All four end up as Kubernetes label values and inside object names, so one rule serves all:
//! an RFC 1123 label. A value of these types is valid; there is no other way to get one.

use thiserror::Error;

/// The longest RFC 1123 label.
const MAX_LABEL: usize = 63;

/// The longest name of most Kubernetes objects.
pub(crate) const MAX_NAME: usize = 253;

/// A name that breaks the rules, with the rule it breaks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} {given:?} is not valid: {rule}")]
pub struct NameError {
    /// What the name was meant for, such as `release name`.
    pub what: &'static str,
    /// What was given, cut short when very long.
    pub given: String,
    /// The rule it breaks, in words.
    pub rule: &'static str,
}

impl NameError {
    fn new(what: &'static str, given: &str, rule: &'static str) -> Self {
        Self {
            what,
            given: shorten(given),
            rule,
        }
    }
}

/// At most the first 80 characters: an error message is no place for a megabyte.
pub(crate) fn shorten(given: &str) -> String {
    match given.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", &given[..cut]),
        None => given.to_owned(),
    }
}

/// Whether a text is a kind: one word of letters and digits.
pub(crate) fn is_kind(text: &str) -> bool {
    text.len() <= MAX_LABEL
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Whether a text is an API group; the core group is empty.
pub(crate) fn is_group(text: &str) -> bool {
    text.is_empty() || text.len() <= MAX_NAME && text.split('.').all(is_label)
}

/// Whether a text is an RFC 1123 label.
pub(crate) fn is_label(text: &str) -> bool {
    broken_label_rule(text).is_none()
}

/// The first rule of RFC 1123 labels that `given` breaks.
fn broken_label_rule(given: &str) -> Option<&'static str> {
    let bytes = given.as_bytes();
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    if bytes.is_empty() {
        return Some("it must not be empty");
    }
    if !bytes.iter().all(|b| alphanumeric(b) || *b == b'-') {
        return Some("only lower-case letters, digits and '-' are allowed");
    }
    if bytes.len() > MAX_LABEL {
        return Some("it must have at most 63 characters");
    }
    if !bytes.first().is_some_and(alphanumeric) || !bytes.last().is_some_and(alphanumeric) {
        return Some("it must start and end with a letter or a digit");
    }
    None
}

/// A type that wraps a text reads and prints as that text.
macro_rules! text_type {
    ($name:ident) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}
pub(crate) use text_type;

macro_rules! label_name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Takes a name that follows the rule for RFC 1123 labels.
            pub fn new(given: impl Into<String>) -> Result<Self, NameError> {
                let given = given.into();
                match broken_label_rule(&given) {
                    Some(rule) => Err(NameError::new($what, &given, rule)),
                    None => Ok(Self(given)),
                }
            }
        }

        text_type!($name);

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(given: &str) -> Result<Self, NameError> {
                Self::new(given)
            }
        }
    };
}

label_name!(
    /// The name under which a module is deployed.
    ReleaseName,
    "release name"
);
label_name!(
    /// The name that a module declares for itself.
    ModuleName,
    "module name"
);
label_name!(
    /// The name of a group of resources inside a module.
    ComponentName,
    "component name"
);
label_name!(
    /// The name of a Kubernetes namespace.
    NamespaceName,
    "namespace"
);

/// A module is called like its release unless somebody says otherwise; both follow one rule.
impl From<&ReleaseName> for ModuleName {
    fn from(release: &ReleaseName) -> Self {
        Self(release.0.clone())
    }
}

/// How the paths of modules begin that declare none.
pub(crate) const LOCAL: &str = "local/";

/// Where a module comes from: a CUE module path with or without its major version
/// (`opmodel.dev/modules/minecraft@v0`), or `local/<name>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModulePath(String);

impl ModulePath {
    /// Takes a path of slash-separated segments, with an optional `@vN` behind.
    pub fn new(given: impl Into<String>) -> Result<Self, NameError> {
        let given = given.into();
        match broken_path_rule(&given) {
            Some(rule) => Err(NameError::new("module path", &given, rule)),
            None => Ok(Self(given)),
        }
    }

    /// The path of a module that declares none.
    pub fn local(module: &ModuleName) -> Self {
        Self(format!("{LOCAL}{module}"))
    }

    /// The path without its `@vN`: what stays the same through every version of a module.
    pub fn without_major(&self) -> &str {
        self.0
            .split_once('@')
            .map_or(self.0.as_str(), |(path, _)| path)
    }
}

text_type!(ModulePath);

/// The first rule of module paths that `given` breaks.
fn broken_path_rule(given: &str) -> Option<&'static str> {
    let (path, major) = match given.split_once('@') {
        Some((path, major)) => (path, Some(major)),
        None => (given, None),
    };
    if path.is_empty() {
        return Some("it must not be empty");
    }
    if given.len() > 255 {
        return Some("it must have at most 255 characters");
    }
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._~".contains(&b);
    if !path.bytes().all(|b| allowed(b) || b == b'/') {
        return Some("only lower-case letters, digits, '-', '.', '_', '~' and '/' are allowed");
    }
    if path
        .split('/')
        .any(|segment| segment.is_empty() || segment == "." || segment == "..")
    {
        return Some("no part between slashes may be empty, '.' or '..'");
    }
    let is_major = |m: &str| {
        m.strip_prefix('v').is_some_and(|n| {
            !n.is_empty()
                && n.bytes().all(|b| b.is_ascii_digit())
                && (n == "0" || !n.starts_with('0'))
        })
    };
    if major.is_some_and(|m| !is_major(m)) {
        return Some("what follows '@' must be a major version such as 'v0'");
    }
    None
}
