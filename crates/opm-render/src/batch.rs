//! Some of a module's files, parsed side by side.
//!
//! Long texts are cut between documents, so that one large file takes no longer than many small
//! ones. What is wrong is found by reading again, one file after the other: the same error comes
//! first every time, with its place in the whole file, and whatever a cut may have spoiled does not
//! count.

use std::path::Path;

use opm_core::manifest::Manifest;

use crate::json;
use crate::lint::Lint;
use crate::manifests::{FilesError, flatten};
use crate::parallel;
use crate::substitution::{Replaced, line_of};
use crate::yaml::{self, Document, MemoryBudget, Position, Word};

/// As much text as is held at once, but for the last file.
const BATCH_BYTES: usize = 4 << 20;
/// The least that is worth a turn of its own.
const PIECE_BYTES: usize = 64 << 10;

/// Files that are read and not yet parsed.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    files: Vec<SourceFile>,
    bytes: usize,
}

/// A file: what messages call it, and its text.
#[derive(Debug)]
struct SourceFile {
    shown: String,
    text: String,
}

/// A part of a file that can be read by itself.
#[derive(Debug)]
struct Piece<'a> {
    file: &'a str,
    text: &'a str,
    /// How many lines of the file stand before it.
    lines_before: u64,
}

/// What a file, or a piece of one, holds.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    /// Its objects.
    pub(crate) objects: Vec<Manifest>,
    /// Its words that other readers of YAML take for something else.
    pub(crate) words: Vec<Lint>,
}

impl Batch {
    /// Adds a file. `shown` is what messages call it.
    pub(crate) fn add(&mut self, shown: String, text: String) {
        self.bytes += text.len();
        self.files.push(SourceFile { shown, text });
    }

    /// Whether it is time to parse it.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES
    }

    /// The objects of all files, in order.
    pub(crate) fn parse(
        self,
        memory: &mut MemoryBudget,
        replaced: Option<&Replaced>,
    ) -> Result<Vec<Parsed>, FilesError> {
        let pieces: Vec<Piece<'_>> = self.files.iter().flat_map(pieces).collect();
        let before = memory.state();
        let shared = memory.clone();
        let parsed = parallel::map(&pieces, |piece| {
            parse(piece, &mut shared.clone(), replaced).ok()
        });
        if let Some(parsed) = parsed {
            return Ok(parsed);
        }
        memory.restore(before);
        let whole = |file| parse(&whole(file), memory, replaced);
        self.files.iter().map(whole).collect()
    }
}

fn whole(file: &SourceFile) -> Piece<'_> {
    Piece {
        file: &file.shown,
        text: &file.text,
        lines_before: 0,
    }
}

/// A file's text, cut in front of lines that begin a document.
fn pieces(file: &SourceFile) -> Vec<Piece<'_>> {
    let text = file.text.as_str();
    // Directives belong to the document behind the line, and other line ends count differently.
    let is_cut = text.len() > 2 * PIECE_BYTES
        && !json::is_named(Path::new(&file.shown))
        && !text.starts_with('%')
        && !text.contains("\n%")
        && !text.contains('\r');
    if !is_cut {
        return vec![whole(file)];
    }
    let mut pieces = Vec::new();
    let (mut start, mut lines_before) = (0, 0);
    let mut cut = |end: usize, start: &mut usize| {
        let part = &text[*start..end];
        pieces.push(Piece {
            file: &file.shown,
            text: part,
            lines_before,
        });
        lines_before += part.bytes().filter(|byte| *byte == b'\n').count() as u64;
        *start = end;
    };
    for (at, _) in text.match_indices("\n---") {
        let begins = matches!(
            text.as_bytes().get(at + 4),
            None | Some(b'\n' | b' ' | b'\t')
        );
        if begins && at + 1 - start >= PIECE_BYTES {
            cut(at + 1, &mut start);
        }
    }
    cut(text.len(), &mut start);
    pieces
}

fn parse(
    piece: &Piece<'_>,
    memory: &mut MemoryBudget,
    replaced: Option<&Replaced>,
) -> Result<Parsed, FilesError> {
    let mut parsed = Parsed::default();
    let file = piece.file;
    for Document {
        line,
        mut value,
        words,
    } in documents(file, piece.text, memory)?
    {
        if let Some(replaced) = replaced {
            replaced.apply(&mut value).map_err(|source| {
                let line = line_of(piece.text, line, &source.expression) + piece.lines_before;
                FilesError::Substitution {
                    place: format!("{file}:{line}"),
                    source,
                }
            })?;
        }
        let line = line + piece.lines_before;
        flatten(value, &mut parsed.objects).map_err(|source| FilesError::Manifest {
            place: format!("{file}:{line}"),
            source,
        })?;
        let lint = |word: Word| Lint::OldBoolean {
            place: at(file, Some(word.position.below(piece.lines_before))),
            word: word.word,
            value: word.value,
            is_key: word.is_key,
        };
        parsed.words.extend(words.into_iter().map(lint));
    }
    Ok(parsed)
}

