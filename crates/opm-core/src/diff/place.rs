//! Where in an object a value stands, and what that place means.

use std::fmt::Write as _;

use super::shown::LAST_APPLIED;

/// One step from an object's top to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Into a field.
    Field(&'a str),
    /// Into an item of a list: its index, or its merge keys.
    Item(String),
}

/// The fields of the metadata that only the server writes.
const SERVER_MADE: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

pub(super) fn is_server_made(trail: &[Step]) -> bool {
    match trail {
        [Step::Field("status")] => true,
        [Step::Field("metadata"), Step::Field(field)] => SERVER_MADE.contains(field),
        _ => false,
    }
}

/// Whether what stands here must not be seen. A Secret's keys may, its values not.
pub(super) fn is_masked(trail: &[Step], secret: bool, is_mapping: bool) -> bool {
    match trail {
        [Step::Field("data" | "stringData")] => secret && !is_mapping,
        [Step::Field("data" | "stringData"), ..] => secret,
        [.., Step::Field(LAST_APPLIED)] => true,
        _ => false,
    }
}

/// Whether a mapping that appears or goes here is told key by key.
pub(super) fn is_told_by_key(trail: &[Step], secret: bool) -> bool {
    match trail {
        [Step::Field("metadata")] => true,
        [
            Step::Field("metadata"),
            Step::Field("annotations" | "labels"),
        ] => true,
        [Step::Field("data" | "stringData")] => secret,
        _ => false,
    }
}

/// Whether a value of a built-in kind is a quantity by its place.
pub(crate) fn holds_quantity(trail: &[Step]) -> bool {
    use Step::{Field, Item};
    match trail {
        [
            ..,
            Field("resources"),
            Field("limits" | "requests"),
            Field(_),
        ]
        | [Field("spec"), Field("capacity" | "hard"), Field(_)]
        | [Field("overhead"), Field("podFixed"), Field(_)]
        | [.., Field("spec"), Field("overhead"), Field(_)]
        | [.., Field("emptyDir"), Field("sizeLimit")]
        | [.., Field("resourceFieldRef"), Field("divisor")]
        | [.., Field("target"), Field("averageValue" | "value")] => true,
        [
            Field("spec"),
            Field("limits"),
            Item(_),
            Field(limit),
            Field(_),
        ] => [
            "default",
            "defaultRequest",
            "max",
            "maxLimitRequestRatio",
            "min",
        ]
        .contains(limit),
        _ => false,
    }
}

/// The path in words: `spec.containers[name="web"].args[0]`.
pub(crate) fn path(trail: &[Step]) -> String {
    let mut text = String::new();
    for step in trail {
        // Writing into a String cannot fail.
        let _ = match step {
            Step::Field(key) if is_plain(key) && text.is_empty() => write!(text, "{key}"),
            Step::Field(key) if is_plain(key) => write!(text, ".{key}"),
            Step::Field(key) => write!(text, "[{key:?}]"),
            Step::Item(which) => write!(text, "[{which}]"),
        };
    }
    text
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
