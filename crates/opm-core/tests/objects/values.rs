//! Canonical CUE text: vectors of our own, and the official `cue` reading all of it back.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use opm_core::values::{MAX_DEPTH, Number, Value};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::ValueTree as _;

#[path = "../../../opm-testkit/src/skip.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with crates that use more of it"
)]
mod skip;

fn cue_text(json: &str) -> String {
    Value::from_json(json).unwrap().to_cue()
}

/// JSON, and the canonical text of it.
const VECTORS: &[(&str, &str)] = &[
    ("{}", "{}"),
    ("[]", "[]"),
    ("null", "null"),
    (r#"{"name":"minecraft"}"#, "{\n\tname: \"minecraft\"\n}"),
    (
        r#"{"name":"minecraft","dataPath":"/mnt/server"}"#,
        "{\n\tdataPath: \"/mnt/server\"\n\tname: \"minecraft\"\n}",
    ),
    (
        r#"{"b":{"d":[],"c":{}},"a":[1,{"x":true},[2]]}"#,
        "{\n\ta: [\n\t\t1,\n\t\t{\n\t\t\tx: true\n\t\t},\n\t\t[\n\t\t\t2,\n\t\t],\n\t]\n\tb: {\n\t\tc: {}\n\t\td: []\n\t}\n}",
    ),
    (
        r##"{"a-b":1,"_hidden":2,"#def":3,"1a":4,"":5,"aB_9":6,"é":7,"a.b":8,"$x":9,"a b":10,"Z":11}"##,
        "{\n\t\"\": 5\n\t\"#def\": 3\n\t\"$x\": 9\n\t\"1a\": 4\n\tZ: 11\n\t\"_hidden\": 2\n\t\"a b\": 10\n\t\"a-b\": 1\n\t\"a.b\": 8\n\taB_9: 6\n\t\"é\": 7\n}",
    ),
    (
        r#"{"for":1,"in":2,"if":3,"let":4,"true":5,"null":6,"package":7,"import":8,"try":9,"func":10,"else":11,"otherwise":12,"fallback":13,"string":14,"len":15}"#,
        "{\n\t\"else\": 11\n\t\"fallback\": 13\n\t\"for\": 1\n\t\"func\": 10\n\t\"if\": 3\n\t\"import\": 8\n\t\"in\": 2\n\tlen: 15\n\t\"let\": 4\n\t\"null\": 6\n\t\"otherwise\": 12\n\t\"package\": 7\n\tstring: 14\n\t\"true\": 5\n\t\"try\": 9\n}",
    ),
    (
        r#"{"s":"a\nb\r\tc \"q\" \\ \\(x) / <>& é 🙂 \u2028 \ufeff \u0000\u0007\u000b\u007f\u0085"}"#,
        "{\n\ts: \"a\\nb\\r\\tc \\\"q\\\" \\\\ \\\\(x) / <>& é 🙂 \u{2028} \\ufeff \\u0000\\u0007\\u000b\\u007f\\u0085\"\n}",
    ),
    (
        r#"[9223372036854775808,-170141183460469231731687303715884105729,0,-0,123456789012345678901234567890]"#,
        "[\n\t9223372036854775808,\n\t-170141183460469231731687303715884105729,\n\t0,\n\t0,\n\t123456789012345678901234567890,\n]",
    ),
    (
        r#"[1.10,1.0,0.0,-0.0,1E+3,1E+21,15e-1,1E+400,-2.50E-7,0.000001,0.0000001,100.00,1e20,1e-100000,12.5e1]"#,
        "[\n\t1.1,\n\t1.0,\n\t0.0,\n\t0.0,\n\t1000.0,\n\t1e+21,\n\t1.5,\n\t1e+400,\n\t-2.5e-7,\n\t0.000001,\n\t1e-7,\n\t100.0,\n\t100000000000000000000.0,\n\t1e-100000,\n\t125.0,\n]",
    ),
];

#[test]
fn vectors() {
    for (json, expected) in VECTORS {
        assert_eq!(&cue_text(json), expected, "from {json}");
    }
}

#[test]
fn what_cannot_be_recorded_says_why() {
    let deep = format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
    let table = [
        (
            "{",
            "values are not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            r#"{"a":1e100001}"#,
            "values cannot be recorded: the number \"1e100001\" has an exponent beyond 100000",
        ),
        (
            r#"{"a":1e99999999999999999999}"#,
            "values cannot be recorded: the number \"1e99999999999999999999\" has an exponent beyond 100000",
        ),
        (deep.as_str(), "values are nested more than 100 levels deep"),
    ];
    for (given, expected) in table {
        assert_eq!(Value::from_json(given).unwrap_err().to_string(), expected);
    }
    assert!(Value::from_json(&"[".repeat(1_000_000)).is_err());
    for wrong in [
        "", "-", "1.", ".5", "1e", "0x10", "1_000", "+1", "NaN", "1e+-2", "é",
    ] {
        assert!(Number::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn json_that_was_read_already_gives_the_same_text() {
    let json = r#"{"i":-5,"u":18446744073709551615,"f":1.50,"e":1e300,"l":[null,true,"x"]}"#;
    let read: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(Value::from(&read), Value::from_json(json).unwrap());
}

/// The official `cue`, named by `OPM_CUE` or found in the search path.
fn cue() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("OPM_CUE") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join("cue"))
        .find(|file| file.is_file())
}

/// What `cue` makes of a text.
fn read_back(cue: &PathBuf, text: &str) -> Value {
    let mut child = Command::new(cue)
        .args(["export", "--out", "json", "cue:", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cue refuses {text}\n{complaint}");
    Value::from_json(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,6}",
        "\\PC{0,6}",
        any::<String>().prop_map(|s| s.chars().take(8).collect())
    ]
}

/// Labels in Unicode's normal form C, into which `cue` brings every label.
fn any_label() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,6}",
        "[ -~]{0,8}",
        "[\\x00-\\x1fäöü\u{feff}\u{2028}🙂\"\\\\]{0,4}"
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(|number| Number::parse(&number.to_string()).unwrap()),
        "-?[1-9][0-9]{0,40}".prop_map(|text| Number::parse(&text).unwrap()),
        "-?[0-9]{1,25}\\.[0-9]{1,12}".prop_map(|text| Number::parse(&text).unwrap()),
        "-?[0-9]\\.[0-9]{1,9}[eE][+-]?[0-9]{1,3}".prop_map(|text| Number::parse(&text).unwrap()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(Value::Number),
        any_text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            prop::collection::btree_map(any_label(), inner, 0..5).prop_map(Value::Struct),
        ]
    })
}

