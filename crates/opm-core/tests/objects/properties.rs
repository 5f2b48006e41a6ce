//! What holds of canonical bytes, whatever is written in them.

use opm_core::canonical::value_bytes;
use proptest::prelude::{
    Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::Value;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-1000.0..1000.0).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Equal as Go sees it: integers beyond 64 signed bits and whole floats are one kind of number.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((k, a), (l, b))| k == l && equal(a, b))
        }
        _ => a == b,
    }
}

proptest! {
    #[test]
    fn canonical_bytes_parse_back_equal(value in any_json()) {
        let bytes = value_bytes(&value);
        let again: Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert!(equal(&again, &value), "{again} is not {value}");
        prop_assert_eq!(value_bytes(&again), bytes);
    }

    #[test]
    fn canonical_bytes_hold_nothing_that_html_or_javascript_would_read(value in any_json()) {
        let text = String::from_utf8(value_bytes(&value)).unwrap();
        let found = text.find(['<', '>', '&', '\u{2028}', '\u{2029}', '\n']);
        prop_assert_eq!(found, None);
    }
}
