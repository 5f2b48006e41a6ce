//! The codec of the stored record: what RFC-0001 writes, what we add, and what damage does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use std::collections::BTreeMap;

use opm_core::record::{
    Body, Content, DecodedRecord, Finding, FindingKind, LogResult, PendingWhy, Record, SecretParts,
    Stored, decode, encode,
};
use serde_json::{Value, json};

fn secret(data: &[(&str, &str)]) -> SecretParts {
    let data = data
        .iter()
        .map(|(key, text)| ((*key).to_owned(), text.as_bytes().to_vec()));
    SecretParts {
        data: data.collect(),
        ..SecretParts::default()
    }
}

fn example() -> SecretParts {
    let text = include_str!("fixtures/rfc-example.json");
    let data: BTreeMap<String, String> = serde_json::from_str(text).unwrap();
    let data = data.into_iter().map(|(key, text)| (key, text.into_bytes()));
    SecretParts {
        data: data.collect(),
        ..SecretParts::default()
    }
}

fn writable(secret: &SecretParts) -> Record {
    match decode(secret).unwrap().stored {
        Stored::Writable(record) => record,
        Stored::ReadOnly(_) => panic!("the record should be writable"),
    }
}

fn json_of(secret: &SecretParts, key: &str) -> Value {
    serde_json::from_slice(&secret.data[key]).unwrap()
}

const METADATA: &str = r#"{"kind":"ModuleRelease","apiVersion":"core.opmodel.dev/v1alpha1",
    "name":"web","namespace":"games","releaseId":"ba7ef080-f6d7-5049-9ee5-a5e34cd652de"}"#;
const CHANGE: &str = r#"{"module":{"path":"local/web","local":true,"name":"web"},"values":"{}",
    "manifestDigest":"sha256:00","timestamp":"2026-02-11T14:00:00Z","inventory":{"entries":[]}}"#;

#[test]
fn the_rfc_example_decodes_and_re_encoded_means_the_same() {
    let secret = example();
    let record = writable(&secret);
    assert_eq!(record.metadata.name, "minecraft");
    assert_eq!(record.history.len(), 3);
    let current = record.current().unwrap();
    assert_eq!(current.id, "change-sha1-e92f4c01");
    assert_eq!(current.module.version.as_deref(), Some("0.2.0"));
    let names: Vec<String> = current
        .entries()
        .iter()
        .map(|e| e.entry.identity.to_string())
        .collect();
    assert_eq!(
        names[3],
        "ConfigMap/minecraft-server-config in namespace default"
    );

    let written = encode(&record);
    assert_eq!(
        written.data.keys().collect::<Vec<_>>(),
        secret.data.keys().collect::<Vec<_>>()
    );
    for key in secret.data.keys() {
        assert_eq!(json_of(&written, key), json_of(&secret, key), "{key}");
    }
}

#[test]
fn a_record_that_holds_only_an_intent_has_metadata_and_an_empty_index() {
    let record = writable(&secret(&[("metadata", METADATA), ("index", "[]")]));
    assert_eq!(record.current(), None);
    assert!(record.inventory().is_empty());
    let written = encode(&record);
    assert_eq!(
        written.data.keys().collect::<Vec<_>>(),
        ["index", "metadata"]
    );
    assert_eq!(json_of(&written, "index"), json!([]));
}

