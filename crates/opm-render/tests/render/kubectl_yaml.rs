//! YAML means here what it means to `kubectl`: a table, judged by the real one where it is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use opm_render::yaml;
use serde_json::Value;

use crate::support::skip;

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

const WORDS: &str = "yes Yes YES yEs y Y n N no on On ON off OFF oFF true True TRUE tRue false ~ null \
    Null NULL nULL 0644 0o644 0O17 0x1F 0X1f 0b101 0B11 -0b11 +0b11 -0644 -0x1f 08 09.5 0_7 1_000 \
    1__0 _1 1_ +1 +0 -0 -0.0 1.0 1. 1.50 .5 -.5 +.5 ._5 1e3 1E3 1e+3 1.e3 .e3 1e400 -1e400 1e-400 \
    5e-324 12e03 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 \
    -9223372036854775808 -9223372036854775809 1e20 1e21 123456789012345678901234567890 1:30 \
    190:20:30 2001-12-14 2001-12-14t21:59:43.10-05:00 0x 0b 0o 0x1.8p1 0x1p-2 1e 1.2.3 --1 + = << \
    0b102 0o9 00 007 0.1_0 1_0.5 1e1_0 infinity nan Inf 1d 0777777777777777777777777 \
    1.7976931348623157e309 e1 0e1 1e0 1.5e300 0.000001 1e-7 0x_1f 0_ 0x1_f _0x1 -1- a#c 'yes' \"on\"";

const TEXTS: &[&str] = &[
    "x: !!str yes",
    "x: !!str 1",
    "x: !!int '1'",
    "x: !!int \"0x10\"",
    "x: !!int 1.0",
    "x: !!float 1",
    "x: !!bool yes",
    "x: !!bool 'no'",
    "x: !!bool maybe",
    "x: !!null ''",
    "x: !!null x",
    "x: !!binary aGVsbG8=",
    "x: !!binary '?'",
    "x: !!binary |\n  aGVs\n  bG8=",
    "x: !custom 1",
    "x: ! yes",
    "x: !!foo bar",
    "x: !!set {a, b}",
    "x: .inf",
    "x: -.Inf",
    "x: .nan",
    "x:",
    "x: ''",
    "x: |-\n  yes",
    "x: >\n  on",
    "b: &b {p: 1, q: 2}\nx: {<<: *b, q: 3}",
    "b: &b {p: 1, q: 2}\nx: {q: 3, <<: *b}",
    "b: &b {p: 1}\nc: &c {p: 2, r: 3}\nx: {<<: [*b, *c], z: 1}",
    "x: {<<: [{p: 1},{p: 2, q: 1}]}",
    "x: {<<: {a: 1}, <<: {b: 2}}",
    "b: &b {p: {m: 1}}\nx: {<<: *b, p: {r: 2}}",
    "x: {<<: 1}",
    "x: {<<: null}",
    "x: {<<: [1]}",
    "x: {'<<': {a: 1}}",
    "x: {!!merge <<: {a: 1}}",
    "x: {!!str <<: {a: 1}}",
    "x: {? a : 1}",
    "x: {? [a] : 1}",
    "x: {? {a: b} : 1}",
    "x: {yes: a, n: b}",
    "x: {'y': 1, y: 2}",
    "x: {1: a, 0x10: b, 010: c}",
    "x: {1.5: a, 1e3: b, 1.0: c, 0.1: d, 123456789.5: e, 0.00001: f, 1e39: g}",
    "x: {2001-12-14: b}",
    "x: {~: b}",
    "x: {18446744073709551615: b}",
    "x: {!!binary aGk=: b}",
    "x: {a: &x 1, b: *x}",
    "x: {&k a: 1, b: *k}",
    "k: &k on\nx: {*k : 1, l: *k}",
    "x: {a: &a 1, c: &a 2, b: *a}",
    "x: &x [1, *x]",
    "x: *nope",
    "x: [a,]",
    "x: {a, b: 1}",
    "x:\n- a\n-\n- b",
    "x: 'a\n  b'",
    "x: \"a\\\n  b\\x41\\u00e9\"",
    "x: [yes, no, {on: off}]",
    "x: 2001-12-14 21:59:43",
];

