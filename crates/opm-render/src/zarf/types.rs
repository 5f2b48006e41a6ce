//! What a package definition may say, as far as it is carried out. What else it may say, `fields`
//! knows.

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// What a package says about itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PackageMetadata {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) version: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) description: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) architecture: Option<String>,
}

/// A variable, which a release may set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PackageVariable {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) default: Option<String>,
    pub(super) auto_indent: bool,
    #[serde(deserialize_with = "optional_text")]
    pub(super) pattern: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: VariableKind,
}

/// What the default of a variable is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum VariableKind {
    #[default]
    #[serde(alias = "")]
    Raw,
    /// The name of a file that holds it.
    File,
}

/// A constant, which a release cannot set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PackageConstant {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "text")]
    pub(super) value: String,
    pub(super) auto_indent: bool,
    #[serde(deserialize_with = "optional_text")]
    pub(super) pattern: Option<String>,
}

/// A component without what it holds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PackageComponent {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    pub(super) default: bool,
    pub(super) required: bool,
    pub(super) only: ComponentFilter,
    pub(super) import: ComponentImport,
}

/// What a component is for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ComponentFilter {
    #[serde(rename = "localOS")]
    pub(super) local_os: String,
    pub(super) cluster: ClusterFilter,
    pub(super) flavor: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClusterFilter {
    pub(super) architecture: String,
}

/// The component that a component is made of.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ComponentImport {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) url: String,
}

/// Manifests, and where their objects live.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ManifestGroup {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) files: Vec<String>,
    pub(super) kustomizations: Vec<String>,
    pub(super) kustomize_allow_any_directory: bool,
    pub(super) no_wait: bool,
}

/// A chart, and what it is rendered with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PackageChart {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "text")]
    pub(super) version: String,
    pub(super) url: String,
    pub(super) repo_name: String,
    pub(super) git_path: String,
    pub(super) local_path: String,
    pub(super) namespace: String,
    pub(super) release_name: String,
    pub(super) no_wait: bool,
    pub(super) values_files: Vec<String>,
    pub(super) variables: Vec<ChartVariable>,
}

/// A variable that is a value of a chart.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChartVariable {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    pub(super) path: String,
}

/// Reads a part of a definition. What is null is as if it were not there.
pub(super) fn read<T: DeserializeOwned>(part: &Value) -> Result<T, String> {
    let part = without_nulls(part);
    serde_json::from_value(part).map_err(|error| error.to_string())
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// A text; a whole number or a boolean counts as what is written.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = String;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a text (put it in quotes)")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_bool<E: Error>(self, flag: bool) -> Result<String, E> {
            Ok(flag.to_string())
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
            Ok(number.to_string())
        }
    }
    deserializer.deserialize_any(Text)
}

fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    text(deserializer).map(Some)
}