/// The same values as JSON, keys in reverse order.
fn as_json(value: &Value) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::List(items) => {
            format!(
                "[{}]",
                items.iter().map(as_json).collect::<Vec<_>>().join(" , ")
            )
        }
        Value::Struct(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{}:{}", quoted(key), as_json(value));
            format!(
                "{{{}}}",
                fields
                    .iter()
                    .rev()
                    .map(field)
                    .collect::<Vec<_>>()
                    .join(",\n")
            )
        }
    }
}

proptest! {
    #[test]
    fn equal_values_have_one_text_whatever_their_spelling(value in any_value()) {
        let again = Value::from_json(&as_json(&value)).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.to_cue(), value.to_cue());
        prop_assert_eq!(Value::from_cue(&value.to_cue()), Some(value));
    }

    #[test]
    fn a_canonical_number_is_its_own_spelling(text in "-?[0-9]{1,30}(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?") {
        let number = Number::parse(&text).unwrap();
        prop_assert_eq!(&Number::parse(number.as_str()).unwrap(), &number);
        let (given, kept) = (text.parse::<f64>().unwrap(), number.as_str().parse::<f64>().unwrap());
        prop_assert_eq!(given, kept);
    }
}

#[test]
fn the_official_cue_reads_it_back_to_equal_values() {
    let Some(cue) = cue() else {
        return skip::skip_without("`cue`: set OPM_CUE or put it in PATH");
    };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut all: Vec<Value> = VECTORS
        .iter()
        .map(|(json, _)| Value::from_json(json).unwrap())
        .collect();
    all.extend((0..400).map(|_| any_value().new_tree(&mut runner).unwrap().current()));
    let text = Value::List(all.clone()).to_cue();
    let Value::List(back) = read_back(&cue, &text) else {
        panic!("a list came back as another")
    };
    assert_eq!(back.len(), all.len());
    for (given, back) in all.iter().zip(&back) {
        assert_eq!(back, given);
    }
    assert_eq!(Value::List(back).to_cue(), text);
}

#[test]
fn plain_data_is_read_without_cue() {
    for (text, json) in [
        ("", "{}"),
        ("// nothing\npackage web\n", "{}"),
        (
            "package web\n\n// The values.\nvalues: {\n\thost: \"h\" // a host\n\tports: [80, 81,]\n}\n",
            r#"{"values":{"host":"h","ports":[80,81]}}"#,
        ),
        (
            "values: #config & {a: b: 1, a: c: true}\n",
            r#"{"values":{"a":{"b":1,"c":true}}}"#,
        ),
        (
            "a: 1, \"b c\": null\nnull: 2\ntrue: false\n",
            r#"{"a":1,"b c":null,"null":2,"true":false}"#,
        ),
        (
            "a: \"x\\n\\u00e9\\\"\"\na: \"x\\né\\\"\"",
            r#"{"a":"x\né\""}"#,
        ),
        ("{a: 1}", r#"{"a":1}"#),
        ("[1.50, -2, \"x\"]", r#"[1.5,-2,"x"]"#),
        ("true", "true"),
        ("\"x\": 1", r#"{"x":1}"#),
        ("\"x\"", r#""x""#),
    ] {
        let expected = Value::from_json(json).unwrap();
        assert_eq!(Value::from_cue(text), Some(expected), "{text}");
    }
    for text in [
        "a: int",
        "a: b",
        "a: *80 | int",
        "a: 1 & >0",
        "a: 1\na: 2",
        "a: \"\\(b)\"",
        "a: \"\"\"\n\tx\n\t\"\"\"",
        "a?: 1",
        "_a: 1",
        "#a: 1",
        "import \"strings\"\na: 1",
        "values: #config",
        "a: #config & {b: 1}",
        "a: [for x in [1] {x}]",
        "if true {a: 1}",
        "a: 1 b: 2",
        "a: 010",
        "a: 10Gi",
        "a: 0x10",
        "a: [1 2]",
        "a: {b: 1",
        "a: 1}",
        "a: 'x'",
        "...",
        "a: 1 @tag(x)",
    ] {
        assert_eq!(Value::from_cue(text), None, "{text}");
    }
    assert_eq!(Value::from_cue(&"[".repeat(100_000)), None);
}
