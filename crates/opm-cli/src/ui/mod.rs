//! The only place that prints.
//!
//! Data goes to standard output, everything else (warnings, hints, progress) to standard error.
//! With `-o json` standard output is exactly one JSON document, also when the command fails.
//! A reader that went away (`opm … | head`) is no failure: what it did not want to read is
//! dropped, and the command goes on to its own end.

mod choice;
pub(crate) mod difference;
mod failure;
mod printable;
pub(crate) mod screen;
mod table;
pub(crate) mod width;

use std::io::{self, BufWriter, IsTerminal as _, Write};

use std::sync::Arc;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use opm_render::yaml;
use serde::Serialize;

use crate::error::{CliError, ErrorKind, Exit};
use opm_engine::FailureKind;

pub(crate) use choice::{Color, Format, Review, Verbosity};
pub(crate) use table::Table;

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// How to print: the format of data, how much to say beside it, and whether in colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    format: Option<Format>,
    verbosity: Verbosity,
    color: Color,
    /// Whether the terminal can be drawn on, if there is one.
    drawable: bool,
}

impl Ui {
    /// Prints data in `format`, or in each command's own default when none was asked for.
    pub(crate) fn new(format: Option<Format>, verbosity: Verbosity, color: Color) -> Self {
        Self {
            format,
            verbosity,
            color,
            drawable: false,
        }
    }

    /// The same, on a terminal that can be drawn on, or on one that takes lines only.
    #[must_use]
    pub(crate) fn drawing(self, drawable: bool) -> Self {
        Self { drawable, ..self }
    }

    /// Whether standard output is a screen that can be drawn anew.
    pub(crate) fn has_screen(&self) -> bool {
        self.drawable && io::stdout().is_terminal()
    }

    /// Whether progress is drawn live: on a terminal, for somebody who wants to hear of it.
    pub(crate) fn is_live(&self) -> bool {
        self.drawable && self.verbosity >= Verbosity::Normal && io::stderr().is_terminal()
    }

    /// Draws lines at the bottom of the terminal until they are taken down, or data is printed.
    pub(crate) fn show_live(&self, view: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        if self.is_live() {
            screen::show(Arc::new(view));
        }
    }

    /// Takes the live lines down.
    pub(crate) fn clear_live(&self) {
        screen::clear();
    }

    /// The format that was asked for, else the command's own default.
    pub(crate) fn format_or(&self, default: Format) -> Format {
        self.format.unwrap_or(default)
    }

    /// The format that was asked for, if any was.
    pub(crate) fn asked_format(&self) -> Option<Format> {
        self.format
    }

    /// Prints a command's answer: the document as JSON or YAML, or the table made from it.
    pub(crate) fn data(
        &self,
        document: &impl Serialize,
        table: impl FnOnce(Format) -> Table,
    ) -> Result<(), CliError> {
        match self.format_or(Format::Table) {
            format @ (Format::Table | Format::Wide) => self.table(&table(format), format),
            Format::Json => self.json(document),
            Format::Yaml => self.yaml(document),
        }
    }

    /// Prints what a command did: nothing for somebody who is to hear of errors and warnings only,
    /// unless a format was asked for.
    pub(crate) fn outcome(
        &self,
        document: &impl Serialize,
        table: impl FnOnce(Format) -> Table,
    ) -> Result<(), CliError> {
        match (self.format, self.verbosity) {
            (None, Verbosity::Quiet) => Ok(()),
            _ => self.data(document, table),
        }
    }

    /// Prints a table: on a terminal so that it fits, elsewhere and when it is to be wide whole.
    pub(crate) fn table(&self, table: &Table, format: Format) -> Result<(), CliError> {
        let columns = width::size_of(io::stdout()).map(|(columns, _)| columns);
        let columns = columns.filter(|_| format != Format::Wide);
        self.styled(&table.fit(columns))
    }

    /// Prints a document for scripts, if one was asked for.
    pub(crate) fn json_or_yaml(&self, document: &impl Serialize) -> Result<(), CliError> {
        match self.format_or(Format::Table) {
            Format::Json => self.json(document),
            Format::Yaml => self.yaml(document),
            Format::Table | Format::Wide => Ok(()),
        }
    }

    /// Prints a document as JSON.
    pub(crate) fn json(&self, document: &impl Serialize) -> Result<(), CliError> {
        screen::clear();
        let mut out = BufWriter::new(io::stdout().lock());
        let printed = printable::json(&mut out, document);
        let printed = printed.map_err(|error| match error.io_error_kind() {
            Some(kind) => io::Error::new(kind, error),
            None => io::Error::other(error),
        });
        let printed = printed.and_then(|()| out.write_all(b"\n"));
        ended(printed.and_then(|()| out.flush()))
    }

    /// Prints a document as YAML.
    pub(crate) fn yaml(&self, document: &impl Serialize) -> Result<(), CliError> {
        let value = serde_json::to_value(document).map_err(|error| unprintable("YAML", &error))?;
        let text = yaml::write([&value]).map_err(|error| unprintable("YAML", &error))?;
        self.verbatim(text.strip_prefix("---\n").unwrap_or(&text))
    }

    /// Prints CUE text, so that it means the same and a terminal can show it.
    pub(crate) fn cue(&self, text: &str) -> Result<(), CliError> {
        self.verbatim(&printable::cue(text))
    }

    /// Prints lines for people.
    pub(crate) fn text(&self, text: &str) -> Result<(), CliError> {
        self.verbatim(&printable::lines(text))
    }

