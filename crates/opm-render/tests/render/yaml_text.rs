//! YAML that is written reads back equal, by this reader and by `cue`'s.

use std::process::Command;

use opm_render::yaml;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{cue, have_cue};

/// Texts that look like something else, or are hard to write down.
fn awkward() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "yes",
        "No",
        "on",
        "y",
        "null",
        "~",
        "true",
        "0644",
        "0x1F",
        "1e3",
        "1_000",
        ".inf",
        "-",
        "--- a",
        "...",
        "<<",
        "=",
        "2024-01-01",
        "12:30:45",
        "a: b",
        "a #b",
        "#a",
        " a",
        "a ",
        "\n",
        "a\n",
        "a\n\n",
        "\n a\n",
        "a\tb",
        "\t",
        "'",
        "\"",
        "\\",
        "{}",
        "[a]",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "a\r\nb",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{7f}",
        "\u{0}",
        "é🙂",
        "key: value\n  indented: |\n",
        "-1",
        "+1",
        "1.",
        "0o17",
        "?",
        "? a",
        ":",
        "|",
        ">",
        "",
    ]);
    prop_oneof![
        known.prop_map(str::to_owned),
        any::<String>(),
        "[ -~\n\t]{0,40}"
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let float = any::<f64>().prop_filter("JSON has no other", |f| f.is_finite());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        float.prop_map(Value::from),
        awkward().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(awkward(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back_equal(value in value()) {
        let document = json!({ "v": value });
        let text = yaml::write([&document, &document]).unwrap();
        let read = yaml::documents(&text).unwrap();
        prop_assert_eq!(read.len(), 2, "{}", text);
        prop_assert_eq!(&read[0].value, &document, "{}", text);
        prop_assert_eq!(&read[1].value, &document);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = yaml::documents(&text);
    }
}

#[test]
fn another_reader_agrees() {
    if !have_cue() {
        return;
    }
    let texts = [
        "yes",
        "no",
        "on",
        "y",
        "null",
        "~",
        "0644",
        "1e3",
        "2024-01-01",
        "12:30:45",
        "<<",
        "a: b",
        " a",
        "a ",
        "line\n",
        "line\n\n",
        "\n  indented\nless\n",
        "\t",
        "a\r\nb",
        "--- a",
        "é🙂",
        "",
        "#",
        "1_000",
        "0x1F",
    ];
    let document = json!({
        "texts": texts,
        "numbers": [0, -1, i64::MAX, i64::MIN, 0.1, 1e-7, 1.5e300],
        "empty": [{}, [], null],
    });
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), yaml::write([&document]).unwrap()).unwrap();
    let output = Command::new(cue().unwrap())
        .args(["export", "a.yaml", "--out", "json"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).unwrap(),
        document
    );
}
