//! Text from elsewhere, made safe to show: names and messages that come from files or from a
//! cluster must not move the cursor, change colours or forge lines of a terminal.

use std::borrow::Cow;

/// The text with every control character but a newline written out.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n')
}

/// The text as one line, with every control character written out.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| true)
}

fn escaped(text: &str, escape: impl Fn(char) -> bool) -> Cow<'_, str> {
    let harmful = |c: char| c.is_control() && escape(c);
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if harmful(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::{line, lines};

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
        ];
        for (given, expected_lines, expected_line) in cases {
            assert_eq!(lines(given), expected_lines, "{given:?}");
            assert_eq!(line(given), expected_line, "{given:?}");
        }
    }
}
