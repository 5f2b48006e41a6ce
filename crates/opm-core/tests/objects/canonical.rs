//! Canonical bytes against a thousand pairs that Go made: JSON as Kubernetes decodes it
//! (integers kept), and as encoding/json writes it.

use opm_core::canonical::value_bytes;
use serde_json::{Value, json};

#[test]
fn every_pair_that_go_made() {
    let pairs: Vec<(String, String)> =
        serde_json::from_str(include_str!("../golden/go-json.json")).unwrap();
    assert!(pairs.len() > 1000);
    for (given, expected) in pairs {
        let value: Value = serde_json::from_str(&given).unwrap();
        assert_eq!(
            String::from_utf8(value_bytes(&value)).unwrap(),
            expected,
            "from {given}"
        );
    }
}

#[test]
fn keys_are_sorted_whatever_order_they_came_in() {
    let one: Value = serde_json::from_str(r#"{"b":1,"a":{"y":1,"x":2}}"#).unwrap();
    assert_eq!(value_bytes(&one), br#"{"a":{"x":2,"y":1},"b":1}"#);
}

#[test]
fn preserve_order_stays_off() {
    let map: Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
    let keys: Vec<&String> = map.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["a", "b"],
        "somebody enabled serde_json/preserve_order: digests depend on it"
    );
}

#[test]
fn arbitrary_precision_stays_off() {
    let number: Value = serde_json::from_str("1.10").unwrap();
    assert_eq!(
        number.to_string(),
        "1.1",
        "somebody enabled serde_json/arbitrary_precision: digests depend on it"
    );
}

#[test]
fn floats_read_back_to_the_bits_that_were_written() {
    // Without serde_json's float_roundtrip this one comes back a bit off.
    let text = "2.638344616030823e-256";
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value.as_f64(), text.parse::<f64>().ok());
}

#[test]
fn del_and_other_high_characters_are_not_escaped() {
    assert_eq!(
        value_bytes(&json!("\u{7f}\u{80}\u{feff}")),
        "\"\u{7f}\u{80}\u{feff}\"".as_bytes()
    );
}
