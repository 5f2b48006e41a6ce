//! The path in front of the `=` of an assignment: `a.b[2]."c.d"`.

use std::fmt;

/// The longest list that an assignment may reach into: it is built from nothing.
const MAX_INDEX: usize = 999;
/// How many parts a path may have.
const MAX_PARTS: usize = 50;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    /// A field of a struct.
    Field(String),
    /// An item of a list, counted from zero.
    Index(usize),
}

/// A path to a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyPath(pub(crate) Vec<Segment>);

impl KeyPath {
    /// Reads a path. Dots part fields; `\.` is a dot inside a field's name, and so is any within
    /// double quotes.
    pub(crate) fn parse(given: &str) -> Result<Self, String> {
        let mut segments = Vec::new();
        let mut rest = given;
        loop {
            let field;
            (field, rest) = read_field(rest)?;
            segments.push(Segment::Field(field));
            while let Some(inside) = rest.strip_prefix('[') {
                let (index, after) = read_index(inside)?;
                segments.push(Segment::Index(index));
                rest = after;
            }
            if segments.len() > MAX_PARTS {
                return Err(format!("the path has more than {MAX_PARTS} parts"));
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Ok(Self(segments)),
                None => return Err(format!("unexpected {:?} in the path", first_char(rest))),
            }
        }
    }

    /// Whether one path is the other or leads into it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

fn first_char(text: &str) -> String {
    text.chars().take(1).collect()
}

fn read_field(text: &str) -> Result<(String, &str), String> {
    if let Some(inside) = text.strip_prefix('"') {
        let end = closing_quote(inside).ok_or("a quote is not closed")?;
        let quoted = &text[..end + 2];
        let field = serde_json::from_str(quoted).map_err(|_| format!("{quoted} is not valid"))?;
        return Ok((field, &inside[end + 1..]));
    }
    let mut field = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => field.extend(chars.next().map(|(_, c)| c)),
            '.' | '[' => {
                end = at;
                break;
            }
            ']' | '"' => return Err(format!("unexpected {:?} in the path", c.to_string())),
            c => field.push(c),
        }
    }
    match field.trim().is_empty() {
        true => Err("a part of the path is empty".to_owned()),
        false => Ok((field, &text[end..])),
    }
}

/// Where the quote that closes a quoted text stands.
pub(super) fn closing_quote(inside: &str) -> Option<usize> {
    let mut escaped = false;
    inside.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

fn read_index(inside: &str) -> Result<(usize, &str), String> {
    let (digits, after) = inside.split_once(']').ok_or("a `[` is not closed")?;
    let number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !number {
        return Err(format!("[{digits}] is not a list index"));
    }
    match digits.parse() {
        Ok(index) if index <= MAX_INDEX => Ok((index, after)),
        _ => Err(format!("the list index {digits} is above {MAX_INDEX}")),
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Field(field) => {
                    f.write_str(if place == 0 { "" } else { "." })?;
                    match field.contains(['.', '[', '"', '=']) {
                        true => write!(f, "{field:?}")?,
                        false => f.write_str(field)?,
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::KeyPath;

    #[test]
    fn paths() {
        for (given, shown) in [
            ("a", "a"),
            ("a.b.c", "a.b.c"),
            ("a[0][2].b", "a[0][2].b"),
            ("a.\"b.c/d\"", "a.\"b.c/d\""),
            ("a.b\\.c", "a.\"b.c\""),
            ("\"x=y\"[1]", "\"x=y\"[1]"),
            ("größe", "größe"),
        ] {
            assert_eq!(
                KeyPath::parse(given).map(|p| p.to_string()),
                Ok(shown.to_owned())
            );
        }
        for (given, why) in [
            ("", "a part of the path is empty"),
            ("a..b", "a part of the path is empty"),
            (".a", "a part of the path is empty"),
            ("a.", "a part of the path is empty"),
            ("a[", "a `[` is not closed"),
            ("a[]", "[] is not a list index"),
            ("a[-1]", "[-1] is not a list index"),
            ("a[1000]", "the list index 1000 is above 999"),
            ("a[999999999]", "the list index 999999999 is above 999"),
            (
                "a[99999999999999999999999]",
                "the list index 99999999999999999999999 is above 999",
            ),
            ("a[1]b", "unexpected \"b\" in the path"),
            ("a]", "unexpected \"]\" in the path"),
            ("\"a", "a quote is not closed"),
        ] {
            assert_eq!(KeyPath::parse(given), Err(why.to_owned()), "{given}");
        }
        assert!(KeyPath::parse(&"a.".repeat(10_000)).is_err());
    }
}
