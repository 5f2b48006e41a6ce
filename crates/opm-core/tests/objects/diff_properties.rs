//! What holds for the differences between any two objects.

use proptest::prelude::{
    Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::{Value, json};

use crate::diff::changes;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_i64..5).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        let key = prop_oneof![
            "[a-c]",
            Just("env".to_owned()),
            Just("name".to_owned()),
            Just("data".to_owned())
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// An object without nulls, which count as absent.
fn dense(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k, dense(v)))
                .collect(),
        ),
        Value::Array(items) => items.into_iter().map(dense).collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn nothing_differs_from_itself_and_every_difference_is_told(a in any_json(), b in any_json()) {
        let (a, b) = (json!({"spec": dense(a)}), json!({"spec": dense(b)}));
        prop_assert_eq!(changes("apps", "Deployment", &a, &a), []);
        let there = changes("apps", "Deployment", &a, &b);
        prop_assert_eq!(there.is_empty(), a == b);
        let back = changes("apps", "Deployment", &b, &a);
        prop_assert_eq!(there.len(), back.len());
    }

    #[test]
    fn no_value_of_a_secret_is_ever_shown(a in any_json(), b in any_json(), key in "[a-c]") {
        let hide = |value: Value| json!({"data": {key.as_str(): value, "x": "hunter2"}, "stringData": "hunter3"});
        let told = format!("{:?}", changes("", "Secret", &hide(a), &json!({"data": b, "stringData": {"y": "hunter4"}})));
        prop_assert!(!told.contains("hunter"));
    }
}
