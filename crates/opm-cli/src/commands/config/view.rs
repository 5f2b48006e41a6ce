//! `opm config view`.

use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::settings::{Key, Origin, Settings};
use crate::ui::{Table, Ui, Verbosity};

/// Show each setting with where it comes from
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(_args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let rows: Vec<(Key, Value, &Origin)> = Key::ALL
        .into_iter()
        .map(|key| (key, value(settings, key), origin(settings, key)))
        .collect();
    let document = json!({
        "file": settings.config_read,
        "settings": rows.iter().map(|(key, value, origin)| json!({
            "name": key.flag(), "value": value, "origin": word(origin), "variable": key.variable(),
            "key": key.config(),
        })).collect::<Vec<_>>(),
    });
    ui.data(&document, |_| {
        let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
        for (key, value, origin) in &rows {
            table.row([key.flag(), &shown(value), &place(*key, origin)]);
        }
        table
    })?;
    Ok(Exit::Done)
}

fn value(settings: &Settings, key: Key) -> Value {
    match key {
        Key::Kubeconfig => json!(settings.kubeconfig),
        Key::Context => json!(settings.context),
        Key::Namespace => json!(settings.namespace.as_ref().map(|name| name.as_str())),
        Key::As => json!(settings.as_user),
        Key::Sandbox => json!(settings.sandbox),
        Key::SandboxDir => json!(settings.sandbox_dir),
        Key::Output => json!(settings.output),
        Key::Config => json!(settings.config_read),
        Key::Verbose => json!(match settings.verbosity {
            Verbosity::Quiet | Verbosity::Normal => 0,
            Verbosity::Verbose => 1,
            Verbosity::Debug => 2,
        }),
        Key::Quiet => json!(settings.verbosity == Verbosity::Quiet),
        Key::Color => json!(settings.color),
        Key::Events => json!(settings.events),
        Key::FeatureEnable | Key::FeatureDisable => json!([]),
    }
}

fn origin(settings: &Settings, key: Key) -> &Origin {
    // Verbose and quiet are two ends of one setting.
    let key = if key == Key::Quiet { Key::Verbose } else { key };
    settings.origins.get(&key).unwrap_or(&Origin::Default)
}

fn word(origin: &Origin) -> &'static str {
    match origin {
        Origin::Flag => "flag",
        Origin::Environment => "environment",
        Origin::File(_) => "file",
        Origin::Default => "default",
    }
}

fn place(key: Key, origin: &Origin) -> String {
    match origin {
        Origin::Flag => format!("--{}", key.flag()),
        Origin::Environment => key.variable().to_owned(),
        Origin::File(path) => path.display().to_string(),
        Origin::Default => "default".to_owned(),
    }
}

/// A value in a table cell.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
