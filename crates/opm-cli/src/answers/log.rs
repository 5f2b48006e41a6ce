//! The deployments of a release.

use opm_core::record::{LogEntry, number_of};

use super::{now, short};
use crate::duration;
use crate::ui::{Format, Table};

/// The table for people; the wide one has the machine's part too.
pub(super) fn table(log: &[LogEntry], format: Format) -> Table {
    let wide = format == Format::Wide;
    let mut table = match wide {
        true => Table::new([
            "#",
            "TIME",
            "COMMAND",
            "RESULT",
            "CHANGE",
            "MODULE",
            "VERSION",
            "WHO",
            "MESSAGE",
            "COMPONENTS",
            "VALUES",
            "FROM",
            "OPM",
            "SECONDS",
            "COUNTS",
            "REASON",
        ]),
        false => Table::new([
            "#", "TIME", "COMMAND", "RESULT", "CHANGE", "MODULE", "VERSION", "WHO", "MESSAGE",
        ]),
    };
    for (at, entry) in log.iter().enumerate() {
        let number = format!("#{}", number_of(log, at));
        let change = entry.change.as_deref().unwrap_or_default();
        let change = if wide { change } else { short(change) };
        let time = match wide {
            true => entry.time.clone(),
            false => duration::ago(&entry.time, now()),
        };
        let message = entry.message.as_deref().unwrap_or_default();
        let module = entry.module.as_ref();
        let version = module.map(|module| module.version.as_deref().unwrap_or("local"));
        let mut row = vec![
            &*number,
            &*time,
            &*entry.command,
            entry.result.word(),
            change,
            module.map_or("", |module| &module.name),
            version.unwrap_or_default(),
            &*entry.who,
            message,
        ];
        if !wide {
            table.cells(&row);
            continue;
        }
        let counts = entry
            .counts
            .iter()
            .map(|(action, n)| format!("{n} {action}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let reason = entry.reason.as_deref().unwrap_or_default();
        let components = entry.components.as_ref();
        let components = components.map(|names| names.join(",")).unwrap_or_default();
        let seconds = entry.seconds.to_string();
        row.extend([
            components.as_str(),
            entry.values.as_deref().unwrap_or_default(),
            &entry.from,
            &entry.opm,
            &seconds,
            &counts,
            reason,
        ]);
        table.cells(&row);
    }
    table
}
