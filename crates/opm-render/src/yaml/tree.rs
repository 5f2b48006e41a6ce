//! The events of the YAML parser, built into values: without recursion, within a budget of
//! memory that all texts of one rendering share, and with the meaning that `kubectl` gives them.
//!
//! Two keys of one mapping that are the same are an error, where `kubectl` takes the last.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use serde_json::{Map, Value};

use super::{
    Document, MAX_DEPTH, MAX_WORDS, MemoryBudget, Position, Size, TOO_MANY_ALIASES, Word,
    YamlError, scalar,
};

/// How many nodes aliases may repeat in one text: plenty for honest files, nothing for a bomb.
const MAX_COPIED_NODES: usize = 200_000;
/// How many bytes of text they may repeat.
const MAX_COPIED_BYTES: usize = 16 << 20;

/// All documents of a text; empty ones are left out.
pub(super) fn documents(text: &str, budget: &mut MemoryBudget) -> Result<Vec<Document>, YamlError> {
    let options = granit_parser::options! {
        emit_comments: false,
        // One more than is allowed, so that the error is in our words.
        flow_nesting_limit: MAX_DEPTH + 1,
        block_nesting_limit: MAX_DEPTH + 1,
    };
    budget.admit(text.len());
    let mut tree = Tree::new(budget);
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| unreadable(&error))?;
        let at = Position {
            line: span.start.line() as u64,
            column: span.start.col() as u64 + 1,
        };
        tree.take(event, at)?;
    }
    Ok(tree.documents)
}

fn unreadable(error: &ScanError) -> YamlError {
    let at = error.marker();
    let position = (at.line() > 0).then(|| Position {
        line: at.line() as u64,
        column: at.col() as u64 + 1,
    });
    let message = super::first_line(&error.info());
    YamlError::Invalid { message, position }
}

fn invalid(at: Position, message: impl Into<String>) -> YamlError {
    YamlError::Invalid {
        message: message.into(),
        position: Some(at),
    }
}

/// A mapping or a list that is not at its end yet.
struct Open {
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Value>),
    Mapping {
        fields: Map<String, Value>,
        /// The keys that only a merge gave so far.
        merged: BTreeSet<String>,
        key: Option<Key>,
    },
}

/// What waits for its value.
enum Key {
    Text(String),
    /// `<<`
    Merge,
}

struct Tree<'b> {
    budget: &'b mut MemoryBudget,
    documents: Vec<Document>,
    line: u64,
    words: Vec<Word>,
    /// How many words were remembered in all documents.
    remembered: usize,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Value>,
    copied_nodes: usize,
    copied_bytes: usize,
}

