//! Warnings that the server sends beside its answers, each once.

use std::collections::BTreeSet;

use http::{HeaderMap, header::WARNING};

use crate::errors::shorten;
use crate::redact::KnownValues;

/// More warnings than these are not told.
const MOST_WARNINGS: usize = 200;

/// Warnings that nobody has been told yet, and all that were ever told.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    seen: BTreeSet<String>,
    untold: Vec<String>,
}

impl Warnings {
    /// Takes the warnings of one answer.
    pub(crate) fn note(&mut self, headers: &HeaderMap, known: &KnownValues) {
        for value in headers.get_all(WARNING) {
            let Some(text) = value.to_str().ok().and_then(text_of) else {
                continue;
            };
            let text = known.redact(&shorten(&text));
            if self.seen.len() < MOST_WARNINGS && self.seen.insert(text.clone()) {
                self.untold.push(text);
            }
        }
    }

    /// What has come since the last call.
    pub(crate) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untold)
    }
}

/// The text of `299 - "text"`, where quotes and backslashes inside are escaped.
fn text_of(header: &str) -> Option<String> {
    let (_, quoted) = header.split_once('"')?;
    let mut text = String::new();
    let mut chars = quoted.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => text.extend(chars.next()),
            _ => text.push(char),
        }
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_comes_out_once() {
        let mut headers = HeaderMap::new();
        for text in [
            r#"299 - "v1 Endpoints is deprecated in v1.33+""#,
            r#"299 - "unknown field \"spec.foo\"""#,
            "nonsense",
        ] {
            headers.append(WARNING, text.parse().unwrap());
        }
        let mut warnings = Warnings::default();
        warnings.note(&headers, &KnownValues::default());
        warnings.note(&headers, &KnownValues::default());
        assert_eq!(
            warnings.take(),
            [
                "v1 Endpoints is deprecated in v1.33+",
                r#"unknown field "spec.foo""#
            ]
        );
        warnings.note(&headers, &KnownValues::default());
        assert!(warnings.take().is_empty());
    }
}
