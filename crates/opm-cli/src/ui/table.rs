//! Tables as `kubectl` users know them: upper-case headers, columns apart by spaces, no lines.
//!
//! In a pipe, in a file and with `-o wide` they are never cut, so that they can be grepped. On a
//! terminal they fit: long texts are cut with `…`, then columns give way, the least important
//! first.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};

use super::printable;
use super::width::{cut, width};

/// Between two columns.
const GAP: usize = 3;

/// Columns whose cells are sentences: they are cut first, but not below this.
const SENTENCES: [&str; 5] = ["MESSAGE", "REASON", "NOTE", "DESCRIPTION", "VALUE"];
const SHORTEST_SENTENCE: usize = 20;

/// No column is cut below this.
const SHORTEST: usize = 8;

/// Columns that can be left out where there is no room, the least important first.
const GIVE_WAY: [&str; 16] = [
    "MODULE",
    "OBJECTS",
    "SINCE",
    "UNTIL",
    "OWNER",
    "PROPOSAL",
    "COMPONENT",
    "VERSION",
    "WHO",
    "AGE",
    "LAST",
    "NAMESPACE",
    "ROLLBACK",
    "MESSAGE",
    "NOTE",
    "REASON",
];

/// Columns whose cells are states, shown in the colour of the state.
const STATES: [&str; 6] = ["ACTION", "HEALTH", "RESULT", "LAST", "STATE", "ROLLBACK"];

const GOOD: Style = AnsiColor::Green.on_default();
const CHANGING: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const DULL: Style = Style::new().dimmed();

/// A table, built row by row.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self::of(&header)
    }

    /// A table whose columns depend on what was asked for. Each row must have as many cells.
    pub(crate) fn of(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. An empty cell is shown as a dash.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.cells(&cells);
    }

    /// Adds a row to a table made by [`Table::of`].
    pub(crate) fn cells(&mut self, cells: &[&str]) {
        let cells = cells.iter().map(|cell| shown(cell).into_owned());
        self.rows.push(cells.collect());
    }

    /// Keeps so many rows at most, and says how many go: first those that are ready, from below.
    pub(crate) fn keep(&mut self, rows: usize) -> usize {
        let before = self.rows.len();
        let health = self.header.iter().position(|name| name == "HEALTH");
        while self.rows.len() > rows {
            let ready = |row: &Vec<String>| health.is_some_and(|at| row[at] == "Ready");
            let last = self.rows.iter().rposition(ready);
            self.rows.remove(last.unwrap_or(self.rows.len() - 1));
        }
        before - self.rows.len()
    }

    /// The lines, each ended by a newline, in so many columns of a terminal, or as wide as they
    /// are. States have their colours.
    pub(crate) fn fit(&self, columns: Option<usize>) -> String {
        let widths = self.widths(columns);
        let mut text = String::new();
        for (at, row) in std::iter::once(&self.header).chain(&self.rows).enumerate() {
            let mut line = String::new();
            let mut blank = 0;
            for ((cell, header), wide) in row.iter().zip(&self.header).zip(&widths) {
                let Some(wide) = wide else { continue };
                let cell = cut(cell, *wide);
                line.extend(std::iter::repeat_n(' ', blank));
                match style(header, &cell).filter(|_| at > 0) {
                    Some(style) => {
                        let _ = write!(line, "{style}{cell}{style:#}");
                    }
                    None => line.push_str(&cell),
                }
                blank = wide.saturating_sub(width(&cell)) + GAP;
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// How wide each column is; none for one that gives way.
    fn widths(&self, columns: Option<usize>) -> Vec<Option<usize>> {
        let natural = self.header.iter().enumerate().map(|(at, header)| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| width(cell)).max().unwrap_or_default();
            Some(widest.max(width(header)))
        });
        let mut widths: Vec<Option<usize>> = natural.collect();
        let Some(columns) = columns else {
            return widths;
        };
        self.shrink(&mut widths, columns, SHORTEST_SENTENCE, |name| {
            SENTENCES.contains(&name)
        });
        for name in GIVE_WAY {
            if total(&widths) <= columns {
                break;
            }
            if let Some(at) = self.header.iter().position(|header| header == name) {
                widths[at] = None;
            }
        }
        self.shrink(&mut widths, columns, SHORTEST, |_| true);
        widths
    }

    /// Makes the widest of some columns narrower until everything fits, or none of them can.
    fn shrink(
        &self,
        widths: &mut [Option<usize>],
        columns: usize,
        shortest: usize,
        may: impl Fn(&str) -> bool,
    ) {
        loop {
            let over = total(widths).saturating_sub(columns);
            let candidates = widths.iter().zip(&self.header).enumerate();
            let widest = candidates
                .filter_map(|(at, (wide, name))| Some((at, (*wide)?, name)))
                .filter(|(_, wide, name)| *wide > shortest && may(name))
                .max_by_key(|(_, wide, _)| *wide);
            match widest {
                Some((at, wide, _)) if over > 0 => {
                    widths[at] = Some(wide.saturating_sub(over.div_ceil(2)).max(shortest));
                }
                _ => return,
            }
        }
    }
}

