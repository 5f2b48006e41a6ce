//! `opm feature list`.

use opm_core::feature::{Feature, FeatureSet};
use serde::Serialize;

use crate::error::{CliError, Exit};
use crate::ui::{Format, Table, Ui};

/// List the features with their stage and whether they are on
///
/// A feature is on or off by default; `--feature-enable` and `--feature-disable`, their
/// variables, or the configuration file choose otherwise. `-o wide` shows more.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// The document of `-o json`.
#[derive(Serialize)]
struct FeaturesDocument<'a> {
    features: Vec<FeatureRow<'a>>,
}

#[derive(Serialize)]
struct FeatureRow<'a> {
    name: &'a str,
    description: &'a str,
    stage: &'a str,
    since: String,
    until: Option<String>,
    owner: &'a str,
    proposal: Option<&'a str>,
    default: bool,
    user: Option<bool>,
    enabled: bool,
    #[serde(skip)]
    summary: &'a str,
}

pub(super) fn run(_args: &Args, features: &FeatureSet, ui: &Ui) -> Result<Exit, CliError> {
    let rows = features.declared().map(|feature| row(feature, features));
    let document = FeaturesDocument {
        features: rows.collect(),
    };
    ui.data(&document, |format| match format {
        Format::Wide => wide(&document.features),
        _ => narrow(&document.features),
    })?;
    Ok(Exit::DONE)
}

fn row<'a>(feature: &'a Feature, features: &FeatureSet) -> FeatureRow<'a> {
    FeatureRow {
        name: feature.name.as_str(),
        description: &feature.description,
        stage: feature.stage.as_str(),
        since: feature.since.to_string(),
        until: feature.until.as_ref().map(ToString::to_string),
        owner: &feature.owner,
        proposal: feature.proposal.as_deref(),
        default: feature.enabled,
        user: features.get_user(&feature.name).ok().map(|set| set.enabled),
        enabled: features.is_enabled(&feature.name),
        summary: feature.summary(),
    }
}

fn narrow(rows: &[FeatureRow<'_>]) -> Table {
    let mut table = Table::new(["NAME", "STAGE", "ENABLED", "DEFAULT", "USER"]);
    for row in rows {
        let states = [Some(row.enabled), Some(row.default), row.user].map(word);
        table.row([row.name, row.stage, states[0], states[1], states[2]]);
    }
    table
}

fn wide(rows: &[FeatureRow<'_>]) -> Table {
    let mut table = Table::new([
        "NAME", "STAGE", "ENABLED", "DEFAULT", "USER", "SINCE", "UNTIL", "OWNER", "PROPOSAL",
        "SUMMARY",
    ]);
    for row in rows {
        let [enabled, default, user] = [Some(row.enabled), Some(row.default), row.user].map(word);
        let (until, proposal) = (row.until.as_deref(), row.proposal);
        table.row([
            row.name,
            row.stage,
            enabled,
            default,
            user,
            &row.since,
            until.unwrap_or_default(),
            row.owner,
            proposal.unwrap_or_default(),
            row.summary,
        ]);
    }
    table
}

fn word(state: Option<bool>) -> &'static str {
    match state {
        Some(true) => "true",
        Some(false) => "false",
        None => "",
    }
}
