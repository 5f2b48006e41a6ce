//! What lies below a release's objects: as a tree, as what happened, and as what was written.

use opm_core::below::TreeNode;
use opm_engine::Failure;
use opm_engine::status::{ContainerLog, LogObserver, ReleaseEvents, ReleaseLogs, ReleaseTree};

use super::{failed, now};
use crate::cluster::Session;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::ui::{Format, Table, Ui};

/// Ends `tree`.
pub(crate) fn tree(
    result: Result<ReleaseTree, Failure>,
    session: &Session,
) -> Result<Exit, CliError> {
    let tree = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    for warning in &tree.warnings {
        ui.warn(warning);
    }
    ui.data(&tree, |_| tree_table(&tree))?;
    Ok(Exit::DONE)
}

fn tree_table(tree: &ReleaseTree) -> Table {
    let mut table = Table::new(["COMPONENT", "OBJECT", "NAMESPACE", "HEALTH", "MESSAGE"]);
    for component in &tree.components {
        for object in &component.objects {
            branch(&mut table, &component.name, object, "", "");
        }
    }
    table
}

/// A row for an object and those below it: `own` is drawn before it, `below` before what it owns.
fn branch(table: &mut Table, component: &str, node: &TreeNode, own: &str, below: &str) {
    let name = format!("{own}{}/{}", node.identity.kind(), node.identity.name);
    let health = node.health.as_ref();
    table.row([
        component,
        &name,
        node.identity.namespace.as_deref().unwrap_or_default(),
        health.map_or("", |health| health.state.word()),
        health.map_or("", |health| &health.message),
    ]);
    for (index, owned) in node.owned.iter().enumerate() {
        let (own, under) = match index + 1 == node.owned.len() {
            true => ("└─ ", "   "),
            false => ("├─ ", "│  "),
        };
        branch(
            table,
            component,
            owned,
            &format!("{below}{own}"),
            &format!("{below}{under}"),
        );
    }
}

/// Ends `events`.
pub(crate) fn events(
    result: Result<ReleaseEvents, Failure>,
    session: &Session,
) -> Result<Exit, CliError> {
    let events = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    for warning in &events.warnings {
        ui.warn(warning);
    }
    ui.data(&events, |format| events_table(&events, format))?;
    if events.events.is_empty() {
        ui.info(&format!(
            "there are no events about release {}",
            events.release.name
        ));
    }
    Ok(Exit::DONE)
}

fn events_table(events: &ReleaseEvents, format: Format) -> Table {
    let mut table = Table::new(["LAST", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"]);
    let now = now();
    for event in &events.events {
        let time = match format {
            Format::Wide => event.time.clone(),
            _ => duration::ago(&event.time, now),
        };
        let object = format!("{}/{}", event.object.kind(), event.object.name);
        let count = event.count.to_string();
        table.row([
            &time,
            &event.severity,
            &event.reason,
            &object,
            &count,
            &event.message,
        ]);
    }
    table
}

/// Ends `logs`.
pub(crate) fn logs(
    result: Result<ReleaseLogs, Failure>,
    is_sandbox: bool,
    session: &Session,
) -> Result<Exit, CliError> {
    let logs = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    for warning in &logs.warnings {
        ui.warn(warning);
    }
    match ui.format_or(Format::Table) {
        Format::Table | Format::Wide => {
            let mut lines = FollowedLogs { ui: *ui };
            for log in &logs.logs {
                lines.wrote(log);
            }
        }
        Format::Json => ui.json(&logs)?,
        Format::Yaml => ui.yaml(&logs)?,
    }
    let nothing = logs.logs.iter().all(|log| log.lines.is_empty());
    match (is_sandbox, logs.logs.is_empty()) {
        (true, _) if nothing => ui.info("there are no logs: the sandbox runs no containers"),
        (false, true) => ui.info("there are no logs: the release has no pods there"),
        _ => {}
    }
    Ok(Exit::DONE)
}

/// Prints lines as they come, each behind who wrote it.
pub(crate) struct FollowedLogs {
    ui: Ui,
}

impl FollowedLogs {
    pub(crate) fn new(session: &Session) -> Self {
        Self { ui: session.ui }
    }
}

impl LogObserver for FollowedLogs {
    fn wrote(&mut self, log: &ContainerLog) {
        let who = format!("{}/{}", log.pod, log.container);
        for line in &log.lines {
            self.ui
                .line(Format::Table, &format!("{who}: {}", line.text));
        }
        if let Some(error) = &log.error {
            self.ui
                .warn(&format!("the log of {who} cannot be read: {error}"));
        }
    }
}
