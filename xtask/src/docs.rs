//! Generated documentation: written from what the code declares, and checked to be so.

use std::fs;
use std::path::{Path, PathBuf};

use opm_core::feature::{FeatureSet, markdown};

use crate::Outcome;

/// What makes a page.
type Make = fn() -> String;

/// Every generated page: where it is, and what makes it.
const PAGES: &[(&str, Make)] = &[
    ("docs/commands.md", opm_cli::reference::commands),
    ("docs/features.md", features),
    ("docs/reference.md", opm_cli::reference::tables),
    ("docs/schema/module.schema.json", opm_render::module_schema),
];

/// Writes the generated parts of the documentation
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if a page is not what would be written
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.check { check() } else { write() }
}

/// Fails if a page is missing or out of date.
pub(crate) fn check() -> Outcome {
    let stale: Vec<&str> = PAGES
        .iter()
        .filter(|(path, page)| fs::read_to_string(full(path)).ok() != Some(page()))
        .map(|(path, _)| *path)
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("out of date: {}; run `cargo xtask docs`", stale.join(", ")).into())
}

fn write() -> Outcome {
    for (path, page) in PAGES {
        fs::write(full(path), page())?;
        eprintln!("wrote {path}");
    }
    Ok(())
}

/// Where a page of the documentation is.
pub(crate) fn full(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn features() -> String {
    markdown::page(&FeatureSet::shipped())
}
