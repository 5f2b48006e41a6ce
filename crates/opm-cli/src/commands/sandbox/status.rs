//! `opm sandbox status`.

use std::path::{Path, PathBuf};

use opm_sandbox::GAPS;
use serde::Serialize;

use super::{open, unusable};
use crate::error::{CliError, Exit};
use crate::ui::{Format, Table, Ui};

/// Show what the sandbox holds, and how it differs from a real cluster
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// The document of `-o json`.
#[derive(Serialize)]
struct SandboxDocument {
    file: PathBuf,
    exists: bool,
    bytes: u64,
    #[serde(rename = "resourceVersion")]
    revision: i64,
    objects: Vec<KindCount>,
    gaps: &'static [&'static str],
}

#[derive(Serialize)]
struct KindCount {
    resource: String,
    count: i64,
}

pub(super) fn run(_args: &Args, dir: &Path, ui: &Ui) -> Result<Exit, CliError> {
    let document = look(dir)?;
    let state = match document.exists {
        true => format!(
            "{} ({} KiB)",
            document.file.display(),
            document.bytes / 1024
        ),
        false => format!("{} does not exist yet", document.file.display()),
    };
    ui.info(&state);
    ui.data(&document, |_| {
        let mut table = Table::new(["RESOURCE", "OBJECTS"]);
        for row in &document.objects {
            table.row([row.resource.as_str(), &row.count.to_string()]);
        }
        table
    })?;
    if matches!(ui.format_or(Format::Table), Format::Table | Format::Wide) {
        ui.info("\nNot as in a real cluster:");
        for gap in GAPS {
            ui.info(&format!("- {gap}"));
        }
    }
    Ok(Exit::DONE)
}

/// Looking does not make a sandbox that is not there.
fn look(dir: &Path) -> Result<SandboxDocument, CliError> {
    let file = dir.join(opm_sandbox::FILE_NAME);
    if !file.exists() {
        let objects = Vec::new();
        return Ok(SandboxDocument {
            file,
            exists: false,
            bytes: 0,
            revision: 0,
            objects,
            gaps: GAPS,
        });
    }
    let sandbox = open(dir)?;
    let summary = sandbox.summary().map_err(|error| unusable(&error))?;
    let rows = summary.objects.into_iter();
    Ok(SandboxDocument {
        file: summary.file,
        exists: true,
        bytes: summary.bytes,
        revision: summary.revision,
        objects: rows
            .map(|(resource, count)| KindCount { resource, count })
            .collect(),
        gaps: GAPS,
    })
}