#[test]
fn unknown_data_keys_and_json_fields_survive() {
    let change = r#"{"module":{"path":"p","version":"1","name":"n","digest":"d"},"values":"",
        "manifestDigest":"","timestamp":"","zone":"eu","inventory":{"shard":7,"entries":[
        {"group":"","kind":"ConfigMap","namespace":"","name":"a","v":"v1","component":"c","x":[1]}]}}"#;
    let pending = r#"{"objects":[{"kind":"ConfigMap","namespace":"games","name":"b","v":"v1",
        "component":"c","why":"create","change":"change-sha1-1","since":"s","y":{}}],"more":true}"#;
    let before = secret(&[
        (
            "metadata",
            METADATA
                .replace(r#""name""#, r#""colour":"red","name""#)
                .as_str(),
        ),
        ("index", r#"["change-sha1-1"]"#),
        ("change-sha1-1", change),
        ("pending", pending),
        ("kept", r#"{"objects":[],"z":1}"#),
        ("lock", r#"{"id":"i","beat":3,"nonce":"n"}"#),
        ("log", r#"[{"id":"i","result":"paused","w":0}]"#),
        ("notes", "\u{0}not json"),
    ]);
    let after = encode(&writable(&before));
    assert_eq!(after.data["notes"], before.data["notes"]);
    assert_eq!(json_of(&after, "metadata")["colour"], "red");
    let change = json_of(&after, "change-sha1-1");
    assert_eq!(change["zone"], "eu");
    assert_eq!(change["module"]["digest"], "d");
    assert_eq!(change["inventory"]["shard"], 7);
    assert_eq!(change["inventory"]["entries"][0]["x"], json!([1]));
    assert_eq!(change["inventory"]["entries"][0]["namespace"], "");
    assert_eq!(json_of(&after, "pending")["objects"][0]["y"], json!({}));
    assert_eq!(json_of(&after, "pending")["more"], true);
    assert_eq!(json_of(&after, "kept")["z"], 1);
    assert_eq!(json_of(&after, "lock")["nonce"], "n");
    assert_eq!(json_of(&after, "log")[0]["w"], 0);
    assert_eq!(json_of(&after, "log")[0]["result"], "paused");
    assert_eq!(writable(&after), writable(&before));
}

#[test]
fn labels_and_annotations_of_others_survive() {
    let mut before = secret(&[("metadata", METADATA), ("index", "[]")]);
    before.labels.insert("team".into(), "blue".into());
    before.annotations.insert("note".into(), "ours".into());
    before
        .annotations
        .insert("opmodel.dev/summary".into(), "old".into());
    let after = encode(&writable(&before));
    assert_eq!(after.labels["team"], "blue");
    assert_eq!(after.annotations["note"], "ours");
    let summary: Value = serde_json::from_str(&after.annotations["opmodel.dev/summary"]).unwrap();
    assert_eq!(summary["name"], "web");
}

#[test]
fn a_local_module_is_written_as_local() {
    let record = writable(&secret(&[
        ("metadata", METADATA),
        ("index", r#"["change-sha1-1"]"#),
        ("change-sha1-1", CHANGE),
    ]));
    assert_eq!(record.current().unwrap().module.version, None);
    let module = json_of(&encode(&record), "change-sha1-1")["module"].clone();
    assert_eq!(
        module,
        json!({"path": "local/web", "local": true, "name": "web"})
    );
}

#[test]
fn additions_are_read() {
    let record = writable(&secret(&[
        ("metadata", METADATA),
        ("index", r#"["change-sha1-1"]"#),
        (
            "change-sha1-1",
            r#"{"module":{},"inventory":{"entries":[{"kind":"Pod","name":"a","v":"v1","uid":"u",
            "hash":"0123456789abcdef"}]},"components":["metrics"],"features":{"x":true},
            "parent":"change-sha1-0","record":{"manifests":{"places":["00","63"],"bytes":9},
            "values":{"places":["01"]},"dropped":{"applied":"too large"}}}"#,
        ),
        (
            "pending",
            r#"{"objects":[{"kind":"Pod","name":"b","v":"v1","why":"prune-failed",
            "reason":"forbidden","late":true}],"until":"2026-02-11T14:00:00Z"}"#,
        ),
        (
            "log",
            r#"[{"id":"l","command":"apply","result":"rolled-back","counts":{"created":2}}]"#,
        ),
    ]));
    let change = record.current().unwrap();
    assert_eq!(change.values, Body::InRecord);
    assert_eq!(change.entries()[0].entry.uid.as_deref(), Some("u"));
    assert_eq!(
        change
            .record
            .as_ref()
            .unwrap()
            .places()
            .into_iter()
            .collect::<Vec<_>>(),
        [0, 1, 63]
    );
    let object = &record.pending.objects()[0];
    assert_eq!((object.why, object.late), (PendingWhy::PruneFailed, true));
    assert_eq!(record.pending.counted().count(), 0);
    assert_eq!(record.log[0].result, LogResult::RolledBack);
    assert_eq!(record.log[0].counts["created"], 2);
}

