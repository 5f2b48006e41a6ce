//! Answers about something else than what was asked for.

use serde_json::{Value, json};

use super::Behaviour;
use super::script::{HonestAnswer, Script, Struck, answer, objects, refusal};

fn secrets(struck: &Struck) -> bool {
    objects(struck) && struck.path.contains("/secrets")
}

fn metadata(said: HonestAnswer, field: &str, value: &Value) -> Script {
    said.each_object(|object| object["metadata"][field] = value.clone())
        .said()
}

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "another-name",
        strikes: objects,
        act: |_, said| metadata(said, "name", &json!("victim")),
    },
    Behaviour {
        name: "a-secret-under-another-name",
        strikes: secrets,
        act: |_, said| metadata(said, "name", &json!("victim")),
    },
    Behaviour {
        name: "no-name",
        strikes: objects,
        act: |_, said| metadata(said, "name", &Value::Null),
    },
    Behaviour {
        name: "a-name-that-is-a-path",
        strikes: objects,
        act: |_, said| metadata(said, "name", &json!("../../../namespaces/kube-system")),
    },
    Behaviour {
        name: "another-namespace",
        strikes: objects,
        act: |_, said| metadata(said, "namespace", &json!("kube-system")),
    },
    Behaviour {
        name: "another-uid-every-time",
        strikes: objects,
        act: |struck, said| metadata(said, "uid", &json!(format!("uid-{}", struck.number))),
    },
    Behaviour {
        name: "no-uid",
        strikes: objects,
        act: |_, said| metadata(said, "uid", &Value::Null),
    },
    Behaviour {
        name: "another-version-every-time",
        strikes: objects,
        act: |struck, said| metadata(said, "resourceVersion", &json!(struck.number.to_string())),
    },
    Behaviour {
        name: "no-labels",
        strikes: objects,
        act: |_, said| metadata(said, "labels", &Value::Null),
    },
    Behaviour {
        name: "being-deleted",
        strikes: objects,
        act: |_, said| metadata(said, "deletionTimestamp", &json!("2026-01-01T00:00:00Z")),
    },
    Behaviour {
        name: "another-kind",
        strikes: objects,
        act: |_, said| {
            said.each_object(|object| object["kind"] = json!("Pod"))
                .said()
        },
    },
    Behaviour {
        name: "another-api-version",
        strikes: objects,
        act: |_, said| {
            said.each_object(|object| object["apiVersion"] = json!("example.com/v9"))
                .said()
        },
    },
    Behaviour {
        name: "not-found-about-something-else",
        strikes: |struck| objects(struck) && struck.is_about_one(),
        act: |_, _| {
            let mut status = refusal(404, "NotFound", "pods \"other\" not found");
            status["details"] = json!({"name": "other", "kind": "pods"});
            answer(404, "", status.to_string())
        },
    },
    Behaviour {
        name: "not-found-about-everything",
        strikes: |struck| objects(struck) && struck.is_about_one(),
        act: |struck, _| {
            let name = struck.path.rsplit('/').next().unwrap_or_default();
            let mut status = refusal(404, "NotFound", "not found");
            status["details"] = json!({"name": name, "kind": "things"});
            answer(404, "", status.to_string())
        },
    },
    Behaviour {
        name: "writes-that-change-nothing",
        strikes: |struck| objects(struck) && struck.method != "GET",
        act: |_, said| {
            said.edited(|object| {
                object["metadata"]["resourceVersion"] = json!("1");
                object["data"] = json!({});
            })
            .said()
        },
    },
    Behaviour {
        name: "deletes-of-something-else",
        strikes: |struck| struck.method == "DELETE",
        act: |_, _| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Success",
                "details": {"name": "other", "kind": "pods", "uid": "other"}});
            answer(200, "", status.to_string())
        },
    },
    Behaviour {
        name: "a-failure-that-is-called-success",
        strikes: objects,
        act: |_, _| answer(200, "", refusal(500, "InternalError", "no").to_string()),
    },
];
