//! Where in an object a value stands, and what that place means.

use std::fmt::Write as _;

use super::shown::LAST_APPLIED;

/// One step from an object's top to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep<'a> {
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

pub(super) fn is_server_made(trail: &[PathStep]) -> bool {
    match trail {
        [PathStep::Field("status")] => true,
        [PathStep::Field("metadata"), PathStep::Field(field)] => SERVER_MADE.contains(field),
        _ => false,
    }
}

/// Whether what stands here must not be seen. A Secret's keys may, its values not.
pub(super) fn is_masked(trail: &[PathStep], secret: bool, is_mapping: bool) -> bool {
    match trail {
        [PathStep::Field("data" | "stringData")] => secret && !is_mapping,
        [PathStep::Field("data" | "stringData"), ..] => secret,
        [.., PathStep::Field(LAST_APPLIED)] => true,
        _ => false,
    }
}

/// Whether a mapping that appears or goes here is reported key by key.
pub(super) fn is_reported_by_key(trail: &[PathStep], secret: bool) -> bool {
    match trail {
        [PathStep::Field("metadata")] => true,
        [
            PathStep::Field("metadata"),
            PathStep::Field("annotations" | "labels"),
        ] => true,
        [PathStep::Field("data" | "stringData")] => secret,
        _ => false,
    }
}

/// Whether a value of a built-in kind is a quantity by its place.
pub(crate) fn holds_quantity(trail: &[PathStep]) -> bool {
    use PathStep::{Field, Item};
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
pub(crate) fn path(trail: &[PathStep]) -> String {
    let mut text = String::new();
    for step in trail {
        // Writing into a String cannot fail.
        let _ = match step {
            PathStep::Field(key) if is_plain(key) && text.is_empty() => write!(text, "{key}"),
            PathStep::Field(key) if is_plain(key) => write!(text, ".{key}"),
            PathStep::Field(key) => write!(text, "[{key:?}]"),
            PathStep::Item(which) => write!(text, "[{which}]"),
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
