//! Manifests in files that end in `.json`, through the built binary.

use crate::runner::{Ran, World};

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [app.json]}\n";

/// What `build` makes of `app.json`.
fn build(text: &str) -> Ran {
    let world = World::new().file("web/module.yaml", MODULE);
    let world = world.file("web/app.json", text);
    world.opm("mod build ./web -o json")
}

fn config_map(value: &str) -> String {
    format!(r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "a"}}, {value}}}"#)
}

#[test]
fn what_json_allows_is_read() {
    let ran = build(&config_map(
        "\"data\":\t{\"k\": \"\u{7f}\u{9f}\\u007f\\u0000\\ud83d\\ude42\"}",
    ));
    assert_eq!(ran.code, 0, "{ran}");
    let object = &ran.json()["resources"][0]["object"];
    assert_eq!(object["data"]["k"], "\u{7f}\u{9f}\u{7f}\0\u{1f642}");

    let number = r#""spec": {"n": [9223372036854775807, 18446744073709551615, 1.5, -0.1]}"#;
    let ran = build(&config_map(number));
    assert!(
        ran.json()["resources"][0]["object"]["spec"]["n"]
            == serde_json::json!([
                9_223_372_036_854_775_807_i64,
                18_446_744_073_709_551_615_u64,
                1.5,
                -0.1
            ]),
        "{ran}"
    );
}

#[test]
fn several_objects_in_one_file() {
    let one = config_map("\"data\": {}");
    let ran = build(&format!("{one}\n{}", one.replace("\"a\"", "\"b\"")));
    assert_eq!(
        ran.json()["resources"].as_array().unwrap().len(),
        2,
        "{ran}"
    );
}

/// The place is told, the text is not: it may be a Secret's.
#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let deep = format!("\"data\": {}1{}", "[".repeat(200), "]".repeat(200));
    for (text, expected) in [
        (
            config_map("\n\"data\": {\"k\": \"hidden\", \"k\": \"hidden\"}"),
            "web/app.json:2:27: the key `k` occurs twice in one mapping",
        ),
        (
            config_map(&deep),
            "app.json:1:177: it nests deeper than 100 levels",
        ),
        (
            config_map("\n\"data\": hidden"),
            "app.json:2:9: expected value",
        ),
        (
            "apiVersion: v1\nkind: hidden\n".to_owned(),
            "app.json:1:1: expected value",
        ),
    ] {
        let ran = build(&text);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains(expected), "{expected}\n{ran}");
        assert!(!ran.stderr.contains("hidden"), "{ran}");
    }
}
