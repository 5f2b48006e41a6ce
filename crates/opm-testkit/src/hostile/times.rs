//! Too slow, too late, too early.

use std::time::Duration;

use super::Behaviour;
use super::script::{HonestAnswer, Script, Step, answer, everything, head, objects, refusal};

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "no-answer",
        strikes: everything,
        act: |_, _| vec![Step::Hold],
    },
    Behaviour {
        name: "no-answer-to-writes",
        strikes: |struck| struck.method != "GET",
        act: |_, _| vec![Step::Hold],
    },
    Behaviour {
        name: "a-head-byte-by-byte",
        strikes: everything,
        act: |_, _| {
            let head = b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\n".repeat(9);
            vec![Step::Slowly(head, Duration::from_millis(100)), Step::Hold]
        },
    },
    Behaviour {
        name: "a-body-byte-by-byte",
        strikes: objects,
        act: |_, said| {
            let pause = Duration::from_millis(100);
            vec![
                head(said.status, ""),
                Step::Slowly(said.body, pause),
                Step::Close,
            ]
        },
    },
    Behaviour {
        name: "silence-in-the-middle",
        strikes: objects,
        act: |_, said| half(said, Step::Hold),
    },
    Behaviour {
        name: "an-end-in-the-middle",
        strikes: objects,
        act: |_, said| half(said, Step::Close),
    },
    Behaviour {
        name: "an-end-before-the-answer",
        strikes: everything,
        act: |_, _| vec![Step::Close],
    },
    Behaviour {
        name: "come-back-at-the-end-of-time",
        strikes: everything,
        act: |_, _| later(429, "18446744073709551615"),
    },
    Behaviour {
        name: "come-back-yesterday",
        strikes: objects,
        act: |_, _| later(503, "-86400"),
    },
    Behaviour {
        name: "come-back-on-a-date",
        strikes: objects,
        act: |_, _| later(503, "Fri, 31 Dec 9999 23:59:59 GMT"),
    },
    Behaviour {
        name: "the-body-says-when-to-come-back",
        strikes: objects,
        act: |_, _| {
            let mut status = refusal(429, "TooManyRequests", "later");
            status["details"] = serde_json::json!({"retryAfterSeconds": u64::MAX});
            answer(429, "", status.to_string())
        },
    },
    Behaviour {
        name: "the-year-9999",
        strikes: everything,
        act: |_, said| dated(said, "Fri, 31 Dec 9999 23:59:59 GMT"),
    },
    Behaviour {
        name: "the-year-1900",
        strikes: everything,
        act: |_, said| dated(said, "Mon, 01 Jan 1900 00:00:00 GMT"),
    },
    Behaviour {
        name: "objects-of-the-future",
        strikes: objects,
        act: |_, said| {
            said.each_object(|object| {
                object["metadata"]["creationTimestamp"] = "9999-12-31T23:59:59Z".into();
                let fields = object["metadata"]["managedFields"].as_array_mut();
                for entry in fields.into_iter().flatten() {
                    entry["time"] = "9999-12-31T23:59:59Z".into();
                }
            })
            .said()
        },
    },
];

fn half(mut said: HonestAnswer, then: Step) -> Script {
    let length = said.body.len();
    said.body.truncate(length / 2);
    let head = format!(
        "HTTP/1.1 {} X\r\nContent-Length: {length}\r\n\r\n",
        said.status
    );
    vec![Step::Send(head.into_bytes()), Step::Send(said.body), then]
}

fn later(status: u16, when: &str) -> Script {
    let body = refusal(status, "TooManyRequests", "later").to_string();
    answer(status, &format!("Retry-After: {when}\r\n"), body)
}

fn dated(said: HonestAnswer, date: &str) -> Script {
    answer(said.status, &format!("Date: {date}\r\n"), said.body)
}