    /// Prints text that is itself the data, such as a completion script or YAML, byte for byte:
    /// whoever made it left nothing in it that a terminal would obey.
    pub(crate) fn verbatim(&self, text: &str) -> Result<(), CliError> {
        print(io::stdout().lock(), text)
    }

    /// Draws the whole screen anew: these lines, then as much of the table as fits below them, the
    /// ready rows giving way first, then a last line. What was on the terminal before comes back
    /// when anything else is printed.
    pub(crate) fn redraw(&self, lines: &[String], mut table: Table, last: &str) {
        let Some((columns, rows)) = width::size_of(io::stdout()) else {
            return;
        };
        // The header, the line that counts what is left out, and the last line.
        let room = rows.saturating_sub(lines.len() + 3).max(1);
        let left_out = table.keep(room);
        let mut text = String::new();
        for line in lines {
            text.push_str(&width::cut(&printable::line(line), columns));
            text.push('\n');
        }
        text.push_str(&table.fit(Some(columns)));
        if left_out > 0 {
            text.push_str(&format!("… and {left_out} more\n"));
        }
        text.push_str(&width::cut(&printable::line(last), columns));
        screen::fill(&text, self.color.of(&io::stdout()));
    }

    /// Writes one line of news: with the data where that is a table, beside it where standard
    /// output is for one document.
    pub(crate) fn line(&self, format: Format, line: &str) {
        let line = printable::line(line);
        match format {
            Format::Table | Format::Wide => drop(self.text(&format!("{line}\n"))),
            Format::Json | Format::Yaml => self.info(&line),
        }
    }

    /// Prints text that may hold colours, such as help, without them where they do not belong.
    pub(crate) fn styled(&self, text: &str) -> Result<(), CliError> {
        print(
            AutoStream::new(io::stdout(), self.color.of(&io::stdout())).lock(),
            text,
        )
    }

    /// Says what the user should know and could overlook.
    pub(crate) fn warn(&self, message: &str) {
        let message = printable::lines(message);
        self.say(
            Verbosity::Quiet,
            &format!("{WARNING}warning:{WARNING:#} {message}"),
        );
    }

    /// Says what could be done next.
    pub(crate) fn hint(&self, message: &str) {
        let message = printable::lines(message);
        self.say(Verbosity::Normal, &format!("{HINT}hint:{HINT:#} {message}"));
    }

    /// Says what was done, unless `--quiet`.
    pub(crate) fn info(&self, message: &str) {
        self.say(Verbosity::Normal, &printable::lines(message));
    }

    /// Says how it was done, with `--verbose`.
    pub(crate) fn detail(&self, message: &str) {
        self.say(Verbosity::Verbose, &printable::lines(message));
    }

    /// Asks a question, and leaves the cursor behind it.
    pub(crate) fn ask(&self, question: &str) {
        screen::clear();
        let mut stderr = AutoStream::new(io::stderr(), self.color.of(&io::stderr())).lock();
        let _ = write!(stderr, "{}", printable::lines(question)).and_then(|()| stderr.flush());
    }

    /// Shows something coloured that belongs to a question.
    pub(crate) fn ask_styled(&self, text: &str) {
        screen::clear();
        let mut stderr = AutoStream::new(io::stderr(), self.color.of(&io::stderr())).lock();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    }

    /// Writes one event as a line of JSON.
    pub(crate) fn event(&self, event: &impl Serialize) {
        // By way of a value, which sorts the keys.
        let line = serde_json::to_value(event).and_then(|event| printable::json_line(&event));
        if let Ok(line) = line {
            self.say(Verbosity::Quiet, &line);
        }
    }

    /// Shows a failure, to people on standard error and to scripts as the one document, and
    /// gives the exit code that goes with it.
    pub(crate) fn fail(&self, error: &CliError) -> Exit {
        screen::clear();
        self.say(Verbosity::Quiet, &failure::for_people(error));
        self.fail_document(error)
    }

    /// Shows a failure to scripts only: for when people have been told in other words.
    pub(crate) fn fail_document(&self, error: &CliError) -> Exit {
        let document = error.to_json();
        let printed = match self.format {
            Some(Format::Json) => self.json(&document),
            Some(Format::Yaml) => self.yaml(&document),
            Some(Format::Table | Format::Wide) | None => Ok(()),
        };
        if let Err(unprinted) = printed {
            self.say(Verbosity::Quiet, &failure::for_people(&unprinted));
        }
        error.kind.exit()
    }

    /// Writes a line to standard error if the user wants to hear at least that much. There is
    /// nowhere left to report that standard error itself is closed.
    pub(crate) fn say(&self, level: Verbosity, line: &str) {
        if level <= self.verbosity {
            screen::above(|| {
                let mut stderr = AutoStream::new(io::stderr(), self.color.of(&io::stderr())).lock();
                let _ = writeln!(stderr, "{line}");
            });
        }
    }
}

fn print(mut stdout: impl Write, text: &str) -> Result<(), CliError> {
    screen::clear();
    let written = stdout.write_all(text.as_bytes());
    ended(written.and_then(|()| stdout.flush()))
}

/// How printing ended. A reader that went away is no failure.
fn ended(printed: io::Result<()>) -> Result<(), CliError> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let message = format!("failed to write to standard output: {error}");
            Err(CliError::new(ErrorKind::Io, message))
        }
        Ok(()) => Ok(()),
    }
}

fn unprintable(format: &str, error: &dyn std::fmt::Display) -> CliError {
    CliError::new(
        FailureKind::Failed,
        format!("failed to print the answer as {format}: {error}"),
    )
}
