//! Streams of events that no server sends.

use serde_json::json;

use super::Behaviour;
use super::script::{Script, Step, Struck, answer, head, refusal};

fn watches(struck: &Struck) -> bool {
    struck.is_watch()
}

fn stream(step: Step) -> Script {
    vec![head(200, ""), step]
}

fn once(line: &str) -> Script {
    vec![
        head(200, ""),
        Step::Send(format!("{line}\n").into_bytes()),
        Step::Close,
    ]
}

fn endless(line: &str) -> Script {
    stream(Step::Endless(format!("{line}\n").repeat(100).into_bytes()))
}

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "a-line-without-end",
        strikes: watches,
        act: |_, _| stream(Step::Endless(vec![b'x'; 64 << 10])),
    },
    Behaviour {
        name: "a-refused-watch-without-end",
        strikes: watches,
        act: |_, _| vec![head(500, ""), Step::Endless(vec![b'x'; 64 << 10])],
    },
    Behaviour {
        name: "empty-lines-without-end",
        strikes: watches,
        act: |_, _| endless(""),
    },
    Behaviour {
        name: "noise-on-a-watch",
        strikes: watches,
        act: |_, _| endless("}{"),
    },
    Behaviour {
        name: "a-silent-watch",
        strikes: watches,
        act: |_, _| stream(Step::Hold),
    },
    Behaviour {
        name: "an-unanswered-watch",
        strikes: watches,
        act: |_, _| vec![Step::Hold],
    },
    Behaviour {
        name: "watches-that-end-at-once",
        strikes: watches,
        act: |_, _| stream(Step::Close),
    },
    Behaviour {
        name: "watches-that-are-always-expired",
        strikes: watches,
        act: |_, _| {
            let status = refusal(410, "Expired", "too old resource version");
            once(&json!({"type": "ERROR", "object": status}).to_string())
        },
    },
    Behaviour {
        name: "an-error-event-that-says-nothing",
        strikes: watches,
        act: |_, _| once(r#"{"type": "ERROR", "object": {}}"#),
    },
    Behaviour {
        name: "bookmarks-without-end",
        strikes: watches,
        act: |_, _| endless(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}"#),
    },
    Behaviour {
        name: "events-of-no-known-type",
        strikes: watches,
        act: |_, _| endless(r#"{"type":"SURPRISE","object":{}}"#),
    },
    Behaviour {
        name: "events-about-other-kinds",
        strikes: watches,
        act: |_, _| {
            let pod = json!({"apiVersion": "v1", "kind": "Surprise", "metadata": {"name": "a"}});
            once(&json!({"type": "MODIFIED", "object": pod}).to_string())
        },
    },
    Behaviour {
        name: "events-without-objects",
        strikes: watches,
        act: |_, _| endless(r#"{"type":"MODIFIED","object":null}"#),
    },
    Behaviour {
        name: "everything-is-deleted-for-ever",
        strikes: watches,
        act: |struck, _| {
            let name = struck.query.split("metadata.name%3D").nth(1).unwrap_or("a");
            let name = name.split('&').next().unwrap_or_default();
            let namespace = struck.path.split('/').nth(4).unwrap_or("x");
            let object = json!({"metadata": {"name": name, "namespace": namespace}});
            endless(&json!({"type": "DELETED", "object": object}).to_string())
        },
    },
    Behaviour {
        name: "a-watch-that-is-a-list",
        strikes: watches,
        act: |_, _| answer(200, "", r#"{"kind":"List","apiVersion":"v1","items":[]}"#),
    },
];
