//! What the containers of a release write, on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt as _;
use opm_core::below::{self, LogLine};
use serde::Serialize;

use super::below::ComponentTree;
use crate::concurrently::concurrently_in_order;
use crate::failure::Failure;
use crate::ports::PodLog;
use crate::report::Release;
use crate::request::LogRequest;
use crate::run::Run;

/// How many containers are asked for their logs, and how many at a time.
const MOST_LOGS: usize = 50;
const CONCURRENT_LOGS: usize = 8;

/// How often containers are asked whether there is more.
const NEXT_LOOK: Duration = Duration::from_secs(1);

/// What one container wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContainerLog {
    /// The component that its pod belongs to.
    pub component: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Its lines, oldest first.
    pub lines: Vec<LogLine>,
    /// Why there are none, if they could not be read.
    pub error: Option<String>,
}

/// What the containers of a release wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReleaseLogs {
    /// Which release.
    pub release: Release,
    /// By component and pod.
    pub logs: Vec<ContainerLog>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Takes what containers write, as it comes.
pub trait LogObserver: Send {
    /// One container wrote something, or could not be asked any more.
    fn wrote(&mut self, log: &ContainerLog);
}

/// A container, by component, namespace, pod and name.
pub(super) type ContainerKey = (String, String, String, String);

impl Run<'_> {
    /// What the containers of a release wrote.
    pub(crate) async fn logs(&self, request: &LogRequest) -> Result<ReleaseLogs, Failure> {
        self.logs_since(request, &BTreeMap::new()).await
    }

    /// Tells what the containers of a release write, until the caller cancels.
    pub(crate) async fn follow_logs(
        &self,
        request: &LogRequest,
        observer: &mut dyn LogObserver,
    ) -> Result<ReleaseLogs, Failure> {
        let mut told: BTreeMap<ContainerKey, String> = BTreeMap::new();
        let mut failed: BTreeSet<ContainerKey> = BTreeSet::new();
        loop {
            let logs = self.logs_since(request, &told).await?;
            for log in &logs.logs {
                let key = key(log);
                let is_news = match &log.error {
                    Some(_) => failed.insert(key.clone()),
                    None => !log.lines.is_empty(),
                };
                if let Some(last) = log.lines.last() {
                    told.insert(key, last.time.clone());
                }
                if is_news {
                    observer.wrote(log);
                }
            }
            self.backend.sleep(NEXT_LOOK).await;
        }
    }

    async fn logs_since(
        &self,
        request: &LogRequest,
        told: &BTreeMap<ContainerKey, String>,
    ) -> Result<ReleaseLogs, Failure> {
        let grown = self.grow(&request.status()).await?;
        let wanted = |component: &&ComponentTree| {
            let name = request.component.as_ref();
            name.is_none_or(|name| name.as_str() == component.name)
        };
        let components = grown.tree.components.iter().filter(wanted);
        let nodes = components.flat_map(ComponentTree::nodes);
        let containers = grown.containers(nodes);
        let (logs, more) = self.logs_of(containers, request, told).await;
        Ok(ReleaseLogs {
            release: grown.tree.release,
            logs,
            warnings: [grown.tree.warnings, more].concat(),
        })
    }

    /// What these containers wrote, and what was left out.
    pub(super) async fn logs_of(
        &self,
        mut containers: Vec<ContainerKey>,
        request: &LogRequest,
        told: &BTreeMap<ContainerKey, String>,
    ) -> (Vec<ContainerLog>, Vec<String>) {
        let mut warnings = Vec::new();
        if containers.len() > MOST_LOGS {
            let all = containers.len();
            warnings.push(format!(
                "{MOST_LOGS} of {all} containers are shown; name a component"
            ));
            containers.truncate(MOST_LOGS);
        }
        let asked = &containers;
        let logs = concurrently_in_order(CONCURRENT_LOGS, asked.len(), |at| async move {
            let (component, namespace, pod, container) = &asked[at];
            let after = told.get(&asked[at]).map(String::as_str);
            let log = PodLog {
                namespace,
                pod,
                container,
                tail: after.is_none().then_some(request.tail),
                since: after,
                previous: request.previous,
            };
            let (lines, error) = match self.backend.pod_log(&log).await {
                Ok(text) => (below::log_lines(&text, after), None),
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            ContainerLog {
                component: component.clone(),
                namespace: namespace.clone(),
                pod: pod.clone(),
                container: container.clone(),
                lines,
                error,
            }
        });
        (logs.collect().await, warnings)
    }
}

fn key(log: &ContainerLog) -> ContainerKey {
    (
        log.component.clone(),
        log.namespace.clone(),
        log.pod.clone(),
        log.container.clone(),
    )
}