/// Texts that `kubectl` takes and that are more likely a mistake: it silently keeps one of two.
const REFUSED_HERE: &[&str] = &["x: {a: 1, a: 2}", "x: {1: a, '1': b}", "x: {yes: a, on: b}"];

fn kubectl() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|directory| directory.join("kubectl"));
    files.find(|file| file.is_file())
}

/// What `kubectl` makes of `x` in a manifest; none if it refuses the text.
fn judged(kubectl: &Path, text: &str) -> Option<Value> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("m.yaml");
    std::fs::write(&file, format!("{OBJECT}{text}\n")).unwrap();
    let output = Command::new(kubectl)
        .args(["annotate", "--local", "z=z", "-o", "json", "-f"])
        .arg(file)
        .env("HOME", directory.path())
        .env("KUBECONFIG", directory.path().join("none"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        assert!(said.contains("error parsing"), "{text}: {said}");
        return None;
    }
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(object["x"].clone())
}

fn read(text: &str) -> Option<Value> {
    let documents = yaml::documents(&format!("{OBJECT}{text}\n")).ok()?;
    Some(documents[0].value["x"].clone())
}

/// Numbers as JSON has them: 1.0 is 1.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let equal =
                |(key, value): (&String, &Value)| other.get(key).is_some_and(|o| same(value, o));
            one.len() == other.len() && one.iter().all(equal)
        }
        (one, other) => one == other,
    }
}

#[test]
fn means_what_kubectl_makes_of_it() {
    let Some(kubectl) = kubectl() else {
        return skip::skip_without("`kubectl` in PATH");
    };
    let words: Vec<&str> = WORDS.split_ascii_whitespace().collect();
    let list: String = words.iter().map(|word| format!("- {word}\n")).collect();
    let (expected, found) = (
        judged(&kubectl, &format!("x:\n{list}")),
        read(&format!("x:\n{list}")),
    );
    let (expected, found) = (expected.unwrap(), found.unwrap());
    for (place, word) in words.iter().enumerate() {
        assert!(
            same(&found[place], &expected[place]),
            "{word}: {} is not {}",
            found[place],
            expected[place]
        );
    }
    for text in TEXTS {
        let (expected, found) = (judged(&kubectl, text), read(text));
        let agree = match (&found, &expected) {
            (Some(found), Some(expected)) => same(found, expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(agree, "{text}: {found:?} is not {expected:?}");
    }
    for text in REFUSED_HERE {
        assert!(
            judged(&kubectl, text).is_some() && read(text).is_none(),
            "{text}"
        );
    }
}

/// What is written reads back equal, by `kubectl` too.
#[test]
fn what_is_written_means_the_same_to_kubectl() {
    let words: Vec<Value> = WORDS.split_ascii_whitespace().map(Value::from).collect();
    let odd = [
        "",
        " ",
        "a: b",
        "# no",
        "\t",
        "two\nlines\n",
        "\u{1b}[1m",
        "\u{202e}x",
        "\u{e0041}",
        "é\u{85}",
        "- a",
        "'",
        "\"",
        "\\uFFFE00000041",
    ];
    let mut texts = words;
    texts.extend(odd.map(Value::from));
    let by_name: serde_json::Map<String, Value> = texts
        .iter()
        .map(|text| (format!("k{}", text.as_str().unwrap()), text.clone()))
        .collect();
    let value = serde_json::json!({ "x": [texts, by_name] });
    let written = yaml::write([&value]).unwrap();
    let text = written.strip_prefix("---\n").unwrap();
    assert_eq!(read(text).unwrap(), value["x"], "{text}");
    if let Some(kubectl) = kubectl() {
        assert_eq!(judged(&kubectl, text).unwrap(), value["x"], "{text}");
    }
}
