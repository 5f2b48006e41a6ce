//! Too much of everything.

use super::Behaviour;
use super::script::{HonestAnswer, Script, Step, answer, everything, head, objects};

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
        act: |_, said| with_text(said, 20 << 20),
    },
    Behaviour {
        name: "objects-of-three-megabytes",
        strikes: objects,
        act: |_, said| with_text(said, 3 << 20),
    },
    Behaviour {
        name: "a-hundred-megabytes-of-data",
        strikes: objects,
        act: |_, said| {
            let data = format!(r#""big":"{}","#, "eHh4".repeat(25 << 20));
            said.spliced(r#""data":{"#, &data).said()
        },
    },
    Behaviour {
        name: "a-million-small-tables",
        strikes: objects,
        act: |_, said| {
            let tables = format!(r#""tables":[{}0],"#, r#"{"a":1},"#.repeat(1_000_000));
            said.spliced(METADATA, &tables).said()
        },
    },
    Behaviour {
        name: "a-hundred-thousand-small-tables",
        strikes: objects,
        act: |_, said| {
            let tables = format!(r#""tables":[{}0],"#, r#"{"a":1},"#.repeat(100_000));
            said.spliced(METADATA, &tables).said()
        },
    },
    Behaviour {
        name: "a-hundred-thousand-labels",
        strikes: objects,
        act: |_, said| {
            let labels: String = (0..100_000).map(|n| format!(r#""x-{n}":"x","#)).collect();
            said.spliced(r#""labels":{"#, &labels).said()
        },
    },
    Behaviour {
        name: "a-hundred-thousand-managers",
        strikes: objects,
        act: |_, said| {
            let entry = r#"{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}}},"#;
            said.spliced(r#""managedFields":["#, &entry.repeat(100_000))
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

const METADATA: &str = r#""metadata":{"#;

fn with_text(said: HonestAnswer, bytes: usize) -> Script {
    let text = format!(r#""big":"{}","#, "x".repeat(bytes));
    said.spliced(METADATA, &text).said()
}

fn endless(status: u16) -> Script {
    vec![head(status, ""), Step::Endless(vec![b' '; 64 << 10])]
}
