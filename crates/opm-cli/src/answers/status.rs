//! How a release stands.

use std::collections::BTreeMap;

use opm_core::drift::FieldDrift;
use opm_core::identity::Identity;
use opm_core::words;
use opm_engine::Failure;
use opm_engine::status::{LockStatus, ObjectStatus, Presence, Status, TrackedStatus, Verdict};

use super::{failed, now, short, told};
use crate::cluster::Session;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::ui::difference::leftover_words;
use crate::ui::{Format, Table};

/// How many drifted fields a line names.
const SHOWN_FIELDS: usize = 3;

/// Shows how a release stands. With `exit_code`, what is the matter is told by the exit
/// code.
pub(crate) fn answer(
    result: Result<Status, Failure>,
    exit_code: bool,
    session: &Session,
) -> Result<Exit, CliError> {
    let status = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    told(ui, &status.warnings, &status.remedies);
    ui.data(&status, |format| table(&status, format))?;
    if let Some(lock) = &status.lock {
        ui.info(&lock_words(lock));
    }
    ui.info(&summary(&status));
    Ok(exit(&status, exit_code))
}

/// How a status ends the command.
pub(super) fn exit(status: &Status, exit_code: bool) -> Exit {
    match status.verdict() {
        Verdict::NotReady if exit_code => Exit::NOT_READY,
        Verdict::Strayed if exit_code => Exit::DIFFERENCES,
        Verdict::NotReady | Verdict::Strayed | Verdict::Fine => Exit::DONE,
    }
}

/// The table for people: what the release has, then what else the record or the labels name.
pub(super) fn table(status: &Status, format: Format) -> Table {
    let templates: BTreeMap<&Identity, &str> = status
        .objects()
        .filter_map(|one| Some((&one.entry.identity, one.entry.template.as_deref()?)))
        .collect();
    let wide = format == Format::Wide && !templates.is_empty();
    let mut header = vec!["COMPONENT", "OBJECT", "NAMESPACE", "HEALTH", "MESSAGE"];
    header.extend(wide.then_some("TEMPLATE"));
    let mut table = Table::of(&header);
    let mut row = |component: &str, identity: &Identity, health: &str, message: &str| {
        let object = format!("{}/{}", identity.kind(), identity.name);
        let namespace = identity.namespace.as_deref().unwrap_or_default();
        let mut cells = vec![component, &object, namespace, health, message];
        cells.extend(wide.then(|| templates.get(identity).copied().unwrap_or_default()));
        table.cells(&cells);
    };
    for object in status.objects() {
        let entry = &object.entry;
        let message = message(object, format);
        row(&entry.component, &entry.identity, object.word(), &message);
    }
    for object in &status.transferred {
        let entry = &object.entry;
        let message = &object.health.message;
        row(&entry.component, &entry.identity, "transferred", message);
    }
    for (word, objects) in [("pending", &status.pending), ("kept", &status.kept)] {
        for object in objects {
            let tracked = &object.tracked;
            let message = tracked_words(object, format);
            row(&tracked.component, &tracked.identity, word, &message);
        }
    }
    for orphan in &status.orphans {
        let message = "it carries the release's labels and is in no record of it";
        row(&orphan.component, &orphan.identity, "orphan", message);
    }
    table
}

/// What there is to say about an object, drift first.
pub(super) fn message(object: &ObjectStatus, format: Format) -> String {
    let shown = match format {
        Format::Wide => object.drift.len(),
        _ => SHOWN_FIELDS,
    };
    let mut drift: Vec<String> = object
        .drift
        .iter()
        .take(shown)
        .map(|drift| drift_words(drift, format))
        .collect();
    if object.drift.len() > shown {
        drift.push(words::count(object.drift.len() - shown, "more field"));
    }
    let mut words = Vec::new();
    if !drift.is_empty() {
        words.push(format!("drifted: {}", drift.join(", ")));
    }
    if let Some(change) = &object.unrecorded {
        words.push(format!("as a run sent it that is not recorded ({change})"));
    }
    if !object.health.message.is_empty() {
        words.push(object.health.message.clone());
    }
    words.extend(leftover_words(&object.leftovers));
    words.join("; ")
}

fn drift_words(drift: &FieldDrift, format: Format) -> String {
    if drift.field == "metadata.uid" {
        let at = drift.at.as_deref();
        let at = at.map_or_else(|| "at an unknown time".to_owned(), |at| when(at, format));
        return format!("deleted, and created again by somebody else {at}");
    }
    match (&drift.by, &drift.at) {
        (Some(by), Some(at)) => format!("{} by {by} {}", drift.field, when(at, format)),
        (Some(by), None) => format!("{} by {by}", drift.field),
        (None, _) => format!(
            "{} (removed, or changed by an unknown manager)",
            drift.field
        ),
    }
}

