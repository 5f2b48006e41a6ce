//! CUE text that is plain data, read without evaluating anything.
//!
//! Every canonical text is, and so is what people usually write into a values file: fields, lists
//! and literals, comments, a package clause, `values: #config & {…}`. References, constraints,
//! interpolations and whatever else needs the language are not read here: then there is no
//! answer, and `cue` has to be asked.

use std::collections::BTreeMap;

use super::{MAX_DEPTH, Number, Value};

/// A field counts as a level of its own here.
const LEVELS: usize = 2 * MAX_DEPTH + 2;

/// The value that a text stands for, if it is plain data.
pub(super) fn read(text: &str) -> Option<Value> {
    let mut reader = DataReader { rest: text };
    reader.lines();
    if reader.keyword("package") {
        reader.blank();
        reader.identifier()?;
    }
    reader.separators();
    let value = match reader.peek() {
        None => Value::Struct(BTreeMap::new()),
        Some('{' | '[' | '-' | '0'..='9') => reader.value(LEVELS)?,
        Some('"') if !reader.is_label() => reader.value(LEVELS)?,
        Some(_) => match reader.word() {
            Some(value) => value,
            None => reader.fields(LEVELS, true)?,
        },
    };
    reader.separators();
    reader.rest.is_empty().then_some(value)
}

struct DataReader<'a> {
    rest: &'a str,
}

impl<'a> DataReader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.rest.starts_with(wanted);
        if found {
            self.take(wanted.len_utf8());
        }
        found
    }

    /// Skips blanks and comments, but no line breaks.
    fn blank(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\u{feff}']);
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(end);
        }
    }

    /// Skips everything between two fields or items; says whether anything separates them.
    fn separators(&mut self) -> bool {
        let mut separated = false;
        loop {
            self.blank();
            match self.eat('\n') || self.eat(',') {
                true => separated = true,
                false => return separated,
            }
        }
    }

    /// Skips line breaks and comments.
    fn lines(&mut self) {
        loop {
            self.blank();
            if !self.eat('\n') {
                return;
            }
        }
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = self
            .rest
            .strip_prefix(word)
            .is_some_and(|rest| rest.starts_with([' ', '\t']));
        if found {
            self.take(word.len());
        }
        found
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        if !first.is_ascii_alphabetic() {
            return None;
        }
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        Some(self.take(end))
    }

    /// Whether a quoted text at the beginning is a label.
    fn is_label(&self) -> bool {
        let mut ahead = DataReader { rest: self.rest };
        ahead.string().is_some() && {
            ahead.blank();
            ahead.rest.starts_with(':')
        }
    }

    fn value(&mut self, left: usize) -> Option<Value> {
        let left = left.checked_sub(1)?;
        match self.peek()? {
            '{' => {
                self.take(1);
                let fields = self.fields(left, false)?;
                self.eat('}').then_some(fields)
            }
            '[' => {
                self.take(1);
                self.items(left)
            }
            '"' => self.string().map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ => self.word(),
        }
    }

    /// `true`, `false` or `null`, and nothing that only begins so.
    fn word(&mut self) -> Option<Value> {
        let mut ahead = DataReader { rest: self.rest };
        let value = match ahead.identifier()? {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return None,
        };
        if ahead.rest.starts_with([':', '?', '!']) {
            return None;
        }
        self.rest = ahead.rest;
        Some(value)
    }

    fn number(&mut self) -> Option<Value> {
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | '/');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let text = self.rest.get(..end)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        // CUE refuses them, so they must not pass here.
        let leading_zero = digits.len() > 1
            && digits.starts_with('0')
            && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let number = Number::parse(text).ok().filter(|_| !leading_zero)?;
        self.take(end);
        Some(Value::Number(number))
    }

    fn string(&mut self) -> Option<String> {
        if !self.eat('"') || self.rest.starts_with("\"\"") {
            return None;
        }
        let mut text = String::new();
        loop {
            let character = self.peek()?;
            self.take(character.len_utf8());
            match character {
                '"' => return Some(text),
                '\n' => return None,
                '\\' => text.push(self.escape()?),
                other => text.push(other),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.take(character.len_utf8());
        let digits = match character {
            '"' | '\\' | '/' => return Some(character),
            'n' => return Some('\n'),
            'r' => return Some('\r'),
            't' => return Some('\t'),
            'b' => return Some('\u{8}'),
            'f' => return Some('\u{c}'),
            'u' => 4,
            'U' => 8,
            _ => return None,
        };
        let hex = self.rest.get(..digits)?;
        let code = u32::from_str_radix(hex, 16).ok();
        let is_hex = hex.bytes().all(|b| b.is_ascii_hexdigit());
        let character = code.filter(|_| is_hex).and_then(char::from_u32)?;
        self.take(digits);
        Some(character)
    }

    fn items(&mut self, left: usize) -> Option<Value> {
        let mut items = Vec::new();
        loop {
            self.lines();
            if self.eat(']') {
                return Some(Value::List(items));
            }
            items.push(self.value(left)?);
            self.lines();
            if !self.eat(',') && !self.rest.starts_with(']') {
                return None;
            }
        }
    }

    /// Fields up to the brace that ends them, or the end of the text.
    fn fields(&mut self, left: usize, is_file: bool) -> Option<Value> {
        let mut fields = BTreeMap::new();
        let mut separated = true;
        loop {
            separated |= self.separators();
            if self.rest.is_empty() || self.rest.starts_with('}') {
                return Some(Value::Struct(fields));
            }
            if !separated {
                return None;
            }
            let (label, value) = self.field(left, is_file)?;
            match fields.remove(&label) {
                None => fields.insert(label, value),
                Some(other) => fields.insert(label, unified(other, value)?),
            };
            separated = false;
        }
    }

    fn field(&mut self, left: usize, is_file: bool) -> Option<(String, Value)> {
        let left = left.checked_sub(1)?;
        let label = match self.peek()? {
            '"' => self.string()?,
            _ => self.identifier()?.to_owned(),
        };
        self.blank();
        if !self.eat(':') {
            return None;
        }
        self.blank();
        // What is given is held against #config in any case.
        if is_file && label == "values" && self.keyword("#config") {
            self.blank();
            if !self.eat('&') {
                return None;
            }
            self.blank();
        }
        let is_field = match self.peek()? {
            '"' => self.is_label(),
            first => first.is_ascii_alphabetic() && self.word_is_label(),
        };
        let value = match is_field {
            true => {
                let (inner, value) = self.field(left, false)?;
                Value::Struct(BTreeMap::from([(inner, value)]))
            }
            false => self.value(left)?,
        };
        Some((label, value))
    }

    fn word_is_label(&self) -> bool {
        let mut ahead = DataReader { rest: self.rest };
        ahead.identifier().is_some() && {
            ahead.blank();
            ahead.rest.starts_with(':')
        }
    }
}

/// A field that stands twice: structs come together, anything else must be the same.
fn unified(one: Value, other: Value) -> Option<Value> {
    match (one, other) {
        (Value::Struct(mut fields), Value::Struct(others)) => {
            for (label, value) in others {
                let value = match fields.remove(&label) {
                    None => value,
                    Some(known) => unified(known, value)?,
                };
                fields.insert(label, value);
            }
            Some(Value::Struct(fields))
        }
        (one, other) => (one == other).then_some(one),
    }
}
