//! Canaries: every value that a scenario's module puts into a Secret, looked for in everything
//! that the binary writes, in every run.
//!
//! A value counts as leaked in plain text, as base64, and as a part of something larger that was
//! encoded as base64 (three ways, by where it begins). `build` and `show --reveal` are meant to
//! print it. Values too short to tell from ordinary words are left out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::Value;

/// Shorter values occur by accident.
const SHORTEST: usize = 6;

/// The values that must never be seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Canaries(Arc<Mutex<BTreeSet<String>>>);

impl Canaries {
    /// Takes up the values of an object, if it is a Secret.
    pub(crate) fn learn(&self, object: &Value) {
        if object["kind"] != "Secret" {
            return;
        }
        let texts = |field: &str| {
            let values = object[field].as_object().cloned().unwrap_or_default();
            values
                .into_iter()
                .filter_map(|(_, value)| value.as_str().map(str::to_owned))
        };
        for value in texts("stringData") {
            self.add(&value);
        }
        for value in texts("data") {
            if let Some(text) = STANDARD
                .decode(&value)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
            {
                self.add(&text);
            }
        }
    }

    /// Takes up one value.
    pub(crate) fn add(&self, value: &str) {
        if value.len() >= SHORTEST {
            self.0.lock().unwrap().insert(value.to_owned());
        }
    }

    /// The first value that a run of the binary with these arguments let out, if it was not
    /// asked to show it.
    pub(crate) fn leaked(&self, arguments: &[&str], wrote: &[&str]) -> Option<String> {
        let known = self.0.lock().unwrap();
        let mut leaked = known
            .iter()
            .filter(|value| wrote.iter().any(|text| holds(text, value)));
        leaked.next().filter(|_| !may_show(arguments)).cloned()
    }
}

fn may_show(arguments: &[&str]) -> bool {
    arguments.windows(2).any(|pair| pair == ["mod", "build"]) || arguments.contains(&"--reveal")
}

fn holds(text: &str, value: &str) -> bool {
    let escaped = Value::from(value).to_string();
    text.contains(value)
        || text.contains(escaped.trim_matches('"'))
        || (0..3).any(|offset| text.contains(&encoded(value, offset)))
}

/// What base64 makes of a value that begins `offset` bytes after a group of three: without the
/// characters that its neighbours have a part in.
fn encoded(value: &str, offset: usize) -> String {
    let bytes = [&b"\0\0"[..offset], value.as_bytes()].concat();
    let text = STANDARD_NO_PAD.encode(&bytes);
    let shared_at_the_end = usize::from(!bytes.len().is_multiple_of(3));
    let begin = [0, 2, 3][offset];
    text[begin..text.len() - shared_at_the_end].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_in_every_form() {
        let canaries = Canaries::default();
        canaries.learn(&json!({"kind": "Secret", "stringData": {"a": "open sesame\nnow"}}));
        canaries.learn(&json!({"kind": "Secret", "data": {"b": STANDARD.encode("swordfish")}}));
        canaries.learn(&json!({"kind": "ConfigMap", "data": {"c": "everybody knows"}}));
        canaries.learn(&json!({"kind": "Secret", "stringData": {"d": "short"}}));
        let leaks = |text: &str| {
            let out = canaries.leaked(&["mod", "apply"], &[text, ""]);
            let err = canaries.leaked(&["mod", "apply"], &["", text]);
            assert_eq!(out, err);
            out
        };
        for before in ["", "x", "xy", "xyz", "{\"k\": \""] {
            let hidden = STANDARD.encode(format!("{before}swordfish and more"));
            assert_eq!(leaks(&hidden).as_deref(), Some("swordfish"), "{before:?}");
        }
        assert_eq!(
            leaks("it is \"open sesame\\nnow\"").as_deref(),
            Some("open sesame\nnow")
        );
        assert_eq!(leaks("swordfish!").as_deref(), Some("swordfish"));
        for harmless in ["", "everybody knows", "short", "sword fish", "c3dvcmQ="] {
            assert_eq!(leaks(harmless), None, "{harmless:?}");
        }
    }

    #[test]
    fn what_is_asked_for_may_be_shown() {
        let canaries = Canaries::default();
        canaries.add("swordfish");
        for (arguments, may) in [
            (&["mod", "build", "dir"][..], true),
            (&["mod", "show", "web", "manifests", "--reveal"], true),
            (&["mod", "show", "web", "manifests"], false),
            (&["mod", "diff", "build"], false),
        ] {
            let leaked = canaries.leaked(arguments, &["swordfish"]);
            assert_eq!(leaked.is_none(), may, "{arguments:?}");
        }
    }
}
