//! YAML and JSON text, read into plain JSON values and written back.
//!
//! The only module that knows the YAML libraries. Reading is bounded (size, nodes, nesting,
//! aliases), refuses duplicate keys, and never quotes the text in an error: it may be a Secret's.
//! Manifests mean what `kubectl` makes of them (`scalar`); opm's own files follow YAML 1.2, plus
//! octal numbers such as `0644`.

pub(crate) mod locate;
mod scalar;
mod tree;
mod written;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, Options};
use thiserror::Error as ThisError;

/// The most words that are remembered as read otherwise elsewhere.
pub(crate) const MAX_WORDS: usize = 100;

/// How deep mappings and lists may nest.
pub const MAX_DEPTH: usize = 100;

/// How many nodes aliases may repeat in one of opm's own files.
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

impl Position {
    /// The place, so many lines further down.
    pub(crate) fn below(self, lines: u64) -> Self {
        Self {
            line: self.line + lines,
            ..self
        }
    }
}

/// One document of a stream and the line it begins at.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line of its first node.
    pub line: u64,
    /// What it holds.
    pub value: Value,
    /// Unquoted words in it that other readers of YAML take for text.
    pub words: Vec<Word>,
}

/// An unquoted word that is a boolean here, as it is for `kubectl`, and a text in YAML 1.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub word: String,
    /// What it means.
    pub value: bool,
    /// Whether it is a key.
    pub is_key: bool,
    /// Where it stands.
    pub position: Position,
}

/// How much memory the values of a rendering's texts may take: some for every text, and more for
/// longer ones. A mapping takes some hundred bytes however short its text is.
///
/// Clones take from the same budget, so that texts can be read side by side.
#[derive(Debug, Default)]
pub(crate) struct MemoryBudget {
    /// What was taken from the pool and is not used yet.
    left: usize,
    pool: Arc<MemoryPool>,
}

#[derive(Debug, Default)]
struct MemoryPool {
    taken: AtomicUsize,
    text: AtomicUsize,
}

/// As much as any text may take.
const FREE_BYTES: usize = 256 << 20;
/// Beyond that, how many times the size of the text.
const TIMES_TEXT: usize = 20;
/// About what a key or a value takes beside its own text.
const NODE_BYTES: usize = 64;
/// About what a mapping takes as soon as it has a key.
const MAPPING_BYTES: usize = 640;
/// How much is taken from the pool at once, at least.
const BLOCK_BYTES: usize = 64 << 10;

impl Clone for MemoryBudget {
    fn clone(&self) -> Self {
        Self {
            left: 0,
            pool: Arc::clone(&self.pool),
        }
    }
}

impl MemoryBudget {
    /// Takes another text into account.
    pub(crate) fn admit(&mut self, bytes: usize) {
        self.pool.text.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a key, or a value with so much text.
    pub(crate) fn node(&mut self, text: usize) -> Result<(), &'static str> {
        self.take(NODE_BYTES.saturating_add(text))
    }

    /// Counts a mapping that is not empty.
    pub(crate) fn mapping(&mut self) -> Result<(), &'static str> {
        self.take(MAPPING_BYTES)
    }

    /// Counts what an alias repeats, or an anchor remembers.
    pub(crate) fn copy(&mut self, copied: &Size) -> Result<(), &'static str> {
        let nodes = copied.nodes.saturating_mul(NODE_BYTES);
        let mappings = copied.mappings.saturating_mul(MAPPING_BYTES);
        self.take(nodes.saturating_add(mappings).saturating_add(copied.bytes))
    }

    /// How much is taken, and of how much text, to go back to.
    pub(crate) fn state(&self) -> (usize, usize) {
        let MemoryPool { taken, text } = &*self.pool;
        (taken.load(Ordering::Relaxed), text.load(Ordering::Relaxed))
    }

    /// Goes back to an earlier state: what was read since is gone.
    pub(crate) fn restore(&mut self, (taken, text): (usize, usize)) {
        self.pool.taken.store(taken, Ordering::Relaxed);
        self.pool.text.store(text, Ordering::Relaxed);
        self.left = 0;
    }

    fn take(&mut self, bytes: usize) -> Result<(), &'static str> {
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return Ok(());
        }
        let more = (bytes - self.left).max(BLOCK_BYTES);
        let taken = self.pool.taken.fetch_add(more, Ordering::Relaxed);
        let text = self.pool.text.load(Ordering::Relaxed);
        self.left = self.left + more - bytes;
        match taken.saturating_add(more) <= FREE_BYTES.max(text.saturating_mul(TIMES_TEXT)) {
            true => Ok(()),
            false => Err("it holds too many keys and values for its size"),
        }
    }
}

/// How large a value is.
#[derive(Debug, Default)]
pub(crate) struct Size {
    /// Its values, itself included.
    nodes: usize,
    /// Those that are mappings with a key.
    mappings: usize,
    /// The bytes of its texts.
    bytes: usize,
}

/// All documents of a stream; empty ones and plain nulls are left out.
pub fn documents(text: &str) -> Result<Vec<Document>, YamlError> {
    documents_within(text, &mut MemoryBudget::default())
}

/// The same, within a budget that several texts share.
pub(crate) fn documents_within(
    text: &str,
    budget: &mut MemoryBudget,
) -> Result<Vec<Document>, YamlError> {
    tree::documents(text, budget)
}

/// The one document that the text must hold, as a type of its own.
pub fn document<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|e| explain(&e))
}

/// Writes documents so that they read back equal, here and by `kubectl`, each behind a `---`.
/// What a terminal would obey is written as an escape.
pub fn write<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<String, YamlError> {
    let mut text = String::new();
    for value in values {
        text.push_str("---\n");
        written::append(&mut text, &written::Marked(value))?;
    }
    Ok(text)
}

/// Writes one object so that it reads back equal, behind a `---`.
pub fn write_object(object: &Map<String, Value>) -> Result<String, YamlError> {
    let mut text = String::from("---\n");
    written::append(&mut text, &written::MarkedFields(object))?;
    Ok(text)
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            // The library's own limits are for small files, and a module may have many components.
            max_events: 4_000_000,
            max_nodes: 4_000_000,
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
