//! Too much of everything.

use serde_json::json;

use super::Behaviour;
use super::script::{Script, Step, answer, everything, head, objects};

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "a-body-without-end",
        strikes: everything,
        act: |_, _| endless(200),
    },
    Behaviour {
        name: "an-error-without-end",
        strikes: everything,
        act: |_, _| endless(500),
    },
    Behaviour {
        name: "a-forbidden-without-end",
        strikes: objects,
        act: |_, _| endless(403),
    },
    Behaviour {
        name: "objects-of-twenty-megabytes",
        strikes: objects,
        act: |_, said| {
            let text = "x".repeat(20 << 20);
            said.each_object(|object| object["metadata"]["annotations"]["big"] = json!(text))
                .said()
        },
    },
    Behaviour {
        name: "objects-of-three-megabytes",
        strikes: objects,
        act: |_, said| {
            let text = "x".repeat(3 << 20);
            said.each_object(|object| object["metadata"]["annotations"]["big"] = json!(text))
                .said()
        },
    },
    Behaviour {
        name: "a-hundred-megabytes-of-data",
        strikes: objects,
        act: |_, said| {
            let text = "eHh4".repeat(25 << 20);
            said.each_object(|object| object["data"]["big"] = json!(text))
                .said()
        },
    },
    Behaviour {
        name: "a-million-small-tables",
        strikes: objects,
        act: |_, said| {
            let tables = json!(vec![json!({"a": 1}); 1_000_000]);
            said.each_object(|object| object["spec"]["tables"] = tables.clone())
                .said()
        },
    },
    Behaviour {
        name: "a-hundred-thousand-labels",
        strikes: objects,
        act: |_, said| {
            said.each_object(|object| {
                for n in 0..100_000 {
                    object["metadata"]["labels"][format!("label-{n}")] = json!("x");
                }
            })
            .said()
        },
    },
    Behaviour {
        name: "a-hundred-thousand-managers",
        strikes: objects,
        act: |_, said| {
            let entry = json!({"manager": "x", "operation": "Apply", "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}});
            let entries = json!(vec![entry; 100_000]);
            said.each_object(|object| object["metadata"]["managedFields"] = entries.clone())
                .said()
        },
    },
    Behaviour {
        name: "a-hundred-thousand-levels",
        strikes: objects,
        act: |_, _| answer(200, "", "[".repeat(100_000)),
    },
    Behaviour {
        name: "a-header-of-a-megabyte",
        strikes: everything,
        act: |_, said| {
            let header = format!("X-Large: {}\r\n", "x".repeat(1 << 20));
            answer(said.status, &header, said.body)
        },
    },
    Behaviour {
        name: "ten-thousand-headers",
        strikes: everything,
        act: |_, said| answer(said.status, &"X-Many: x\r\n".repeat(10_000), said.body),
    },
    Behaviour {
        name: "headers-without-end",
        strikes: everything,
        act: |_, _| {
            vec![
                Step::Send(b"HTTP/1.1 200 X\r\n".to_vec()),
                Step::Endless(b"X-Many: x\r\n".to_vec()),
            ]
        },
    },
    Behaviour {
        name: "a-new-warning-with-every-answer",
        strikes: everything,
        act: |struck, said| {
            let text = "w".repeat(50_000);
            let warning = format!("Warning: 299 - \"{} {text}\"\r\n", struck.number);
            answer(said.status, &warning, said.body)
        },
    },
];

fn endless(status: u16) -> Script {
    vec![head(status, ""), Step::Endless(vec![b' '; 64 << 10])]
}
