//! The changes of a release.

use opm_engine::{Failure, History, HistoryEntry};

use super::{failed, log, now, short};
use crate::cluster::Session;
use crate::duration;
use crate::error::{CliError, Exit};
use crate::ui::{Format, Table};

/// Ends `history`: the changes, or with `log` the deployments.
pub(crate) fn answer(
    result: Result<History, Failure>,
    log: bool,
    session: &Session,
) -> Result<Exit, CliError> {
    let history = result.map_err(|failure| failed(&failure, session))?;
    for warning in &history.warnings {
        session.ui.warn(warning);
    }
    session.ui.data(&history, |format| match log {
        true => log::table(&history.log, format),
        false => table(&history, format),
    })?;
    if let Some(state) = history.state.told(history.kept as u64) {
        let release = &history.release;
        let (name, namespace) = (&release.name, &release.namespace);
        session
            .ui
            .info(&format!("{name} in namespace {namespace}: {state}"));
    }
    Ok(Exit::DONE)
}

/// The table for people; the wide one also says why one cannot go back.
fn table(history: &History, format: Format) -> Table {
    let wide = format == Format::Wide;
    let header = [
        "CHANGE", "MODULE", "VERSION", "OBJECTS", "RECORDED", "ROLLBACK",
    ];
    let mut table = match wide {
        true => Table::new([
            "CHANGE",
            "MODULE",
            "VERSION",
            "OBJECTS",
            "RECORDED",
            "ROLLBACK",
            "COMPONENTS",
            "DIGEST",
            "REASON",
        ]),
        false => Table::new(header),
    };
    for past in &history.changes {
        let row = ChangeRow::of(past, wide);
        let [id, module, version, objects, recorded, rollback] = row.cells();
        match wide {
            false => table.row([id, module, version, objects, recorded, rollback]),
            true => {
                let known = past.change.as_ref();
                let components = known.and_then(|change| change.components.as_ref());
                let components = components.map(|names| names.join(",")).unwrap_or_default();
                let digest = known.map_or("", |change| &change.manifest_digest);
                let reason = past.no_way_back.as_deref().unwrap_or_default();
                table.row([
                    id,
                    module,
                    version,
                    objects,
                    recorded,
                    rollback,
                    &components,
                    digest,
                    reason,
                ]);
            }
        }
    }
    table
}

struct ChangeRow([String; 6]);

impl ChangeRow {
    fn of(past: &HistoryEntry, wide: bool) -> Self {
        let known = past.change.as_ref();
        let module = known.map(|change| change.module.name.clone());
        let version = known.map(|change| {
            let version = change.module.version.as_deref();
            version.unwrap_or("local").to_owned()
        });
        let objects = past.objects().map(|count| count.to_string());
        let rollback = match (&past.no_way_back, past.current) {
            (_, true) => "current",
            (None, false) => "yes",
            (Some(_), false) => "no",
        };
        Self([
            match wide {
                true => past.id.clone(),
                false => short(&past.id).to_owned(),
            },
            module.unwrap_or_else(|| "(damaged)".to_owned()),
            version.unwrap_or_default(),
            objects.unwrap_or_default(),
            known
                .map(|change| match wide {
                    true => change.timestamp.clone(),
                    false => duration::ago(&change.timestamp, now()),
                })
                .unwrap_or_default(),
            rollback.to_owned(),
        ])
    }

    fn cells(&self) -> [&str; 6] {
        self.0.each_ref().map(String::as_str)
    }
}