/// A time as the format wants it: how long ago for people, exact in wide tables.
fn when(time: &str, format: Format) -> String {
    match format {
        Format::Wide => format!("at {time}"),
        _ => duration::ago(time, now()),
    }
}

fn tracked_words(status: &TrackedStatus, format: Format) -> String {
    let tracked = &status.tracked;
    let there = match status.exists {
        Some(true) => "",
        Some(false) => "; it does not exist",
        None => "; it could not be looked at",
    };
    let reason = match &tracked.reason {
        Some(reason) => format!(": {reason}"),
        None => String::new(),
    };
    let health = match &status.health {
        Some(health) if status.exists == Some(true) => match health.message.as_str() {
            "" => format!("; {}", health.state.word()),
            message => format!("; {}: {message}", health.state.word()),
        },
        _ => String::new(),
    };
    format!(
        "{} {}{reason}{there}{health}",
        tracked.why,
        when(&tracked.since, format)
    )
}

/// One line: which release, how it is, and what is the matter with it.
pub(super) fn summary(status: &Status) -> String {
    let count = |found: usize, what: &str| (found > 0).then(|| format!("{found} {what}"));
    let missing = |object: &&ObjectStatus| object.presence == Presence::Missing;
    let counts: Vec<String> = [
        Some(status.objects().count())
            .filter(|n| *n > 0)
            .map(|n| words::count(n, "object")),
        count(status.objects().filter(missing).count(), "missing"),
        count(
            status.objects().filter(|o| o.is_drifted()).count(),
            "drifted",
        ),
        count(
            status.objects().filter(|o| o.unrecorded.is_some()).count(),
            "as an unrecorded run sent them",
        ),
        count(status.transferred.len(), "transferred"),
        count(status.pending.len(), "pending"),
        count(status.kept.len(), "kept"),
        Some(status.orphans.len())
            .filter(|n| *n > 0)
            .map(|n| words::count(n, "orphan")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let release = &status.release;
    let change = match (&status.change_id, &status.module) {
        (Some(change), Some(module)) => {
            let version = module.version.as_deref().unwrap_or("local");
            format!(", {} {version}, {}", module.name, short(change))
        }
        _ => String::new(),
    };
    let what = match counts.is_empty() {
        true => "no objects".to_owned(),
        false => counts.join(", "),
    };
    let (name, namespace) = (&release.name, &release.namespace);
    match status.told_state() {
        Some(state) => format!("{name} in namespace {namespace}: {state}"),
        None => format!(
            "{name} in namespace {namespace}{change}: {} ({what})",
            status.health.word()
        ),
    }
}

/// Who is at work, in a line.
pub(super) fn lock_words(status: &LockStatus) -> String {
    let lock = &status.lock;
    let expired = match status.expired {
        true => "; it is no longer renewed, and the next run takes it over",
        false => "",
    };
    format!(
        "locked by {} on {} ({}) since {}{expired}",
        lock.holder, lock.host, lock.command, lock.since
    )
}

#[cfg(test)]
mod tests {
    use opm_core::entry::Entry;
    use opm_core::health::Health;
    use opm_core::identity::GroupKind;

    use super::*;

    fn drifted(fields: usize) -> ObjectStatus {
        let identity = Identity::new(GroupKind::new("apps", "Deployment"), Some("games"), "web");
        let drift = (0..fields).map(|n| FieldDrift {
            field: format!("spec.f{n}"),
            by: Some("kubectl".to_owned()),
            at: Some("2026-01-01T00:00:00Z".to_owned()),
        });
        ObjectStatus {
            entry: Entry::new(identity, "v1", "app"),
            presence: Presence::There,
            health: Health::progressing("0 of 1 pods are available"),
            drift: drift.collect(),
            leftovers: Vec::new(),
            unrecorded: None,
        }
    }

    #[test]
    fn a_line_names_field_manager_and_time_and_then_the_health() {
        let expected =
            "drifted: spec.f0 by kubectl at 2026-01-01T00:00:00Z; 0 of 1 pods are available";
        assert_eq!(message(&drifted(1), Format::Wide), expected);
        let relative = message(&drifted(1), Format::Table);
        assert!(relative.contains("spec.f0 by kubectl"), "{relative}");
        assert!(message(&drifted(5), Format::Table).contains("2 more fields"));
        assert!(message(&drifted(5), Format::Wide).contains("spec.f4"));
    }
}