impl<'b> Tree<'b> {
    fn new(budget: &'b mut MemoryBudget) -> Self {
        Self {
            budget,
            documents: Vec::new(),
            line: 0,
            words: Vec::new(),
            remembered: 0,
            open: Vec::new(),
            anchors: BTreeMap::new(),
            copied_nodes: 0,
            copied_bytes: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), YamlError> {
        if event.is_node() {
            if self.open.is_empty() {
                self.line = at.line;
            }
            let text = event.scalar().map_or(0, |(text, _)| text.len());
            let taken = self.budget.node(text);
            taken.map_err(|message| invalid(at, message))?;
        }
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(text, style, anchor, tag.as_deref(), at)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(anchor, OpenKind::List(Vec::new()), at)
            }
            Event::MappingStart(_, anchor, _) => {
                let kind = OpenKind::Mapping {
                    fields: Map::new(),
                    merged: BTreeSet::new(),
                    key: None,
                };
                self.begin(anchor, kind, at)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(ended) = self.open.pop() else {
                    return Ok(());
                };
                let value = match ended.kind {
                    OpenKind::List(mut items) => {
                        items.shrink_to_fit();
                        Value::Array(items)
                    }
                    OpenKind::Mapping { fields, .. } => Value::Object(fields),
                };
                self.put(value, ended.anchor, at)
            }
            Event::Alias(anchor) => {
                let value = self
                    .anchors
                    .get(&anchor)
                    .ok_or_else(|| invalid(at, "an alias refers to a node that contains it"))?;
                let value = value.clone();
                self.count_copy(&value, at)?;
                self.put(value, 0, at)
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, kind: OpenKind, at: Position) -> Result<(), YamlError> {
        if self.awaits_key() {
            return Err(invalid(at, "a key is not a text"));
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!("it nests deeper than {MAX_DEPTH} levels");
            return Err(invalid(at, message));
        }
        self.open.push(Open { anchor, kind });
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        let open = self.open.last().map(|open| &open.kind);
        matches!(open, Some(OpenKind::Mapping { key: None, .. }))
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        at: Position,
    ) -> Result<(), YamlError> {
        let plain = style == ScalarStyle::Plain;
        let merges = text == "<<"
            && ((plain && tag.is_none()) || tag.and_then(core_name).as_deref() == Some("merge"));
        if merges && self.awaits_key() {
            if let Some(OpenKind::Mapping { key, .. }) = self.open.last_mut().map(|o| &mut o.kind) {
                *key = Some(Key::Merge);
            }
            return Ok(());
        }
        let value = match tag {
            None if plain => {
                self.remember_word(&text, at);
                plain_value(&text, at)?
            }
            None => Value::String(text.into_owned()),
            Some(tag) => tagged(&text, tag, at)?,
        };
        self.put(value, anchor, at)
    }

    /// Words that other readers of YAML take for text are worth a warning.
    fn remember_word(&mut self, text: &str, at: Position) {
        if let Some(value) = scalar::old_boolean(text)
            && self.remembered < MAX_WORDS
        {
            self.remembered += 1;
            let is_key = self.awaits_key();
            let word = text.to_owned();
            self.words.push(Word {
                word,
                value,
                is_key,
                position: at,
            });
        }
    }

    /// Puts a value that is complete where it belongs.
    fn put(&mut self, mut value: Value, anchor: usize, at: Position) -> Result<(), YamlError> {
        if let Value::String(text) = &mut value {
            text.shrink_to_fit();
        }
        if anchor != 0 {
            self.count_copy(&value, at)?;
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => {
                if !value.is_null() {
                    let (line, words) = (self.line, std::mem::take(&mut self.words));
                    self.documents.push(Document { line, value, words });
                }
                Ok(())
            }
            Some(OpenKind::List(items)) => {
                items.push(value);
                Ok(())
            }
            Some(OpenKind::Mapping {
                fields,
                merged,
                key,
            }) => match key.take() {
                None => {
                    let text = scalar::key(&value).ok_or_else(|| match value.is_null() {
                        true => invalid(at, "null is not allowed where a string is expected"),
                        false => invalid(at, "a key is not a text"),
                    })?;
                    if fields.is_empty() {
                        let taken = self.budget.mapping();
                        taken.map_err(|message| invalid(at, message))?;
                    }
                    if fields.contains_key(&text) && !merged.remove(&text) {
                        let message = format!("the key `{text}` occurs twice in one mapping");
                        return Err(invalid(at, message));
                    }
                    *key = Some(Key::Text(text));
                    Ok(())
                }
                Some(Key::Text(text)) => {
                    fields.insert(text, value);
                    Ok(())
                }
                Some(Key::Merge) => merge(value, fields, merged)
                    .ok_or_else(|| invalid(at, "`<<` merges mappings, and this is none")),
            },
        }
    }

    fn count_copy(&mut self, value: &Value, at: Position) -> Result<(), YamlError> {
        let size = size(value);
        self.copied_nodes = self.copied_nodes.saturating_add(size.nodes);
        self.copied_bytes = self.copied_bytes.saturating_add(size.bytes);
        if self.copied_nodes > MAX_COPIED_NODES || self.copied_bytes > MAX_COPIED_BYTES {
            return Err(invalid(at, TOO_MANY_ALIASES));
        }
        let taken = self.budget.copy(&size);
        taken.map_err(|message| invalid(at, message))
    }
}

/// Takes the fields of a mapping, or of each in a list of which the first counts most. A key that
/// stands before the merge is overwritten, as `kubectl` does it.
fn merge(
    value: Value,
    fields: &mut Map<String, Value>,
    merged: &mut BTreeSet<String>,
) -> Option<()> {
    match value {
        Value::Object(from) => {
            for (key, value) in from {
                merged.insert(key.clone());
                fields.insert(key, value);
            }
            Some(())
        }
        Value::Array(items) if items.iter().all(Value::is_object) => items
            .into_iter()
            .rev()
            .try_for_each(|item| merge(item, fields, merged)),
        _ => None,
    }
}

fn size(value: &Value) -> Size {
    let (mut size, mut waiting) = (Size::default(), vec![value]);
    while let Some(value) = waiting.pop() {
        size.nodes += 1;
        match value {
            Value::String(text) => size.bytes += text.len(),
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => {
                size.mappings += usize::from(!fields.is_empty());
                size.bytes += fields.keys().map(String::len).sum::<usize>();
                waiting.extend(fields.values());
            }
            _ => {}
        }
    }
    size
}

fn plain_value(text: &str, at: Position) -> Result<Value, YamlError> {
    match scalar::is_not_finite(text) {
        true => {
            let message = "a number is out of range: JSON has no infinity and no NaN";
            Err(invalid(at, message))
        }
        false => Ok(scalar::plain(text)),
    }
}

/// The name of one of YAML's own tags, such as `str` of `!!str`.
fn core_name(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace("tag:yaml.org,2002:")
}

/// A scalar whose tag says what it is; tags of others leave it a text.
fn tagged(text: &str, tag: &Tag, at: Position) -> Result<Value, YamlError> {
    let name = core_name(tag);
    let kind = match name.as_deref() {
        Some(kind @ ("bool" | "int" | "float" | "null")) => kind,
        Some("binary") => {
            let compact: String = text.split_whitespace().collect();
            let bytes = STANDARD
                .decode(compact)
                .map_err(|_| invalid(at, "a `!!binary` text is not valid base64"))?;
            return Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        }
        _ => return Ok(Value::String(text.to_owned())),
    };
    let value = plain_value(text, at)?;
    let fits = match (&value, kind) {
        (Value::Null, "null") | (Value::Bool(_), "bool") | (Value::Number(_), "float") => true,
        (Value::Number(number), "int") => !number.is_f64(),
        _ => false,
    };
    match fits {
        true => Ok(value),
        false => Err(invalid(
            at,
            format!("a text with the tag `!!{kind}` is none"),
        )),
    }
}
