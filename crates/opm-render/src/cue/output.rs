//! What `cue` printed to standard output, as a rendered module.
//!
//! Values keep their digits; components keep the module's order.

use std::fmt;
use std::marker::PhantomData;

use opm_core::ids::ReleaseId;
use opm_core::manifest::{Manifest, ManifestError};
use opm_core::name::{
    ComponentName, ModuleName, ModulePath, NameError, NamespaceName, ReleaseName,
};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::values::Value;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::Loaded;
use crate::manifests::flatten;
use crate::yaml_module::{ModuleFileError, checked_version};

/// Why the output of `cue` is no rendered module.
#[derive(Debug, Error)]
pub enum OutputError {
    /// It is not the JSON that opm asks for.
    #[error("failed to read the output of `cue`: {0}")]
    Json(#[from] serde_json::Error),
    /// A name breaks its rules.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The module's version is none.
    #[error("metadata.version: {0}")]
    Version(Box<ModuleFileError>),
    /// The values cannot be recorded.
    #[error("values: {0}")]
    Values(#[from] opm_core::values::ValuesError),
    /// A resource is no Kubernetes object.
    #[error("#components.{component}.resources.{resource}: {source}")]
    Manifest {
        /// The component.
        component: ComponentName,
        /// The resource's id in the module.
        resource: String,
        /// What is wrong.
        source: Box<ManifestError>,
    },
    /// The module sees another id than the release has: opm and `cue` disagree.
    #[error("`cue` computed the release id {told} instead of {expected}")]
    ReleaseId {
        /// What the module sees.
        told: String,
        /// What it should see.
        expected: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetadataOutput {
    name: String,
    version: Option<String>,
    default_namespace: Option<String>,
    description: Option<String>,
}

#[derive(Deserialize)]
struct ReleaseOutput {
    name: String,
    namespace: String,
    id: String,
}

#[derive(Deserialize)]
struct ModuleOutput<'a> {
    metadata: MetadataOutput,
    release: ReleaseOutput,
    #[serde(borrow)]
    values: &'a RawValue,
    components: OrderedFields<ComponentOutput>,
}

#[derive(Deserialize)]
struct ComponentOutput {
    resources: OrderedFields<serde_json::Value>,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    optional: bool,
}

/// Reads the whole rendering.
pub(super) fn read(stdout: &[u8], path: &str) -> Result<Loaded, OutputError> {
    let output: ModuleOutput<'_> = serde_json::from_slice(stdout)?;
    let module = module(output.metadata, path)?;
    let values = Value::from_json(output.values.get())?;
    let mut components = Vec::new();
    for (name, component) in output.components.0 {
        components.push(read_component(name, component)?);
    }
    let name = ReleaseName::new(output.release.name)?;
    let namespace = NamespaceName::new(output.release.namespace)?;
    let expected = ReleaseId::of(&module.path, &name, &namespace).to_string();
    if output.release.id != expected {
        return Err(OutputError::ReleaseId {
            told: output.release.id,
            expected,
        });
    }
    Ok(Loaded {
        name,
        namespace,
        rendered: Rendered {
            values: values.to_cue(),
            ..Rendered::new(module, components)
        },
        values,
        notes: Vec::new(),
    })
}

/// Reads the metadata alone.
pub(super) fn read_metadata(stdout: &[u8], path: &str) -> Result<Module, OutputError> {
    module(serde_json::from_slice(stdout)?, path)
}

fn module(metadata: MetadataOutput, path: &str) -> Result<Module, OutputError> {
    let version = metadata.version.map(checked_version).transpose();
    Ok(Module {
        path: ModulePath::new(path)?,
        version: version.map_err(|e| OutputError::Version(Box::new(e)))?,
        default_namespace: metadata
            .default_namespace
            .map(NamespaceName::new)
            .transpose()?,
        description: metadata.description,
        ..Module::local(ModuleName::new(metadata.name)?)
    })
}

fn read_component(name: String, given: ComponentOutput) -> Result<Component, OutputError> {
    let name = ComponentName::new(name)?;
    let mut manifests: Vec<Manifest> = Vec::new();
    for (resource, object) in given.resources.0 {
        flatten(object, &mut manifests).map_err(|source| OutputError::Manifest {
            component: name.clone(),
            resource,
            source: Box::new(source),
        })?;
    }
    let after = given
        .after
        .into_iter()
        .map(ComponentName::new)
        .collect::<Result<_, _>>()?;
    Ok(Component {
        after,
        optional: given.optional,
        ..Component::new(name, manifests)
    })
}

/// The fields of an object in the order in which they are written.
struct OrderedFields<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrderedFields<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for FieldsVisitor<T> {
            type Value = OrderedFields<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(OrderedFields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor(PhantomData))
    }
}
