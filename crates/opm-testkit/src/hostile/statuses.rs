//! Refusals, sensible and odd.

use serde_json::{Value, json};

use super::Behaviour;
use super::script::{Script, answer, everything, objects, refusal};

fn refused(code: u16, reason: &str) -> Script {
    said(code, &refusal(code, reason, "not this time"))
}

fn said(code: u16, status: &Value) -> Script {
    answer(code, "", status.to_string())
}

fn with_details(code: u16, reason: &str, details: Value) -> Script {
    let mut status = refusal(code, reason, "not this time");
    status["details"] = details;
    said(code, &status)
}

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "unauthorized",
        strikes: everything,
        act: |_, _| refused(401, "Unauthorized"),
    },
    Behaviour {
        name: "forbidden",
        strikes: objects,
        act: |_, _| refused(403, "Forbidden"),
    },
    Behaviour {
        name: "gone",
        strikes: objects,
        act: |_, _| refused(410, "Expired"),
    },
    Behaviour {
        name: "conflict-for-ever",
        strikes: |struck| objects(struck) && struck.method != "GET",
        act: |_, _| {
            said(
                409,
                &refusal(409, "Conflict", "the object has been modified"),
            )
        },
    },
    Behaviour {
        name: "already-exists-for-ever",
        strikes: |struck| objects(struck) && struck.method != "GET",
        act: |_, _| refused(409, "AlreadyExists"),
    },
    Behaviour {
        name: "ten-thousand-causes",
        strikes: objects,
        act: |_, _| {
            let cause = json!({"reason": "FieldManagerConflict", "field": "f".repeat(50),
                "message": "conflict with \"x\""});
            with_details(409, "Conflict", json!({"causes": vec![cause; 10_000]}))
        },
    },
    Behaviour {
        name: "a-message-of-a-megabyte",
        strikes: objects,
        act: |_, _| said(422, &refusal(422, "Invalid", &"long ".repeat(200_000))),
    },
    Behaviour {
        name: "a-message-that-writes-to-the-terminal",
        strikes: objects,
        act: |_, _| {
            said(
                422,
                &refusal(422, "Invalid", "\u{1b}[2J\u{9b}31m\u{202e}gone\u{7}"),
            )
        },
    },
    Behaviour {
        name: "a-status-of-other-types",
        strikes: objects,
        act: |_, _| {
            let status = json!({"kind": "Status", "code": "500", "message": [1], "details": 7});
            said(500, &status)
        },
    },
    Behaviour {
        name: "details-at-their-limits",
        strikes: objects,
        act: |_, _| with_details(500, "ServerTimeout", json!({"retryAfterSeconds": i64::MIN})),
    },
    Behaviour {
        name: "an-internal-error-with-a-reason",
        strikes: everything,
        act: |_, _| refused(500, "InternalError"),
    },
    Behaviour {
        name: "a-code-of-its-own",
        strikes: everything,
        act: |_, _| answer(599, "", "what?"),
    },
    Behaviour {
        name: "a-teapot",
        strikes: objects,
        act: |_, _| answer(418, "Content-Type: text/plain\r\n", "short and stout"),
    },
    Behaviour {
        name: "too-large",
        strikes: objects,
        act: |_, _| refused(413, "RequestEntityTooLarge"),
    },
];
