//! What `cue` printed to standard error, said in terms of the user's own files.
//!
//! `cue` prints a message line and, indented below it, the positions it is about. Positions in
//! files that opm made are left out, paths through opm's instantiation are named as the module's
//! author knows them, and what is said twice is said once.

use std::fmt;

use super::workspace::{Origin, Workspace};

/// The most messages that are passed on.
const MAX_SHOWN: usize = 40;
/// The most bytes of what `cue` printed that are looked at; of the rest, messages are counted.
const MAX_READ: usize = 64 << 10;

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, beginning with the path of the value where there is one.
    pub message: String,
    /// Places in the user's files: `file:line:column`, or the flag of an assignment.
    pub places: Vec<String>,
    /// How many of them are where values are given, not where they are declared.
    pub(crate) givers: usize,
}

impl Diagnostic {
    /// The path in front of the message.
    fn path(&self) -> &str {
        match self.message.split_once(": ") {
            Some((path, _)) if !path.contains(' ') => path,
            _ => "",
        }
    }

    fn add(&mut self, origin: Option<Origin>) {
        let (place, gives) = match origin {
            None => return,
            Some(Origin::Module(place)) => (place, false),
            Some(Origin::Values(place)) => (place, true),
        };
        if self.places.contains(&place) {
            return;
        }
        // What the person wrote comes first.
        match gives {
            true => {
                self.places.insert(self.givers, place);
                self.givers += 1;
            }
            false => self.places.push(place),
        }
    }

    fn is_disjunction_header(&self) -> bool {
        self.message.ends_with("errors in empty disjunction")
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.places
            .iter()
            .try_for_each(|place| write!(f, "\n    {place}"))
    }
}

/// Messages for the user, in the order in which `cue` gave them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics {
    /// The messages.
    pub list: Vec<Diagnostic>,
    /// How many more there are.
    pub more: usize,
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, diagnostic) in self.list.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { "\n" })?;
            diagnostic.fmt(f)?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl Diagnostics {
    /// Reads what `cue` printed.
    pub(crate) fn read(stderr: &str, workspace: &Workspace) -> Self {
        let (read, rest) = match stderr.char_indices().nth(MAX_READ) {
            Some((end, _)) => stderr.split_at(stderr[..end].rfind('\n').unwrap_or(end)),
            None => (stderr, ""),
        };
        let mut read = Self::read_with(&workspace.masked(read), |file, line, column| {
            workspace.origin(file, line, column)
        });
        let is_message = |line: &&str| !line.trim().is_empty() && position(line).is_none();
        read.more += rest.lines().filter(is_message).count();
        read
    }

    fn read_with(stderr: &str, origin: impl Fn(&str, usize, usize) -> Option<Origin>) -> Self {
        let mut list: Vec<Diagnostic> = Vec::new();
        for line in stderr.lines().filter(|line| !line.trim().is_empty()) {
            match (position(line), list.last_mut()) {
                (Some((file, line, column)), Some(last)) => {
                    last.add(origin(file, line, column));
                }
                _ => list.push(Diagnostic {
                    message: in_users_words(line),
                    places: Vec::new(),
                    givers: 0,
                }),
            }
        }
        let mut list = without_repetition(list);
        let more = list.len().saturating_sub(MAX_SHOWN);
        list.truncate(MAX_SHOWN);
        Self { list, more }
    }

    /// Whether the module has fields that modules for `opm` do not have.
    pub(crate) fn has_foreign_fields(&self) -> bool {
        let foreign = |d: &Diagnostic| {
            d.message.ends_with("field not allowed") && !d.message.starts_with("values")
        };
        self.list.iter().any(foreign)
    }

    /// What to do about it, as far as the messages tell.
    pub(crate) fn hints(&self) -> Vec<String> {
        let says = |what: &str| self.list.iter().any(|d| d.message.contains(what));
        let mut hints = Vec::new();
        let conflicts = self
            .list
            .iter()
            .filter(|d| d.message.contains("conflicting values"));
        if conflicts
            .into_iter()
            .any(|d| d.message.starts_with("values") && d.givers > 1)
        {
            hints.push(
                "values that are not plain data (they refer to #config, have constraints, or stand in \
                 the module itself) are unified with the rest, not overridden; put defaults into \
                 #config, as in `port: *80 | int`"
                    .to_owned(),
            );
        }
        if self.list.iter().any(|d| {
            d.message.starts_with("values")
                && (d.message.contains("incomplete value") || d.message.contains("is required"))
        }) {
            hints.push("give it a value with -f FILE or --set KEY=VALUE".to_owned());
        }
        if says("field not allowed") {
            hints.push("the module declares in #config which values it takes".to_owned());
        }
        if says("cannot fetch ") {
            hints.push("CUE_REGISTRY names the registries that modules come from".to_owned());
        } else if says("cannot find package") {
            hints.push(
                "run `cue mod tidy` in the module's directory to add missing dependencies"
                    .to_owned(),
            );
        }
        hints
    }
}

