//! YAML and JSON text, read into plain JSON values and written back.
//!
//! The only module that knows the YAML library. Reading is bounded (size, nesting, aliases),
//! refuses duplicate keys, and never quotes the text in an error: it may be a Secret's. What
//! unquoted scalars mean follows YAML 1.2, plus the octal numbers (`0644`) that manifests are
//! full of; `yes`, `on` and dates are strings.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, Options, Spanned};
use thiserror::Error as ThisError;

/// How deep mappings and lists may nest.
pub const MAX_DEPTH: usize = 100;

/// How many nodes aliases may repeat in one text: plenty for honest files, nothing for a bomb.
const MAX_REPLAYED: usize = 200_000;

/// Why a text cannot be read as YAML.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum YamlError {
    /// A field that the format does not know.
    #[error("unknown field `{field}`")]
    UnknownField {
        /// The field.
        field: String,
        /// The fields that may stand there.
        known: Vec<&'static str>,
        /// Where, counted from one.
        position: Option<Position>,
    },
    /// Anything else that is wrong with the text.
    #[error("{message}")]
    Invalid {
        /// What is wrong, without quoting the text.
        message: String,
        /// Where, counted from one.
        position: Option<Position>,
    },
    /// A value that YAML cannot express.
    #[error("failed to write YAML: {0}")]
    Write(String),
}

impl YamlError {
    /// Where in the text the error is.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::UnknownField { position, .. } | Self::Invalid { position, .. } => *position,
            Self::Write(_) => None,
        }
    }
}

/// A place in a text, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

/// One document of a stream and the line it begins at.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line of its first node.
    pub line: u64,
    /// What it holds.
    pub value: Value,
}

/// All documents of a stream; empty ones and plain nulls are left out.
pub fn documents(text: &str) -> Result<Vec<Document>, YamlError> {
    let spanned: Vec<Spanned<Value>> =
        serde_saphyr::from_multiple_with_options(text, options()).map_err(|e| explain(&e))?;
    Ok(spanned
        .into_iter()
        .map(|s| Document {
            line: s.referenced.line(),
            value: s.value,
        })
        .collect())
}

/// The one document that the text must hold, as a type of its own.
pub fn document<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|e| explain(&e))
}

/// Writes documents so that they read back equal, each behind a `---`.
pub fn write<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<String, YamlError> {
    let mut text = String::new();
    for value in values {
        text.push_str("---\n");
        let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
        serde_saphyr::to_fmt_writer_with_options(&mut text, value, options)
            .map_err(|e| YamlError::Write(e.to_string()))?;
    }
    Ok(text)
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            // The size of the text bounds these; the library's own limits are for small files.
            max_events: 20_000_000,
            max_nodes: 20_000_000,
            max_documents: 100_000,
            max_recorded_anchor_events: MAX_REPLAYED,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPLAYED },
        emit_comments: false,
        strict_booleans: true,
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}

fn explain(error: &Error) -> YamlError {
    let error = error.without_snippet();
    let position = error.location().filter(|l| l.line() > 0).map(|l| Position {
        line: l.line(),
        column: l.column(),
    });
    if let Error::SerdeUnknownField {
        field, expected, ..
    } = error
    {
        let field = field.clone();
        return YamlError::UnknownField {
            field,
            known: expected.to_vec(),
            position,
        };
    }
    YamlError::Invalid {
        message: message(error),
        position,
    }
}

/// The library's words, except where they speak of its own settings.
fn message(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{key}` occurs twice in one mapping")
        }
        Error::DuplicateMappingKey { key: None, .. } => {
            "a key occurs twice in one mapping".to_owned()
        }
        Error::NonFiniteFloat { .. } => {
            "a number is out of range: JSON has no infinity and no NaN".to_owned()
        }
        Error::NullIntoString { .. } => "null is not allowed where a string is expected".to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "an alias refers to a node that contains it".to_owned()
        }
        Error::AliasError { error, .. } => message(error),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => TOO_MANY_ALIASES.to_owned(),
        Error::Budget { breach, .. } => over_budget(breach),
        other => first_line(&other.to_string()),
    }
}

const TOO_MANY_ALIASES: &str = "its aliases expand to too many nodes";

fn over_budget(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { .. } => format!("it nests deeper than {MAX_DEPTH} levels"),
        BudgetBreach::Documents { .. } => "it holds too many documents".to_owned(),
        BudgetBreach::Aliases { .. }
        | BudgetBreach::Anchors { .. }
        | BudgetBreach::RecordedAnchorEvents { .. }
        | BudgetBreach::RecordedAnchorBytes { .. }
        | BudgetBreach::AliasAnchorRatio { .. }
        | BudgetBreach::MergeKeys { .. } => TOO_MANY_ALIASES.to_owned(),
        _ => "it is too large to be read".to_owned(),
    }
}

/// The library's message ends with the place, which is told apart from it here.
fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.split(" at line ")
        .next()
        .unwrap_or(line)
        .trim_end_matches([',', ':', ' '])
        .to_owned()
}
