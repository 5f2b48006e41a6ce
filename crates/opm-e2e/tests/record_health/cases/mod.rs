//! The cases, by what they are about.

mod custom;
mod jobs_and_pods;
mod others;
mod storage;
mod workloads;

use serde_json::Value;

use crate::stage::{Case, Stage, Step, Subject};

/// Every case.
pub(crate) fn all(stage: &Stage) -> Vec<Case> {
    [
        workloads::cases(stage),
        jobs_and_pods::cases(stage),
        storage::cases(stage),
        others::cases(stage),
        custom::cases(stage),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Case {
    /// An object that is made in a collection, and recorded as it comes to be.
    fn of(name: &'static str, collection: &str, object: Value) -> Self {
        let called = object["metadata"]["name"].as_str().unwrap();
        let subject = Subject::Path(format!("{collection}/{called}"));
        Self {
            name,
            make: vec![(collection.to_owned(), object)],
            then: Vec::new(),
            subject,
            until: |_| true,
            pods: None,
            state: "Ready",
            message: "",
        }
    }

    /// The same, recorded as the server answers to its creation, or to the last change.
    fn created(name: &'static str, collection: &str, object: Value) -> Self {
        Self {
            subject: Subject::Answered,
            ..Self::of(name, collection, object)
        }
    }

    fn until(mut self, until: fn(&Value) -> bool) -> Self {
        self.until = until;
        self
    }

    fn pods(mut self, app: &'static str, until: fn(&Value) -> bool) -> Self {
        self.pods = Some((app, until));
        self
    }

    fn before(mut self, collection: &str, object: Value) -> Self {
        self.make.insert(0, (collection.to_owned(), object));
        self
    }

    fn then(mut self, then: Step) -> Self {
        self.then.push(then);
        self
    }

    fn is(mut self, state: &'static str, message: &'static str) -> Self {
        (self.state, self.message) = (state, message);
        self
    }
}

/// A condition of an object, by its type.
fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|c| c["type"] == kind));
    found.unwrap_or(&Value::Null)
}

/// Whether a pod's containers wait for this reason.
fn waits(pod: &Value, reason: &str) -> bool {
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == reason
}

/// Whether a pod has a node and nothing more.
fn idles(pod: &Value) -> bool {
    pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] == "Pending"
}
