//! `module.yaml`: what it may say, as types, and what it means, checked.
//!
//! The JSON Schema in docs/schema/ is made from these types. No file is opened here.

use std::collections::{BTreeMap, BTreeSet};

use opm_core::name::{ComponentName, ModuleName, ModulePath, NameError, NamespaceName};
use opm_core::nearest::{did_you_mean, nearest};
use opm_core::rendered::{LeftOut, Module};
use opm_core::values::Value;
use schemars::JsonSchema;
use serde::Deserialize;
use thiserror::Error;

use crate::component_source::{
    self, ChartFile, ComponentSource, ComponentSourceError, SourceFields,
};
use crate::values::YamlData;
use crate::yaml::{self, Position, YamlError};
use crate::zarf::Markers;

/// The file's name.
pub(crate) const FILE: &str = "module.yaml";

/// What is wrong with a module.yaml.
#[derive(Debug, Error)]
pub enum ModuleFileError {
    /// The text is not what the format expects.
    #[error("{}", .0)]
    Yaml(#[from] YamlError),
    /// A name breaks its rules.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The version is not a semantic version.
    #[error("`version` {0:?} is not a semantic version")]
    Version(String),
    /// A component does not say what it is made of.
    #[error("{0}")]
    Source(#[from] ComponentSourceError),
    /// The values are a list or a scalar.
    #[error("`values` must be a mapping")]
    Values,
    /// Two components of one name.
    #[error("component `{0}` is defined twice")]
    Twice(ComponentName),
}

impl ModuleFileError {
    /// Where in the file the error is, as far as is known.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Yaml(error) => error.position(),
            _ => None,
        }
    }

    /// The text in the file that it is about, where the reader has not said where that stands.
    pub(crate) fn culprit(&self) -> Option<&str> {
        match self {
            Self::Yaml(_) | Self::Values => None,
            Self::Name(error) => Some(&error.given),
            Self::Version(given) => Some(given),
            Self::Source(error) => Some(error.component().as_str()),
            Self::Twice(component) => Some(component.as_str()),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Yaml(YamlError::UnknownField { field, known, .. }) => {
                let near = nearest(field, known.iter().copied());
                did_you_mean(&near).or_else(|| Some(format!("known fields: {}", known.join(", "))))
            }
            Self::Version(_) => Some("use three numbers, such as 1.4.0".to_owned()),
            _ => None,
        }
    }
}

/// A module of plain Kubernetes manifests, for opm.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(title = "module.yaml")]
pub(crate) struct ModuleFile {
    /// The version of this format.
    #[expect(dead_code, reason = "there is one; reading it is the check")]
    api_version: ApiVersion,
    /// Always `Module`.
    #[expect(dead_code, reason = "there is one; reading it is the check")]
    kind: Kind,
    /// What the module says about itself.
    metadata: Metadata,
    /// The values that `${values.…}` in manifests stands for, unless others are given. A module
    /// that has them has its manifests' expressions replaced.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    values: Option<YamlData>,
    /// A JSON Schema for the values, or the file that holds one, relative to module.yaml.
    #[schemars(with = "Option<SchemaFile>")]
    schema: Option<SchemaFile>,
    /// Whether expressions in manifests are replaced. Default: if the module has `values` or
    /// `schema`.
    substitute: Option<bool>,
    /// Its components, each a named group of objects.
    components: Vec<ComponentFile>,
}

/// A schema, or where it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SchemaFile {
    /// A file.
    File(String),
    /// The schema itself.
    Inline(serde_json::Map<String, serde_json::Value>),
}

#[derive(Debug, Deserialize, JsonSchema)]
enum ApiVersion {
    #[serde(rename = "core.opmodel.dev/v1alpha1")]
    V1Alpha1,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Kind {
    Module,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Metadata {
    /// The module's name: lower-case letters, digits and '-', at most 63 characters.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    name: String,
    /// Where the module comes from, such as `example.com/modules/web@v1`. Releases are told
    /// apart by it. Default: `local/<name>`.
    path: Option<String>,
    /// The module's version, such as `1.4.0`. A module without one is recorded as local.
    version: Option<String>,
    /// The namespace for releases when neither the command line nor the kubeconfig's context
    /// names one.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    default_namespace: Option<String>,
    /// What the module is, in a sentence.
    description: Option<String>,
}

const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// A named group of objects. It has exactly one of `manifests`, `kustomize` and `chart`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ComponentFile {
    /// The component's name: lower-case letters, digits and '-', at most 63 characters.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    name: String,
    /// Files, directories and patterns (`more/*.yaml`) that hold Kubernetes objects as YAML or
    /// JSON, relative to module.yaml.
    manifests: Option<Vec<String>>,
    /// A directory with a kustomization, relative to module.yaml; built by `kustomize` or
    /// `kubectl`.
    kustomize: Option<String>,
    /// Whether the kustomization may name resources by URL, which are fetched.
    remote: Option<bool>,
    /// A Helm chart.
    chart: Option<ChartFile>,
    /// The components whose objects must be ready before this one's are applied.
    #[serde(default)]
    after: Vec<String>,
    /// Whether the component is applied only when it is selected with `--components`.
    #[serde(default)]
    optional: bool,
}

/// A module.yaml that holds together.
#[derive(Debug)]
pub(crate) struct ModuleDefinition {
    /// What the module says about itself.
    pub module: Module,
    /// What it says about values.
    pub values: ValuesDefinition,
    /// Its values, where they had to be known to define it.
    pub filled: Option<FilledValues>,
    /// Its components, their files not yet read.
    pub components: Vec<ComponentDefinition>,
    /// What it asks for besides, and is not carried out.
    pub left_out: Vec<LeftOut>,
}

/// The values of a release of a package, and what markers stand for.
#[derive(Debug)]
pub(crate) struct FilledValues {
    pub values: Value,
    pub markers: Markers,
}

/// What a module says about its values.
#[derive(Debug)]
pub(crate) struct ValuesDefinition {
    /// Its own; nothing if it takes none.
    pub own: Option<Value>,
    /// What they are held against.
    pub schema: Option<SchemaFile>,
    /// Whether expressions in its manifests are replaced.
    pub substitute: bool,
}

impl ValuesDefinition {
    /// What a module says that takes whatever is given, and has none of its own.
    pub(crate) fn any() -> Self {
        Self {
            own: Some(Value::Struct(BTreeMap::new())),
            schema: None,
            substitute: true,
        }
    }

