//! The releases of a namespace, or of all of them.

use opm_core::protocol::Timing;
use opm_engine::Failure;
use opm_engine::list::{ListedRelease, Listing, UnreadableNamespace};
use opm_engine::ports::Timestamp;
use opm_engine::request::ListRequest;

use super::{failed, short};
use crate::cluster::Session;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::ui::{Format, Table};

/// Ends `list` with the releases that could be seen.
pub(crate) fn answer(
    result: Result<Listing, Failure>,
    request: &ListRequest,
    session: &Session,
) -> Result<Exit, CliError> {
    let listing = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    for unseen in &listing.unseen {
        ui.warn(&unseen_words(unseen));
    }
    ui.data(&listing, |format| table(&listing, format, request.health))?;
    if listing.releases.is_empty() {
        ui.info(&match &request.namespace {
            Some(namespace) => format!("there are no releases in namespace {namespace}"),
            None => "there are no releases".to_owned(),
        });
    }
    Ok(Exit::DONE)
}

fn unseen_words(unseen: &UnreadableNamespace) -> String {
    match &unseen.namespace {
        Some(namespace) => {
            format!(
                "releases in namespace {namespace} cannot be seen: {}",
                unseen.reason
            )
        }
        None => format!(
            "releases in other namespaces cannot be seen: {}",
            unseen.reason
        ),
    }
}

fn table(listing: &Listing, format: Format, health: bool) -> Table {
    let mut columns = vec![
        "NAME",
        "NAMESPACE",
        "MODULE",
        "VERSION",
        "CHANGE",
        "OBJECTS",
        "AGE",
        "LAST",
    ];
    if health {
        columns.push("HEALTH");
    }
    columns.push("NOTE");
    if format == Format::Wide {
        columns.extend(["PENDING", "KEPT", "LAST TRANSITION", "RELEASE ID"]);
    }
    let mut table = Table::of(&columns);
    for listed in &listing.releases {
        let wide = format == Format::Wide;
        let (summary, shown) = (&listed.summary, ListCells::of(listed, listing.now, wide));
        let (pending, kept) = (summary.pending.to_string(), summary.kept.to_string());
        let mut cells: Vec<&str> = vec![
            &summary.name,
            &summary.namespace,
            &summary.module,
            &shown.version,
            &shown.change,
            &shown.objects,
            &shown.age,
            summary.last_result.as_deref().unwrap_or_default(),
        ];
        if health {
            let health = listed.overview.as_ref().and_then(|one| one.health);
            cells.push(match (health, &summary.state) {
                (Some(health), _) => health.word(),
                (None, Some(_)) => "",
                (None, None) => "Unknown",
            });
        }
        cells.push(&shown.note);
        if format == Format::Wide {
            let changed = summary.last_transition_time.as_deref().unwrap_or_default();
            cells.extend([&*pending, &*kept, changed, &*summary.release_id]);
        }
        table.cells(&cells);
    }
    table
}

/// The cells that are more than a field of the summary.
struct ListCells {
    version: String,
    change: String,
    objects: String,
    age: String,
    note: String,
}

impl ListCells {
    fn of(listed: &ListedRelease, now: Timestamp, wide: bool) -> Self {
        let summary = &listed.summary;
        let changed: Option<Timestamp> = summary
            .last_transition_time
            .as_ref()
            .and_then(|time| Timestamp::stored(time, Timing::default().latest(now)));
        let version = match (&summary.version, summary.path.is_empty()) {
            (Some(version), _) => version.clone(),
            (None, false) => "local".to_owned(),
            (None, true) => String::new(),
        };
        Self {
            version,
            change: match (&summary.change_id, wide) {
                (Some(id), true) => id.clone(),
                (Some(id), false) => short(id).to_owned(),
                (None, _) => String::new(),
            },
            objects: match listed.mark {
                Some(_) => String::new(),
                None => summary.objects.to_string(),
            },
            age: changed.map_or_else(String::new, |time| duration::age(now.since(time))),
            note: note(listed),
        }
    }
}

/// What makes a release worth a second look.
fn note(listed: &ListedRelease) -> String {
    let summary = &listed.summary;
    if let Some(mark) = listed.mark {
        return mark.to_owned();
    }
    let state = summary.told_state();
    if summary.change_id.is_none() && state.is_none() {
        return "nothing recorded yet".to_owned();
    }
    let pending = match summary.pending {
        0 => None,
        pending => Some(format!("{pending} pending")),
    };
    let drifted = listed.overview.as_ref().map(|one| one.drifted);
    let drifted = drifted.filter(|count| *count > 0);
    let drifted = drifted.map(|count| format!("{count} drifted"));
    let manager = listed.manager.as_ref();
    let manager = manager.map(|manager| format!("managed by {manager}"));
    let notes = [state, drifted, pending, manager].into_iter();
    let notes: Vec<String> = notes.flatten().collect();
    notes.join(", ")
}