/// Each line: the key that is broken, its text, and the finding.
#[test]
fn damage_is_an_error_that_names_key_and_place_and_quotes_nothing() {
    let entry =
        |fields: &str| format!(r#"{{"module":{{}},"inventory":{{"entries":[{{{fields}}}]}}}}"#);
    let table: Vec<(&str, String, &str)> = vec![
        (
            "metadata",
            "{".into(),
            "`metadata` is not valid JSON (line 1, column 1)",
        ),
        (
            "metadata",
            "[]".into(),
            "`metadata` must be a mapping, not a list",
        ),
        (
            "metadata",
            METADATA.replace("\"web\"", "7"),
            "`metadata`: `name` must be a string, not a number",
        ),
        (
            "metadata",
            METADATA.replace("\"web\"", "\"\""),
            "`metadata`: `name` is missing",
        ),
        (
            "index",
            "{}".into(),
            "`index` must be a list, not a mapping",
        ),
        (
            "index",
            "[7]".into(),
            "`index`: `[0]` must be a string, not a number",
        ),
        (
            "index",
            r#"["hunter2"]"#.into(),
            "`index`: `[0]` must be one of the stored changes",
        ),
        (
            "index",
            r#"["change-sha1-9"]"#.into(),
            "`change-sha1-9` is named by the index and is not stored",
        ),
        (
            "change-sha1-1",
            "hunter2".into(),
            "`change-sha1-1` is not valid JSON (line 1, column 1)",
        ),
        (
            "change-sha1-1",
            "{}".into(),
            "`change-sha1-1`: `module` is missing",
        ),
        (
            "change-sha1-1",
            r#"{"module":{}}"#.into(),
            "`change-sha1-1`: `inventory` is missing",
        ),
        (
            "change-sha1-1",
            r#"{"module":{},"inventory":{"entries":"hunter2"}}"#.into(),
            "`change-sha1-1`: `inventory.entries` must be a list, not a string",
        ),
        (
            "change-sha1-1",
            entry(r#""kind":"Pod","name":"a","v":["hunter2"]"#),
            "`change-sha1-1`: `inventory.entries[0].v` must be a string, not a list",
        ),
        (
            "change-sha1-1",
            entry(r#""kind":"Pod","v":"v1""#),
            "`change-sha1-1`: `inventory.entries[0].name` is missing",
        ),
        (
            "change-sha1-1",
            r#"{"module":{},"inventory":{},"record":{"manifests":{"places":["64"]}}}"#.into(),
            "`change-sha1-1`: `record.manifests.places[0]` must be a place such as \"07\", up to \"63\", not a string",
        ),
        (
            "change-sha1-1",
            r#"{"module":{},"inventory":{},"order":{"web":["db",7]}}"#.into(),
            "`change-sha1-1`: `order.web[1]` must be a string, not a number",
        ),
        (
            "pending",
            r#"{"objects":[1]}"#.into(),
            "`pending`: `objects[0]` must be a mapping, not a number",
        ),
        (
            "pending",
            r#"{"objects":[{"kind":"Pod","name":"a","v":"v1","why":"hunter2"}]}"#.into(),
            "`pending`: `objects[0].why` must be one of create, adopt, take, prune-failed, repair",
        ),
        ("kept", "null".into(), "`kept` must be a mapping, not null"),
        ("lock", r#"{"id":""}"#.into(), "`lock`: `id` is missing"),
        (
            "lock",
            r#"{"id":"i","beat":-1}"#.into(),
            "`lock`: `beat` must be a whole number from zero up, not a number",
        ),
        (
            "log",
            r#"[{"counts":{}}]"#.into(),
            "`log`: `[0].result` is missing",
        ),
    ];
    for (key, text, expected) in table {
        let mut secret = secret(&[
            ("metadata", METADATA),
            ("index", r#"["change-sha1-1"]"#),
            ("change-sha1-1", CHANGE),
        ]);
        secret.data.insert(key.to_owned(), text.into_bytes());
        let error = decode(&secret).unwrap_err();
        assert_eq!(error.findings.len(), 1, "{key}: {error}");
        assert_eq!(error.findings[0].to_string(), expected);
        assert!(!error.to_string().contains("hunter2"));
    }
}

#[test]
fn every_damaged_key_is_reported() {
    let error = decode(&secret(&[
        ("metadata", "x"),
        ("pending", "x"),
        ("lock", "x"),
    ]))
    .unwrap_err();
    let keys: Vec<&str> = error
        .findings
        .iter()
        .map(|finding| finding.key.as_str())
        .collect();
    assert_eq!(keys, ["metadata", "index", "pending", "lock"]);
    let error = decode(&secret(&[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the release's record is damaged: `metadata` is missing; `index` is missing"
    );
}

#[test]
fn damage_to_older_changes_is_tolerated_carried_and_reported() {
    let before = secret(&[
        ("metadata", METADATA),
        (
            "index",
            r#"["change-sha1-1","change-sha1-2","change-sha1-3","change-sha1-1"]"#,
        ),
        ("change-sha1-1", CHANGE),
        ("change-sha1-2", "damaged"),
    ]);
    let DecodedRecord {
        stored: Stored::Writable(record),
        findings,
    } = decode(&before).unwrap()
    else {
        panic!("the record should be writable");
    };
    let expected = [
        (
            "change-sha1-2",
            "",
            FindingKind::Syntax { line: 1, column: 1 },
        ),
        ("change-sha1-3", "", FindingKind::AbsentChange),
        ("index", "[3]", FindingKind::Duplicate),
    ];
    let expected = expected.map(|(key, path, problem)| Finding {
        key: key.into(),
        path: path.into(),
        problem,
    });
    assert_eq!(findings, expected);
    assert_eq!(
        record.history[1].content,
        Content::Damaged(b"damaged".to_vec())
    );
    assert_eq!(record.changes().count(), 1);
    let after = encode(&record);
    assert_eq!(after.data["change-sha1-2"], b"damaged");
    assert_eq!(
        json_of(&after, "index"),
        json!(["change-sha1-1", "change-sha1-2", "change-sha1-3"])
    );
}

#[test]
fn an_object_that_is_pending_or_kept_twice_is_damage() {
    let object = r#"{"kind":"Pod","name":"a","v":"v1","why":"create"}"#;
    let kept = object.replace("create", "guard");
    let error = decode(&secret(&[
        ("metadata", METADATA),
        ("index", "[]"),
        ("pending", &format!(r#"{{"objects":[{object},{object}]}}"#)),
        ("kept", &format!(r#"{{"objects":[{kept}]}}"#)),
    ]))
    .unwrap_err();
    let texts: Vec<String> = error.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "`pending`: `objects[1]` is listed more than once",
            "`kept`: `objects[0]` is listed more than once"
        ]
    );
}

#[test]
fn an_unknown_format_can_be_read_and_not_written() {
    for (from, to) in [("v1alpha1", "v9"), ("ModuleRelease", "Release")] {
        let metadata = METADATA.replace(from, to);
        let decoded = decode(&secret(&[
            ("metadata", &metadata),
            ("index", r#"["change-sha1-1"]"#),
            ("change-sha1-1", CHANGE),
            ("pending", r#"{"objects":"elsewhere"}"#),
        ]))
        .unwrap();
        let Stored::ReadOnly(read_only) = decoded.stored else {
            panic!("must not be writable")
        };
        assert_eq!(read_only.shown().metadata.name, "web");
        assert_eq!(read_only.shown().changes().count(), 1);
        assert!(read_only.kind() == to || read_only.api_version().ends_with(to));
        assert_eq!(decoded.findings.len(), 1, "what could not be read is said");
    }
}

#[test]
fn debug_output_shows_no_values() {
    let change = CHANGE.replace(
        r#""values":"{}""#,
        r#""values":"hunter2","later":"hunter2""#,
    );
    let before = secret(&[
        ("metadata", METADATA),
        ("index", r#"["change-sha1-1"]"#),
        ("change-sha1-1", &change),
    ]);
    let shown = format!("{:?} {before:?}", writable(&before));
    assert!(!shown.contains("hunter2"), "{shown}");
}
