//! `opm mod show`.

use clap::ValueEnum;
use opm_engine::request::ShowRequest;
use opm_engine::{ShownManifests, ShownValues};
use opm_render::yaml;
use serde_json::{Value, json};

use super::release_arg::ReleaseArg;
use crate::cluster::{self, Session, report};
use crate::error::{CliError, ErrorKind, Exit};
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::{Format, Ui};

/// Show what is recorded of a change: its values or its manifests
///
/// Values are printed as they were recorded, as CUE, and may hold secrets that the module was
/// given. In manifests the values of Secrets are masked unless --reveal is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release: its name, its id, or the directory of its module
    release: ReleaseArg,

    /// What to show
    what: ShowTarget,

    /// Which change: its id or the beginning of its digits; by default the current one
    #[arg(long, value_name = "CHANGE")]
    revision: Option<String>,

    /// Show what Secrets hold
    #[arg(long)]
    reveal: bool,
}

/// What is recorded of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShowTarget {
    /// The resolved values
    Values,
    /// The rendered manifests, as they were applied
    Manifests,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let release = args.release.resolve(settings)?;
    cluster::run(async {
        let session = Session::open(settings, ui, &Interrupt::listen(*ui), false).await?;
        let request = ShowRequest {
            release,
            namespace: session.namespace_or_default()?,
            revision: args.revision.clone(),
            reveal: args.reveal,
        };
        match args.what {
            ShowTarget::Values => {
                let shown = session.engine.show_values(&request).await;
                print_values(&shown.map_err(|failure| session.failed(failure))?, ui)?;
            }
            ShowTarget::Manifests => {
                let shown = session.engine.show_manifests(&request).await;
                print_manifests(&shown.map_err(|failure| session.failed(failure))?, ui)?;
            }
        }
        Ok(Exit::Done)
    })
}

fn print_values(shown: &ShownValues, ui: &Ui) -> Result<(), CliError> {
    let document = || {
        json!({
            "release": report::release(&shown.release),
            "changeId": shown.change,
            "values": shown.values,
        })
    };
    match ui.asked_format() {
        Some(Format::Json) => ui.json(&document()),
        Some(Format::Yaml) => ui.yaml(&document()),
        Some(Format::Table | Format::Wide) | None => {
            ui.text(&format!("{}\n", shown.values.trim_end()))
        }
    }
}

fn print_manifests(shown: &ShownManifests, ui: &Ui) -> Result<(), CliError> {
    if ui.format_or(Format::Yaml) == Format::Json {
        let resources = shown.objects.iter();
        let resources =
            resources.map(|one| json!({"component": one.component, "object": one.object}));
        return ui.json(&json!({
            "release": report::release(&shown.release),
            "changeId": shown.change,
            "manifestDigest": shown.digest,
            "resources": resources.collect::<Vec<_>>(),
        }));
    }
    let objects = shown
        .objects
        .iter()
        .map(|one| Value::Object(one.object.clone()));
    let objects: Vec<Value> = objects.collect();
    let text = yaml::write(&objects);
    ui.text(&text.map_err(|error| CliError::new(ErrorKind::Failed, error.to_string()))?)
}
