//! The deployments of a release.

use opm_core::record::LogEntry;

use crate::ui::{Format, Table};

/// The table for people; the wide one has the machine's part too.
pub(super) fn table(log: &[LogEntry], format: Format) -> Table {
    let wide = format == Format::Wide;
    let mut table = match wide {
        true => Table::new([
            "TIME", "COMMAND", "RESULT", "CHANGE", "WHO", "MESSAGE", "FROM", "OPM", "SECONDS",
            "COUNTS", "REASON",
        ]),
        false => Table::new(["TIME", "COMMAND", "RESULT", "CHANGE", "WHO", "MESSAGE"]),
    };
    for entry in log {
        let change = entry.change.as_deref().unwrap_or_default();
        let message = entry.message.as_deref().unwrap_or_default();
        let common = [
            &*entry.time,
            &*entry.command,
            entry.result.word(),
            change,
            &*entry.who,
            message,
        ];
        let [time, command, result, change, who, message] = common;
        if !wide {
            table.row(common);
            continue;
        }
        let counts = entry
            .counts
            .iter()
            .map(|(action, n)| format!("{n} {action}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let reason = entry.reason.as_deref().unwrap_or_default();
        let seconds = entry.seconds.to_string();
        table.row([
            time,
            command,
            result,
            change,
            who,
            message,
            &entry.from,
            &entry.opm,
            &seconds,
            &counts,
            reason,
        ]);
    }
    table
}
