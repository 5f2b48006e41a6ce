//! `opm config view`.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::settings::{KUBECONFIG, Key, Origin, Settings};
use crate::ui::{Table, Ui, Verbosity};

/// Show each setting with where it comes from
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// The document of `-o json`.
#[derive(Serialize)]
struct SettingsDocument<'a> {
    file: Option<&'a PathBuf>,
    settings: Vec<SettingRow>,
    features: Vec<Chosen<'a>>,
}

#[derive(Serialize)]
struct SettingRow {
    name: &'static str,
    value: Value,
    origin: &'static str,
    variable: &'static str,
    key: Option<&'static str>,
    #[serde(skip)]
    place: String,
}

#[derive(Serialize)]
struct Chosen<'a> {
    name: &'a str,
    enabled: bool,
    origin: &'static str,
    #[serde(skip)]
    place: String,
}

pub(super) fn run(_args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let plain = |key: &Key| !matches!(key, Key::FeatureEnable | Key::FeatureDisable);
    let keys = Key::ALL.into_iter().filter(plain);
    let document = SettingsDocument {
        file: settings.config_read.as_ref(),
        settings: keys.map(|key| row(settings, key)).collect(),
        features: features(settings),
    };
    ui.data(&document, |_| {
        let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
        for row in &document.settings {
            table.row([row.name, &shown(&row.value), &row.place]);
        }
        for feature in &document.features {
            let enabled = if feature.enabled { "true" } else { "false" };
            table.row([
                &format!("feature {}", feature.name),
                enabled,
                &feature.place,
            ]);
        }
        table
    })?;
    Ok(Exit::DONE)
}

fn row(settings: &Settings, key: Key) -> SettingRow {
    let origin = settings.origin(key);
    SettingRow {
        name: key.flag(),
        value: value(settings, key),
        origin: match key {
            Key::Kubeconfig if is_usual(settings) => word(&Origin::Environment),
            _ => word(origin),
        },
        variable: key.variable(),
        key: key.config(),
        place: match key {
            Key::Kubeconfig if is_usual(settings) => KUBECONFIG.to_owned(),
            _ => place(key, origin),
        },
    }
}

/// Whether `KUBECONFIG` alone says which kubeconfig counts.
fn is_usual(settings: &Settings) -> bool {
    settings.kubeconfig.is_none() && settings.cluster.kubeconfig.is_some()
}

/// The features, each with who decided about it.
fn features(settings: &Settings) -> Vec<Chosen<'_>> {
    let declared = settings.features.declared();
    let chosen = declared.map(|feature| {
        let name = feature.name.as_str();
        let enabled = settings.features.is_enabled(name);
        let key = if enabled {
            Key::FeatureEnable
        } else {
            Key::FeatureDisable
        };
        let origin = settings
            .feature_origins
            .get(name)
            .unwrap_or(&Origin::Default);
        Chosen {
            name,
            enabled,
            origin: word(origin),
            place: place(key, origin),
        }
    });
    chosen.collect()
}

fn value(settings: &Settings, key: Key) -> Value {
    match key {
        Key::Kubeconfig if is_usual(settings) => {
            let usual = settings.cluster.kubeconfig.as_ref();
            json!(usual.map(|files| files.to_string_lossy()))
        }
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
        Key::LogEntries => json!(settings.log_entries),
        Key::RetiredManagers => json!(settings.retired_managers),
        Key::Preflight => json!(settings.preflight),
        Key::Review => json!(settings.review),
        Key::RenderCache => json!(settings.render_cache),
        Key::DiscoveryCache => json!(settings.discovery_cache),
        Key::FeatureEnable | Key::FeatureDisable => Value::Null,
    }
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
