//! The changes of a history, as a table and as a document.

use opm_core::record::ModuleRef;
use opm_engine::{History, HistoryEntry};
use serde_json::{Value, json};

use super::log;
use crate::cluster::report;
use crate::ui::{Format, Table};

/// The answer for scripts.
pub(super) fn document(history: &History) -> Value {
    json!({
        "release": report::release(&history.release),
        "changes": history.changes.iter().map(change).collect::<Vec<_>>(),
        "log": history.log.iter().map(log::document).collect::<Vec<_>>(),
    })
}

fn change(past: &HistoryEntry) -> Value {
    let known = past.change.as_ref();
    json!({
        "id": past.id,
        "module": known.map(|change| module(&change.module)),
        "timestamp": known.map(|change| &change.timestamp),
        "manifestDigest": known.map(|change| &change.manifest_digest),
        "objects": past.objects(),
        "current": past.current,
        "rollback": past.no_way_back.is_none(),
        "reason": past.no_way_back,
        "parent": known.and_then(|change| change.parent.as_ref()),
        "components": known.and_then(|change| change.components.as_ref()),
        "features": known.and_then(|change| change.features.as_ref()),
    })
}

/// A recorded module: with a version, or as a local one.
fn module(module: &ModuleRef) -> Value {
    match &module.version {
        Some(version) => json!({"path": module.path, "version": version, "name": module.name}),
        None => json!({"path": module.path, "local": true, "name": module.name}),
    }
}

/// The table for people; the wide one also says why one cannot go back.
pub(super) fn table(history: &History, format: Format) -> Table {
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
        let row = Row::of(past);
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

struct Row([String; 6]);

impl Row {
    fn of(past: &HistoryEntry) -> Self {
        let known = past.change.as_ref();
        let module = known.map(|change| change.module.name.clone());
        let version = known.map(|change| change.module.version.clone());
        let objects = past.objects().map(|count| count.to_string());
        let rollback = match (&past.no_way_back, past.current) {
            (_, true) => "current",
            (None, false) => "yes",
            (Some(_), false) => "no",
        };
        Self([
            past.id.clone(),
            module.unwrap_or_else(|| "(damaged)".to_owned()),
            version.flatten().unwrap_or_default(),
            objects.unwrap_or_default(),
            known
                .map(|change| change.timestamp.clone())
                .unwrap_or_default(),
            rollback.to_owned(),
        ])
    }

    fn cells(&self) -> [&str; 6] {
        self.0.each_ref().map(String::as_str)
    }
}