/// `    ./file.cue:3:5`, taken apart.
fn position(line: &str) -> Option<(&str, usize, usize)> {
    let place = line.strip_prefix("    ")?.trim();
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

/// The message with the module author's names for things, and without Secrets' values.
fn in_users_words(line: &str) -> String {
    let mut text = line.trim_end_matches(':').trim_end().to_owned();
    for (ours, theirs) in [
        ("_inst.#components", "#components"),
        ("opm.components", "#components"),
        ("_inst.#config", "values"),
        ("_inst.values", "values"),
        ("opm.values", "values"),
        ("_inst.#release", "#release"),
        ("_inst.metadata", "metadata"),
        ("opm.metadata", "metadata"),
        ("described.", "metadata."),
        ("m.metadata", "metadata"),
        ("_inst.", ""),
    ] {
        text = text.replace(ours, theirs);
    }
    if let Some(path) = text.strip_prefix("_in.").or_else(|| in_layer(&text)) {
        text = format!("values.{path}");
    }
    // The interpolated value is what is wrong; cue reports it on its own.
    text = text.replace("invalid interpolation: ", "");
    if let Some((_, cause)) = text.rsplit_once("import failed: ") {
        return cause.to_owned();
    }
    let path = text.split(": ").next().unwrap_or_default();
    match path.contains(".data.") || path.contains(".stringData.") {
        true => without_quoted(&text),
        false => text,
    }
}

/// The path inside a layer of values: of `_f0.values.host` and `_f0.host` it is `host`.
fn in_layer(text: &str) -> Option<&str> {
    let numbered = text.strip_prefix("_f")?;
    let path = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
    let path = path.strip_prefix('.').filter(|_| path != numbered)?;
    Some(path.strip_prefix("values.").unwrap_or(path))
}

/// The data of Secrets (and, to be safe, of everything else) is not repeated.
fn without_quoted(text: &str) -> String {
    let mut kept = String::new();
    for (place, part) in text.split('"').enumerate() {
        kept.push_str(if place % 2 == 0 { part } else { "\"…\"" });
    }
    kept
}

/// Drops what says nothing new: the same path with the same places, and "2 errors in empty
/// disjunction" where those errors follow.
fn without_repetition(list: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<Diagnostic> = Vec::new();
    for diagnostic in list {
        let repeats = kept.iter().any(|known| {
            let same_place = !known.places.is_empty() && sorted(known) == sorted(&diagnostic);
            known.message == diagnostic.message || (same_place && known.path() == diagnostic.path())
        });
        if !repeats {
            kept.push(diagnostic);
        }
    }
    let explained: Vec<String> = kept
        .iter()
        .filter(|d| !d.is_disjunction_header())
        .map(|d| d.path().to_owned())
        .collect();
    kept.retain(|d| {
        !d.is_disjunction_header() || !explained.iter().any(|p| p.starts_with(d.path()))
    });
    kept
}

fn sorted(diagnostic: &Diagnostic) -> Vec<&String> {
    let mut places: Vec<&String> = diagnostic.places.iter().collect();
    places.sort();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stderr: &str) -> String {
        let origin = |file: &str, line, column| match file {
            "v0.yaml" => Some(Origin::Values(format!("prod.yaml:{line}:{column}"))),
            "./module.cue" => Some(Origin::Module(format!("module.cue:{line}:{column}"))),
            _ => None,
        };
        Diagnostics::read_with(stderr, origin).to_string()
    }

    #[test]
    fn a_conflict_is_told_once_and_in_the_users_files() {
        let stderr = "_inst.#config.host: conflicting values string and 5 (mismatched types string and int):\n    \
            ./module.cue:10:12\n    ./opm_render/render.cue:15:8\n    v0.yaml:2:7\n\
            _inst.values.host: conflicting values 5 and string (mismatched types int and string):\n    \
            ./module.cue:10:12\n    ./opm_gen.cue:6:9\n    v0.yaml:2:7\n";
        assert_eq!(
            read(stderr),
            "values.host: conflicting values string and 5 (mismatched types string and int)\n    \
             prod.yaml:2:7\n    module.cue:10:12"
        );
    }

    #[test]
    fn headers_of_disjunctions_make_room_for_what_they_announce() {
        let stderr = "_inst.#config.port: 2 errors in empty disjunction:\n\
            _inst.#config.port: conflicting values \"x\" and 80 (mismatched types string and int):\n    ./module.cue:11:13\n    v0.yaml:2:2\n\
            _inst.#config.port: conflicting values \"x\" and int (mismatched types string and int):\n    ./module.cue:11:18\n    v0.yaml:2:2\n";
        let text = read(stderr);
        assert!(!text.contains("empty disjunction"), "{text}");
        assert_eq!(text.lines().count(), 6, "{text}");
        assert_eq!(
            read("_inst.#config.a: 2 errors in empty disjunction:\n"),
            "values.a: 2 errors in empty disjunction"
        );
    }

    #[test]
    fn data_is_not_repeated() {
        let stderr = "_inst.#components.app.resources.s.stringData.password: conflicting values \"hunter2\" and int (mismatched types string and int):\n    ./module.cue:1:1\n";
        assert_eq!(
            read(stderr),
            "#components.app.resources.s.stringData.password: conflicting values \"…\" and int (mismatched types string and int)\n    module.cue:1:1"
        );
    }

    #[test]
    fn there_is_an_end_to_it() {
        let many: String = (0..100).map(|n| format!("values.a{n}: bad\n")).collect();
        let text = read(&many);
        assert!(text.ends_with("\nand 60 more"), "{text}");
    }
}
