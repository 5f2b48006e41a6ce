//! What a library offers and nobody asks for: the compiler warns of private items that nothing
//! uses, and takes public ones for wanted.
//!
//! Words are compared, not meanings: an item counts as used when any other file of the workspace
//! says its name. So an unused method that is called `new` goes unnoticed, and nothing that is
//! used is reported.

#![allow(
    clippy::unwrap_used,
    reason = "tests say what they expect by failing loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LIBRARIES: &[&str] = &[
    "opm-core",
    "opm-engine",
    "opm-render",
    "opm-cluster",
    "opm-page",
    "opm-controller",
    "opm-sandbox",
    "opm-testkit",
];

/// Items that are public though no other file names them, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("and_verb", "the relay's rules can be combined freely"),
    ("from_nth", "docs/testing.md shows it to writers of tests"),
];

const ITEMS: &[&str] = &["fn", "const", "static", "struct", "enum", "type", "trait"];
const TYPES: &[&str] = &["struct", "enum", "type", "trait"];

struct SourceFile {
    path: PathBuf,
    /// Without comments and re-exports, which are no use of anything.
    lines: Vec<String>,
    words: BTreeSet<String>,
}

impl SourceFile {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = Vec::new();
        let mut in_export = false;
        for line in text.lines() {
            let code = line.split("//").next().unwrap_or_default();
            let start = code.trim_start();
            in_export |= start.starts_with("pub") && start.contains(" use ");
            if !in_export {
                lines.push(code.to_owned());
            }
            in_export &= !code.contains(';');
        }
        let words = lines.iter().flat_map(|line| words(line));
        let words = words.map(str::to_owned).collect();
        Self { path, lines, words }
    }

    /// The public items: their names, and whether each is a type.
    fn items(&self) -> impl Iterator<Item = (&str, bool)> {
        self.lines.iter().filter_map(|line| {
            let declaration = line.trim_start().strip_prefix("pub ")?;
            let is_modifier = |word: &&str| ["async", "unsafe"].contains(word);
            let mut words = words(declaration).skip_while(is_modifier);
            let keyword = words.next().filter(|word| ITEMS.contains(word))?;
            let name = words.next()?;
            match (keyword, name) {
                ("const", "fn") => Some((words.next()?, false)),
                _ => Some((name, TYPES.contains(&keyword))),
            }
        })
    }

    /// Whether a type is part of something else here, such as a signature or a field.
    fn refers_to(&self, name: &str) -> bool {
        let lines = self.lines.iter().map(|line| line.trim_start());
        let elsewhere = lines.filter(|line| !line.starts_with("impl"));
        elsewhere
            .filter(|line| words(line).any(|word| word == name))
            .count()
            > 1
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

fn sources(dir: &Path, found: &mut Vec<SourceFile>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(SourceFile::read(path));
        }
    }
}

#[test]
fn every_public_item_has_a_user() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap();
    let mut files = Vec::new();
    for part in ["crates", "xtask", "fuzz"] {
        sources(&root.join(part), &mut files);
    }
    let mut said_by: BTreeMap<&str, usize> = BTreeMap::new();
    for word in files.iter().flat_map(|file| &file.words) {
        *said_by.entry(word).or_default() += 1;
    }
    let mut unused = Vec::new();
    for library in LIBRARIES {
        let source = root.join("crates").join(library).join("src");
        for file in files.iter().filter(|file| file.path.starts_with(&source)) {
            for (name, is_type) in file.items() {
                let used = said_by[name] > 1 || (is_type && file.refers_to(name));
                if !used && !ALLOWED.iter().any(|(allowed, _)| *allowed == name) {
                    let path = file.path.strip_prefix(&root).unwrap();
                    unused.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(
        unused.is_empty(),
        "delete these, make them private, or say here why they stay:\n{}",
        unused.join("\n")
    );
}