    /// What a module says that takes none.
    pub(crate) fn none() -> Self {
        Self {
            own: None,
            schema: None,
            substitute: false,
        }
    }

    fn read(
        own: Option<Value>,
        schema: Option<SchemaFile>,
        substitute: Option<bool>,
    ) -> Result<Self, ModuleFileError> {
        let declares = own.is_some() || schema.is_some();
        let own = match own {
            Some(Value::Struct(fields)) => Some(Value::Struct(fields)),
            Some(_) => return Err(ModuleFileError::Values),
            None => (declares || substitute == Some(true)).then(|| Value::Struct(BTreeMap::new())),
        };
        Ok(Self {
            own,
            schema,
            substitute: substitute.unwrap_or(declares),
        })
    }
}

/// A component whose files are not yet read.
#[derive(Debug)]
pub(crate) struct ComponentDefinition {
    /// Its name.
    pub name: ComponentName,
    /// The components that it comes after.
    pub after: Vec<ComponentName>,
    /// Whether it is applied only when selected.
    pub optional: bool,
    /// Whether an optional one is selected as long as nobody has chosen.
    pub by_default: bool,
    /// What it is made of.
    pub sources: Vec<SourceDefinition>,
}

/// A part of what a component is made of.
#[derive(Debug)]
pub(crate) struct SourceDefinition {
    /// What it is.
    pub source: ComponentSource,
    /// Where its objects live if they name no namespace; in the release's, if none.
    pub home: Option<NamespaceName>,
}

impl From<ComponentSource> for SourceDefinition {
    fn from(source: ComponentSource) -> Self {
        let home = None;
        Self { source, home }
    }
}

/// Reads a module.yaml and checks what can be checked without its other files.
pub(crate) fn parse(text: &str) -> Result<ModuleDefinition, ModuleFileError> {
    let file: ModuleFile = yaml::document(text)?;
    let module = module(file.metadata)?;
    let mut components: Vec<ComponentDefinition> = Vec::with_capacity(file.components.len());
    let mut known = BTreeSet::new();
    for given in file.components {
        let component = component(given)?;
        if !known.insert(component.name.clone()) {
            return Err(ModuleFileError::Twice(component.name));
        }
        components.push(component);
    }
    let own = file.values.map(|YamlData(value)| value);
    Ok(ModuleDefinition {
        module,
        values: ValuesDefinition::read(own, file.schema, file.substitute)?,
        filled: None,
        components,
        left_out: Vec::new(),
    })
}

/// The part of a module.yaml that says which module it is.
#[derive(Debug, Deserialize)]
struct ModuleHeader {
    metadata: Metadata,
}

/// Reads what a module.yaml says about the module itself, whatever else is wrong with it.
pub(crate) fn parse_metadata(text: &str) -> Result<Module, ModuleFileError> {
    let header: ModuleHeader = yaml::document(text)?;
    module(header.metadata)
}

fn module(given: Metadata) -> Result<Module, ModuleFileError> {
    let name = ModuleName::new(given.name)?;
    let path = match given.path {
        Some(path) => ModulePath::new(path)?,
        None => ModulePath::local(&name),
    };
    let version = given.version.map(checked_version).transpose()?;
    let default_namespace = given
        .default_namespace
        .map(NamespaceName::new)
        .transpose()?;
    Ok(Module {
        path,
        version,
        default_namespace,
        description: given.description,
        ..Module::local(name)
    })
}

/// A module's version is recorded and compared: it must be a semantic version.
pub(crate) fn checked_version(given: String) -> Result<String, ModuleFileError> {
    match semver::Version::parse(given.strip_prefix('v').unwrap_or(&given)) {
        Ok(_) => Ok(given),
        Err(_) => Err(ModuleFileError::Version(given)),
    }
}

fn component(given: ComponentFile) -> Result<ComponentDefinition, ModuleFileError> {
    let component = ComponentName::new(given.name)?;
    let fields = SourceFields {
        manifests: given.manifests,
        kustomize: given.kustomize,
        remote: given.remote,
        chart: given.chart,
    };
    let source = component_source::read(&component, fields)?;
    let after = given
        .after
        .into_iter()
        .map(ComponentName::new)
        .collect::<Result<_, _>>()?;
    Ok(ComponentDefinition {
        name: component,
        after,
        optional: given.optional,
        by_default: false,
        sources: vec![source.into()],
    })
}

/// The JSON Schema of module.yaml, as it stands in docs/schema/.
pub fn schema() -> String {
    let schema = schemars::schema_for!(ModuleFile);
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text + "\n"
}
