//! Answers of another shape than the API has.

use serde_json::json;

use super::Behaviour;
use super::script::{HonestAnswer, Script, Struck, answer, everything, objects};

fn whole(status: u16, body: impl Into<Vec<u8>>) -> Script {
    answer(status, "", body)
}

fn looks(struck: &Struck) -> bool {
    struck.is_look()
}

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "nothing",
        strikes: everything,
        act: |_, _| whole(200, ""),
    },
    Behaviour {
        name: "no-content",
        strikes: objects,
        act: |_, _| whole(204, ""),
    },
    Behaviour {
        name: "null",
        strikes: everything,
        act: |_, _| whole(200, "null"),
    },
    Behaviour {
        name: "an-empty-table",
        strikes: objects,
        act: |_, _| whole(200, "{}"),
    },
    Behaviour {
        name: "a-number",
        strikes: objects,
        act: |_, _| whole(200, "1e999"),
    },
    Behaviour {
        name: "a-web-page",
        strikes: everything,
        act: |_, _| {
            let page = "<!doctype html><title>Sign in</title><p>Please sign in.";
            answer(200, "Content-Type: text/html\r\n", page)
        },
    },
    Behaviour {
        name: "half-an-object",
        strikes: objects,
        act: |_, mut said| {
            said.body.truncate(said.body.len() / 2);
            said.said()
        },
    },
    Behaviour {
        name: "no-utf-8",
        strikes: objects,
        act: |_, said| {
            let text =
                String::from_utf8_lossy(&said.body).replace("\"name\":\"", "\"name\":\"\u{1}");
            whole(
                said.status,
                text.bytes()
                    .map(|b| if b == 1 { 0xff } else { b })
                    .collect::<Vec<_>>(),
            )
        },
    },
    Behaviour {
        name: "protobuf",
        strikes: everything,
        act: |_, _| {
            let kind = "Content-Type: application/vnd.kubernetes.protobuf\r\n";
            answer(200, kind, b"k8s\x00\x0a\x0c\x0a\x02v1".to_vec())
        },
    },
    Behaviour {
        name: "metadata-is-a-number",
        strikes: looks,
        act: |_, said| {
            said.each_object(|object| object["metadata"] = json!(7))
                .said()
        },
    },
    Behaviour {
        name: "metadata-of-other-types",
        strikes: looks,
        act: |_, said| {
            said.each_object(|object| {
                object["metadata"]["labels"] = json!([1, 2]);
                object["metadata"]["managedFields"] = json!({"a": [null]});
                object["metadata"]["uid"] = json!(["x"]);
                object["metadata"]["resourceVersion"] = json!(7);
            })
            .said()
        },
    },
    Behaviour {
        name: "data-of-other-types",
        strikes: looks,
        act: |_, said| {
            said.each_object(|object| object["data"] = json!([[[]]]))
                .said()
        },
    },
    Behaviour {
        name: "data-that-is-no-base64",
        strikes: looks,
        act: |_, said| said.each_object(each_value("%%%")).said(),
    },
    Behaviour {
        name: "data-that-is-noise",
        strikes: looks,
        act: |_, said| said.each_object(each_value("KLUv/QRYSQAA//////8=")).said(),
    },
    Behaviour {
        name: "numbers-at-their-limits",
        strikes: looks,
        act: |_, said| limits(said),
    },
    Behaviour {
        name: "every-key-twice",
        strikes: looks,
        act: |_, said| {
            let text = String::from_utf8_lossy(&said.body).into_owned();
            let twice = text.replacen('{', r#"{"metadata":{"name":"other"},"#, 1);
            whole(said.status, twice)
        },
    },
];

fn each_value(text: &'static str) -> impl Fn(&mut serde_json::Value) {
    move |object| {
        for value in object["data"].as_object_mut().into_iter().flatten() {
            *value.1 = json!(text);
        }
    }
}

fn limits(said: HonestAnswer) -> Script {
    said.each_object(|object| {
        object["metadata"]["generation"] = json!(i64::MAX);
        object["spec"]["replicas"] = json!(i64::MIN);
        object["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": i64::MAX}});
        object["metadata"]["deletionGracePeriodSeconds"] = json!(i64::MAX);
        // Of an error, it is a word.
        if !object["status"].is_string() {
            object["status"]["observedGeneration"] = json!(i64::MAX);
            object["status"]["replicas"] = json!(i64::MAX);
            object["status"]["updatedReplicas"] = json!(i64::MIN);
            object["status"]["readyReplicas"] = json!(u64::MAX);
            object["status"]["availableReplicas"] = json!(-1);
        }
    })
    .said()
}
