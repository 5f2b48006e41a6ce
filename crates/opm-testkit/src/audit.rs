//! Counts requests, from the API server's own audit log.
//!
//! The log has a line when a request arrives and another when it is answered; the first is written
//! before the request is worked on. So once a client has its answer, its request is in the log,
//! and waiting for the second line of every first makes a count exact.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde::Deserialize;

use crate::plane::ControlPlane;
use crate::relay::RequestInfo;
use crate::wait::eventually;

/// The audit log of a control plane.
#[derive(Debug, Clone)]
pub struct Audit {
    path: PathBuf,
}

/// A position in the log: requests before it do not count.
#[derive(Debug, Clone, Copy)]
pub struct Mark(u64);

impl ControlPlane {
    /// The audit log; a cluster that the kit did not start has none to look at.
    #[must_use]
    pub fn audit(&self) -> Option<Audit> {
        self.directory().map(|dir| Audit {
            path: dir.join("audit.jsonl"),
        })
    }
}

impl Audit {
    /// The end of the log as it is now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(
            fs::metadata(&self.path)
                .expect("the control plane has an audit log")
                .len(),
        )
    }

    /// The requests of one user since the mark, in the order of their arrival. Waits until each
    /// one is answered; a watch counts from its first answer on.
    pub async fn requests(&self, since: Mark, user: &str) -> Requests {
        eventually("every request is answered", async || {
            let lines = self.lines(since);
            let lines: Vec<_> = lines
                .into_iter()
                .filter(|line| line.user.username == user)
                .collect();
            let (requests, open) = pair(&lines);
            open.is_empty().then_some(Requests(requests))
        })
        .await
    }

    fn lines(&self, since: Mark) -> Vec<AuditEvent> {
        let mut text = Vec::new();
        let mut file = File::open(&self.path).expect("the control plane has an audit log");
        file.seek(SeekFrom::Start(since.0)).expect("a file");
        file.read_to_end(&mut text).expect("a file");
        // What follows the last line end is still being written.
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        text[..whole]
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("a line of the audit log"))
            .collect()
    }
}

/// Requests from the audit log.
#[derive(Debug, Clone)]
pub struct Requests(Vec<RequestInfo>);

impl Requests {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[RequestInfo] {
        &self.0
    }

    /// Only those of programs whose user agent begins like this.
    #[must_use]
    pub fn of_agent(self, prefix: &str) -> Self {
        Self(
            self.0
                .into_iter()
                .filter(|one| one.user_agent.starts_with(prefix))
                .collect(),
        )
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// How many there are of each verb and resource, as in `patch configmaps`.
    #[must_use]
    pub fn tally(&self) -> BTreeMap<String, usize> {
        tally(&self.0)
    }
}

/// How many requests there are of each verb and resource.
#[must_use]
pub fn tally(requests: &[RequestInfo]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in requests {
        *counts.entry(one.what()).or_default() += 1;
    }
    counts
}

/// The requests, and the ids of those that have no answer yet.
fn pair(lines: &[AuditEvent]) -> (Vec<RequestInfo>, BTreeSet<&str>) {
    let mut requests: Vec<(&str, RequestInfo)> = Vec::new();
    let mut open = BTreeSet::new();
    for line in lines {
        if line.stage == "RequestReceived" {
            requests.push((&line.audit_id, line.seen()));
            open.insert(line.audit_id.as_str());
        } else {
            open.remove(line.audit_id.as_str());
            let request = requests.iter_mut().rfind(|(id, _)| *id == line.audit_id);
            if let (Some((_, seen)), Some(status)) = (request, &line.response_status) {
                seen.code = status.code;
            }
        }
    }
    (requests.into_iter().map(|(_, seen)| seen).collect(), open)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditEvent {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: UserInfo,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectReference,
    response_status: Option<ResponseStatus>,
}

#[derive(Debug, Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectReference {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl AuditEvent {
    fn seen(&self) -> RequestInfo {
        let object = &self.object_ref;
        RequestInfo {
            verb: self.verb.clone(),
            group: object.api_group.clone(),
            resource: object.resource.clone(),
            subresource: object.subresource.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uri: self.request_uri.clone(),
            user: self.user.username.clone(),
            user_agent: self.user_agent.clone(),
            code: 0,
        }
    }
}