/// The documents of one text: JSON if the file says so by its ending, else YAML.
fn documents(
    file: &str,
    text: &str,
    memory: &mut MemoryBudget,
) -> Result<Vec<Document>, FilesError> {
    if json::is_named(Path::new(file)) {
        let read = json::documents_within(text, memory);
        return read.map_err(|source| FilesError::Json {
            place: at(file, Some(source.position)),
            source,
        });
    }
    let read = yaml::documents_within(text, memory);
    read.map_err(|source| match template(text, source.position()) {
        Some(position) => FilesError::Template {
            place: at(file, Some(position)),
        },
        None => FilesError::Yaml {
            place: at(file, source.position()),
            source,
        },
    })
}

/// Where the first action of a template stands, if that is why the text cannot be read.
fn template(text: &str, error: Option<Position>) -> Option<Position> {
    let lines = text.lines().zip(1..);
    let until = lines.take_while(|(_, line)| error.is_none_or(|at| *line <= at.line));
    let mut actions = until.filter_map(|(text, line)| {
        let (before, action) = text.split_once("{{")?;
        action.contains("}}").then(|| Position {
            line,
            column: before.chars().count() as u64 + 1,
        })
    });
    actions.next()
}

/// A place in a file.
fn at(file: &str, position: Option<Position>) -> String {
    match position {
        Some(at) => format!("{file}:{}:{}", at.line, at.column),
        None => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::MAX_WORDS;

    fn object(n: usize, rest: &str) -> String {
        let text = "x".repeat(700);
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m-{n}\ndata:\n  text: |\n    \
             {text}\n    ---\n  on: \"{n}\"\n{rest}"
        )
    }

    fn batch(texts: &[String]) -> Batch {
        let mut batch = Batch::default();
        for (n, text) in texts.iter().enumerate() {
            batch.add(format!("{n}.yaml"), text.clone());
        }
        batch
    }

    /// What one file after the other, each in one go, comes to.
    fn one_by_one(texts: &[String]) -> Result<Vec<Parsed>, FilesError> {
        let batch = batch(texts);
        let mut memory = MemoryBudget::default();
        let parsed = batch
            .files
            .iter()
            .map(|file| parse(&whole(file), &mut memory, None));
        parsed.collect()
    }

    /// Objects and words, as many of these as are remembered.
    fn shown(parsed: Vec<Parsed>) -> (Vec<String>, Vec<String>) {
        let (mut objects, mut words) = (Vec::new(), Vec::new());
        for one in parsed {
            let values = one.objects.into_iter().map(Manifest::into_value);
            objects.extend(values.map(|value| value.to_string()));
            words.extend(one.words.iter().map(|word| format!("{word:?}")));
        }
        words.truncate(MAX_WORDS);
        (objects, words)
    }

    #[test]
    fn a_long_text_in_pieces_is_what_it_is_in_one() {
        let long: String = (0..500).map(|n| object(n, "")).collect();
        let texts = [object(1000, ""), long, object(1001, "")];
        let cut = batch(&texts);
        assert!(cut.files.iter().flat_map(pieces).count() > 5);
        let (objects, words) = shown(cut.parse(&mut MemoryBudget::default(), None).unwrap());
        assert_eq!((objects.len(), words.len()), (502, MAX_WORDS));
        assert_eq!((objects, words), shown(one_by_one(&texts).unwrap()));
    }

    #[test]
    fn the_first_error_is_the_same_as_one_by_one() {
        let long: String = (0..500).map(|n| object(n, "")).collect();
        for broken in [
            object(1, "data: {}\n"),
            format!("{long}---\nkind: Nothing\n{long}"),
            format!("{long}--- 'open\n{long}"),
            format!("{long}---\na: [1\n{long}"),
        ] {
            let texts = [long.clone(), broken, "a: [".to_owned()];
            let expected = one_by_one(&texts).unwrap_err().to_string();
            assert!(expected.starts_with("1.yaml:"), "{expected}");
            for _ in 0..3 {
                let error = batch(&texts)
                    .parse(&mut MemoryBudget::default(), None)
                    .unwrap_err();
                assert_eq!(error.to_string(), expected);
            }
        }
    }
}
