//! Tables as `kubectl` users know them: upper-case headers, columns apart by spaces, no lines,
//! never wrapped, so that they can be cut and grepped.

use std::borrow::Cow;
use std::fmt;

use comfy_table::{ContentArrangement, presets};

use super::printable;

/// A table, built row by row.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// A table with these columns.
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self::of(&header)
    }

    /// A table whose columns depend on what was asked for. Each row must have as many cells.
    pub(crate) fn of(header: &[&str]) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(header.iter().copied());
        for column in table.column_iter_mut() {
            column.set_padding((0, 3));
        }
        Self(table)
    }

    /// Adds a row. An empty cell is shown as a dash.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.cells(&cells);
    }

    /// Adds a row to a table made by [`Table::of`].
    pub(crate) fn cells(&mut self, cells: &[&str]) {
        self.0.add_row(cells.iter().map(|cell| shown(cell)));
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
    /// The rows, each ended by a newline and without blanks at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .lines()
            .try_for_each(|line| writeln!(f, "{}", line.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn aligns_without_lines_and_trailing_blanks() {
        let mut table = Table::new(["NAME", "STAGE", "OWNER"]);
        table.row(["a-long-name", "beta", ""]);
        table.row(["b", "alpha", "x"]);
        let expected =
            "NAME          STAGE   OWNER\na-long-name   beta    -\nb             alpha   x\n";
        assert_eq!(table.to_string(), expected);
    }
}
