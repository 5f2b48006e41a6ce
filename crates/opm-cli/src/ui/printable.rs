//! Text from elsewhere, made safe to show: names and messages that come from files or from a
//! cluster must not move the cursor, change colours or forge lines of a terminal.

use std::borrow::Cow;
use std::io;

use opm_core::printable::is_unprintable;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// The text with everything written out that must not be shown; newlines stay.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, is_unprintable, |c, safe| {
        safe.extend(c.escape_default())
    })
}

/// The text as one line, with everything written out that must not be shown.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    let unprintable = |c| c == '\n' || is_unprintable(c);
    escaped(text, unprintable, |c, safe| safe.extend(c.escape_default()))
}

/// CUE text that means the same, with everything written out that must not be shown.
pub(super) fn cue(text: &str) -> Cow<'_, str> {
    let unprintable = |c| c != '\t' && is_unprintable(c);
    escaped(text, unprintable, |c, safe| match u32::from(c) {
        code @ ..=0xffff => safe.push_str(&format!("\\u{code:04x}")),
        code => safe.push_str(&format!("\\U{code:08x}")),
    })
}

fn escaped(
    text: &str,
    unprintable: impl Fn(char) -> bool,
    write_out: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&unprintable) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match unprintable(c) {
            true => write_out(c, &mut safe),
            false => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Writes a document as JSON for scripts, which a terminal can show too.
pub(super) fn json(out: impl io::Write, document: &impl Serialize) -> serde_json::Result<()> {
    let formatter = Escaping(PrettyFormatter::new());
    document.serialize(&mut serde_json::Serializer::with_formatter(out, formatter))
}

/// A document as JSON in one line.
pub(super) fn json_line(document: &impl Serialize) -> serde_json::Result<String> {
    let mut line = Vec::new();
    let formatter = Escaping(CompactFormatter);
    document.serialize(&mut serde_json::Serializer::with_formatter(
        &mut line, formatter,
    ))?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// JSON in which what must not be shown is an escape. It means the same.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let safe = escaped(fragment, is_unprintable, |c, safe| {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        });
        out.write_all(safe.as_bytes())
    }

    fn begin_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{cue, json, json_line, line, lines};

    #[test]
    fn control_characters_are_written_out() {
        let cases = [
            (
                "plain, größe, 名前",
                "plain, größe, 名前",
                "plain, größe, 名前",
            ),
            ("two\nlines", "two\nlines", "two\\nlines"),
            (
                "\x1b[31mred\x1b[0m",
                "\\u{1b}[31mred\\u{1b}[0m",
                "\\u{1b}[31mred\\u{1b}[0m",
            ),
            ("a\rb\tc\x07", "a\\rb\\tc\\u{7}", "a\\rb\\tc\\u{7}"),
            ("\u{9b}1m", "\\u{9b}1m", "\\u{9b}1m"),
            ("a\u{202e}b", "a\\u{202e}b", "a\\u{202e}b"),
        ];
        for (given, expected_lines, expected_line) in cases {
            assert_eq!(lines(given), expected_lines, "{given:?}");
            assert_eq!(line(given), expected_line, "{given:?}");
        }
    }

    #[test]
    fn json_and_cue_mean_the_same() {
        let text = "a\u{1b}[1m\u{9b}\u{202e}\u{e0041}\n\t\"é";
        let mut written = Vec::new();
        json(&mut written, &text).unwrap();
        let written = String::from_utf8(written).unwrap();
        let expected = r#""a\u001b[1m\u009b\u202e\udb40\udc41\n\t\"é""#;
        assert_eq!(written, expected);
        assert_eq!(json_line(&text).unwrap(), expected);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        assert_eq!(
            cue("x: \"\u{1b}\u{e0041}\"\n\ty: 1\n"),
            "x: \"\\u001b\\U000e0041\"\n\ty: 1\n"
        );
    }
}