/// How many columns a line takes.
fn total(widths: &[Option<usize>]) -> usize {
    let shown: Vec<usize> = widths.iter().flatten().copied().collect();
    shown.iter().sum::<usize>() + shown.len().saturating_sub(1) * GAP
}

/// The colour of a state.
fn style(header: &str, cell: &str) -> Option<Style> {
    if !STATES.contains(&header) {
        return None;
    }
    match cell {
        "created" | "recreated" | "Ready" | "succeeded" | "on" | "current" => Some(GOOD),
        "configured" | "adopted" | "Progressing" | "started" | "pending" | "transferred"
        | "not-ready" | "Unknown" | "orphan" | "rolled-back" | "interrupted" => Some(CHANGING),
        "failed" | "refused" | "pruned" | "deleted" | "skipped" | "Failed" | "Degraded"
        | "Missing" | "lost" | "Drifted" => Some(BAD),
        "unchanged" | "kept" | "-" | "off" | "no" => Some(DULL),
        _ => None,
    }
}

/// A cell as it is shown.
fn shown(cell: &str) -> Cow<'_, str> {
    match cell {
        "" => Cow::Borrowed("-"),
        text => printable::line(text),
    }
}

impl fmt::Display for Table {
    /// As wide as it is, without colours.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&anstream::adapter::strip_str(&self.fit(None)).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, columns: usize) -> Vec<String> {
        let text = table.fit(Some(columns));
        let text = anstream::adapter::strip_str(&text).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn aligns_without_lines_and_trailing_blanks() {
        let mut table = Table::new(["NAME", "STAGE", "OWNER"]);
        table.row(["a-long-name", "beta", ""]);
        table.row(["b", "alpha", "x"]);
        let expected =
            "NAME          STAGE   OWNER\na-long-name   beta    -\nb             alpha   x\n";
        assert_eq!(table.to_string(), expected);
    }

    fn objects() -> Table {
        let mut table = Table::new(["OBJECT", "NAMESPACE", "COMPONENT", "ACTION", "REASON"]);
        let reason = "the server said no, and then it said why: there is no more room in there";
        table.row([
            "PersistentVolumeClaim/data",
            "games",
            "app",
            "failed",
            reason,
        ]);
        table.row(["Service/名前", "games", "app", "created", ""]);
        table
    }

    #[test]
    fn sentences_are_cut_first_and_then_columns_give_way() {
        let at_100 = plain(&objects(), 100);
        assert!(at_100[0].contains("COMPONENT"), "{at_100:?}");
        assert!(at_100[1].ends_with('…'), "{at_100:?}");
        let at_60 = plain(&objects(), 60);
        assert!(!at_60[0].contains("COMPONENT"), "{at_60:?}");
        assert!(at_60[0].contains("ACTION"), "{at_60:?}");
        assert!(at_60[1].contains("PersistentVolumeClaim/data"), "{at_60:?}");
        for columns in 20..160 {
            for line in plain(&objects(), columns) {
                assert!(width(&line) <= columns, "{columns}: {line}");
            }
        }
        let whole = plain(&objects(), 400);
        assert_eq!(whole.join("\n") + "\n", objects().to_string());
    }

    #[test]
    fn what_is_ready_gives_way_first() {
        let mut table = Table::new(["OBJECT", "HEALTH"]);
        for (object, health) in [
            ("a", "Ready"),
            ("b", "Failed"),
            ("c", "Ready"),
            ("d", "Failed"),
        ] {
            table.row([object, health]);
        }
        assert_eq!(table.keep(3), 1);
        let objects =
            |table: &Table| -> String { table.rows.iter().map(|row| row[0].clone()).collect() };
        assert_eq!(objects(&table), "abd");
        assert_eq!(table.keep(1), 2);
        assert_eq!(objects(&table), "b");
        assert_eq!(table.keep(1), 0);
    }

    #[test]
    fn states_have_colours_and_headers_have_none() {
        let text = objects().fit(None);
        let failed = format!("{BAD}failed{BAD:#}");
        assert!(text.contains(&failed), "{text:?}");
        assert!(!text.lines().next().unwrap().contains('\x1b'), "{text:?}");
    }
}
