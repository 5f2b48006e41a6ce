//! Whether a text is a CUE (or JSON) literal, and nothing but that.
//!
//! What passes here is put into CUE source as it stands, so this is a gate: references,
//! expressions and interpolations do not pass. A leading sign does.

/// How deep a literal may nest.
const MAX_DEPTH: usize = 50;

/// Whether the whole text is one literal.
pub(super) fn is_literal(text: &str) -> bool {
    let mut scanner = Scanner { rest: text.trim() };
    scanner.value(0).is_some() && scanner.rest.is_empty()
}

struct Scanner<'a> {
    rest: &'a str,
}

impl Scanner<'_> {
    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.rest.as_bytes().first()? {
            b'"' => self.string(),
            b'[' => self.items(']', |scanner| scanner.value(depth + 1)),
            b'{' => self.items('}', |scanner| scanner.field(depth + 1)),
            b'a'..=b'z' => self.word(),
            _ => self.number(),
        }
    }

    fn take(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn word(&mut self) -> Option<()> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_lowercase())
            .unwrap_or(self.rest.len());
        let known = ["true", "false", "null"].contains(&&self.rest[..end]);
        self.take(end);
        known.then_some(())
    }

    fn string(&mut self) -> Option<()> {
        let inside = &self.rest[1..];
        if inside.starts_with("\"\"") {
            return None;
        }
        let end = super::key::closing_quote(inside)?;
        let text = &inside[..end];
        let plain = text.chars().all(|c| !c.is_control());
        if !plain || !escapes_are_known(text) {
            return None;
        }
        self.take(end + 2);
        Some(())
    }

    fn items(&mut self, close: char, item: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        self.take(1);
        loop {
            self.space();
            if self.rest.starts_with(close) {
                self.take(1);
                return Some(());
            }
            item(self)?;
            self.space();
            match self.rest.chars().next()? {
                ',' => self.take(1),
                c if c == close => {}
                _ => return None,
            }
        }
    }

    fn field(&mut self, depth: usize) -> Option<()> {
        match self.rest.as_bytes().first()? {
            b'"' => self.string()?,
            b'a'..=b'z' | b'A'..=b'Z' => {
                let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
                let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
                self.take(end);
            }
            _ => return None,
        }
        self.space();
        self.rest = self.rest.strip_prefix(':')?;
        self.space();
        self.value(depth)
    }

    fn number(&mut self) -> Option<()> {
        let end = self.rest.find([',', ']', '}', ' ', '\t', '\n', '\r']);
        let end = end.unwrap_or(self.rest.len());
        let number = &self.rest[..end];
        let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
        if !is_number(unsigned) {
            return None;
        }
        self.take(end);
        Some(())
    }
}

/// No interpolation, and only escapes that CUE and JSON share.
fn escapes_are_known(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            continue;
        }
        match chars.next() {
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => {}
            Some('u') => {
                let hex: String = chars.by_ref().take(4).collect();
                // Halves of surrogate pairs are JSON's, not CUE's.
                let code = u32::from_str_radix(&hex, 16)
                    .ok()
                    .filter(|_| hex.len() == 4);
                if code.and_then(char::from_u32).is_none() {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

fn is_number(text: &str) -> bool {
    let digits = |text: &str, radix| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return digits(rest, radix);
        }
    }
    let multiplied = text.strip_suffix('i').unwrap_or(text);
    if let Some(number) = multiplied.strip_suffix(['K', 'M', 'G', 'T', 'P']) {
        return is_decimal(number);
    }
    match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            is_decimal(mantissa) && digits(exponent, 10)
        }
        None => is_decimal(text),
    }
}

/// `12`, `1.5`, `.5`; no leading zeros, which CUE refuses.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let whole_ok = digits(whole) && (whole.len() < 2 || !whole.starts_with('0'));
    match fraction {
        Some(fraction) => whole_ok && !fraction.is_empty() && digits(fraction),
        None => whole_ok && !whole.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_literal;

    #[test]
    fn what_passes() {
        for text in [
            "0",
            "-7",
            "+7",
            "8080",
            "1.5",
            ".5",
            "1e3",
            "1E-7",
            "0x1F",
            "0o17",
            "0b1",
            "10Gi",
            "1.5M",
            "true",
            "false",
            "null",
            "\"x\"",
            "\"a\\nb\\u00e9\"",
            "[]",
            "[1, \"a\",]",
            "{}",
            "{a: 1}",
            "{\"a b\": [true], c_d: {e: null}}",
            " 5 ",
            "{\n  \"a\": [1,\n 2]\n}",
            "99999999999999999999999999",
        ] {
            assert!(is_literal(text), "{text}");
        }
    }

    #[test]
    fn what_does_not() {
        let deep = "[".repeat(10_000);
        for text in [
            "",
            "x",
            "example.com",
            "1.2.3",
            "01",
            "1_",
            "0x",
            "10Q",
            "--1",
            "1+1",
            "_|_",
            "_",
            "\"\\(x)\"",
            "\"a",
            "\"a\"b",
            "\"\"\"\n\"\"\"",
            "'bytes'",
            "[1",
            "[x]",
            "{a}",
            "{a: b}",
            "{#a: 1}",
            "{_a: 1}",
            "{[string]: 1}",
            "{...}",
            "{a?: 1}",
            "5}, x: {",
            "5 // c",
            "1\n2",
            "\"\\ud83d\"",
            "#x",
            "@x",
            "nul",
            "truex",
            "1 2",
            "NaN",
            "(1)",
            "{a: 1 b: 2}",
            &deep,
        ] {
            assert!(!is_literal(text), "{text}");
        }
    }
}
