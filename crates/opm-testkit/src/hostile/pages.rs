//! Lists that do not end, or do not begin.

use serde_json::{Value, json};

use super::Behaviour;
use super::script::{HonestAnswer, Script, Struck, answer, refusal};

fn lists(struck: &Struck) -> bool {
    struck.is_list()
}

fn list(said: HonestAnswer, field: &str, value: &Value) -> Script {
    said.edited(|list| list["metadata"][field] = value.clone())
        .said()
}

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "the-same-next-page-for-ever",
        strikes: lists,
        act: |_, said| list(said, "continue", &json!("again")),
    },
    Behaviour {
        name: "another-next-page-for-ever",
        strikes: lists,
        act: |struck, said| {
            let token = format!("page-{}", struck.number);
            match struck.query.contains("continue=") {
                true => {
                    let empty = said.edited(|list| {
                        *list = json!({"apiVersion": "meta.k8s.io/v1", "items": [],
                            "kind": "PartialObjectMetadataList", "metadata": {}});
                    });
                    list(
                        HonestAnswer {
                            status: 200,
                            ..empty
                        },
                        "continue",
                        &json!(token),
                    )
                }
                false => list(said, "continue", &json!(token)),
            }
        },
    },
    Behaviour {
        name: "more-objects-for-ever",
        strikes: lists,
        act: |struck, said| {
            let token = format!("page-{}", struck.number);
            let many = said.edited(|list| {
                let item = list["items"][0].clone();
                if list["kind"] == "Status" {
                    *list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}});
                }
                list["items"] = match item {
                    Value::Null => json!([]),
                    item => json!(vec![item; 500]),
                };
            });
            list(
                HonestAnswer {
                    status: 200,
                    ..many
                },
                "continue",
                &json!(token),
            )
        },
    },
    Behaviour {
        name: "more-than-can-be-counted",
        strikes: lists,
        act: |struck, said| {
            let token = format!("page-{}", struck.number);
            said.edited(|list| {
                list["metadata"]["remainingItemCount"] = json!(u64::MAX);
                list["metadata"]["continue"] = json!(token);
            })
            .said()
        },
    },
    Behaviour {
        name: "fewer-than-none",
        strikes: lists,
        act: |_, said| list(said, "remainingItemCount", &json!(-1)),
    },
    Behaviour {
        name: "a-token-of-a-megabyte",
        strikes: lists,
        act: |_, said| list(said, "continue", &json!("t".repeat(1 << 20))),
    },
    Behaviour {
        name: "every-next-page-expired",
        strikes: lists,
        act: |struck, said| match struck.query.contains("continue=") {
            true => answer(410, "", refusal(410, "Expired", "too old").to_string()),
            false => list(said, "continue", &json!("next")),
        },
    },
    Behaviour {
        name: "a-list-without-items",
        strikes: lists,
        act: |_, said| {
            said.edited(|list| {
                list.as_object_mut().map(|list| list.remove("items"));
            })
            .said()
        },
    },
    Behaviour {
        name: "a-list-of-something-else",
        strikes: lists,
        act: |_, said| {
            said.edited(|list| {
                list["kind"] = json!("PodList");
                list["items"] =
                    json!([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}]);
            })
            .said()
        },
    },
    Behaviour {
        name: "items-that-are-no-objects",
        strikes: lists,
        act: |_, said| {
            said.edited(|list| list["items"] = json!([1, "x", null]))
                .said()
        },
    },
    Behaviour {
        name: "the-same-item-a-thousand-times",
        strikes: lists,
        act: |_, said| {
            said.edited(|list| {
                if !list["items"][0].is_null() {
                    list["items"] = json!(vec![list["items"][0].clone(); 1000]);
                }
            })
            .said()
        },
    },
];
