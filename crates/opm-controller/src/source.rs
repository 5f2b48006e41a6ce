//! The module and the values of a resource: read as whoever the release acts as, and rendered.

use std::collections::BTreeMap;

use opm_core::digest::ObjectHash;
use opm_core::identity::{GroupKind, Identity};
use opm_engine::ports::{ApiError, ApiErrorKind, Backend, Detail};
use opm_render::{GivenManifests, Inputs, Loaded, ModuleFiles, ModuleRef, RenderError, Values};
use serde_json::Value;

use crate::context::Context;
use crate::reason::Reason;
use crate::request::{ReleaseKey, reference_namespace};
use crate::resource::{ModuleRelease, ModuleReleaseSpec, ValuesKind};
use crate::verdict::{NextAttempt, Progress, Readiness, Verdict};

/// The file that makes a module of files.
const MODULE_FILE: &str = "module.yaml";

/// How many ConfigMaps and Secrets a resource's values may come from, and how much text all that it
/// refers to may hold. One object holds no more than a megabyte.
const MOST_SOURCES: usize = 100;
const MOST_TEXT: usize = 4 << 20;

/// A ConfigMap or Secret.
fn identity(kind: ValuesKind, namespace: &str, name: &str) -> Identity {
    let kind = match kind {
        ValuesKind::ConfigMap => "ConfigMap",
        ValuesKind::Secret => "Secret",
    };
    Identity::new(GroupKind::new("", kind), Some(namespace), name)
}

/// Every ConfigMap and Secret that a resource refers to.
pub(crate) fn references(resource: &ModuleRelease) -> Vec<Identity> {
    let own = ReleaseKey::of(resource).namespace;
    let module = &resource.spec.module;
    let namespace = |given: &Option<String>| given.clone().unwrap_or_else(|| own.clone());
    let config_map = module.config_map.iter();
    let config_map = config_map
        .map(|one| identity(ValuesKind::ConfigMap, &namespace(&one.namespace), &one.name));
    let secret = module.secret.iter();
    let secret =
        secret.map(|one| identity(ValuesKind::Secret, &namespace(&one.namespace), &one.name));
    let values = resource.spec.values_from.iter();
    let values = values.map(|one| identity(one.kind, &own, &one.name));
    config_map.chain(secret).chain(values).collect()
}

/// The module of a resource, rendered with its values.
pub(crate) async fn load(
    resource: &ModuleRelease,
    client: &dyn Backend,
    context: &Context,
) -> Result<Loaded, Verdict> {
    let key = ReleaseKey::of(resource);
    let (name, namespace) = key
        .names()
        .map_err(|error| Verdict::stalled(Reason::InvalidSpec, error.to_string()))?;
    let mut sources = Sources {
        client,
        read: BTreeMap::new(),
        left: MOST_TEXT,
    };
    let module = module(&resource.spec, &key, &mut sources, context).await?;
    let values = values(&resource.spec, &key, &mut sources).await?;
    let inputs = Inputs {
        name: Some(name),
        namespace: Some(namespace),
        values,
        // Charts look at no cluster: they would see it as the controller.
        ..Inputs::default()
    };
    let _turn = context.renders.acquire().await;
    let files = match &module {
        SourceModule::Files(files) => {
            let written = ModuleFiles::write(files, &context.render_settings);
            Some(written.map_err(|error| unrendered(&error, None))?)
        }
        SourceModule::Reference(_) | SourceModule::Manifests(_) => None,
    };
    let module = match (&files, module) {
        (Some(files), _) => files.module(),
        (None, SourceModule::Manifests(given)) => ModuleRef::Manifests(given),
        (None, SourceModule::Reference(reference)) => reference,
        (None, SourceModule::Files(_)) => return Err(Verdict::stalled(Reason::RenderFailed, "")),
    };
    let loaded = context.renderer.load(&module, inputs, &context.cancel);
    let mut loaded = loaded
        .await
        .map_err(|error| unrendered(&error, files.as_ref()))?;
    // Where a module without a path comes from: this resource, wherever it keeps its files.
    let origin = format!("{}/{}", key.namespace, key.name);
    let origin = ObjectHash::of_bytes(origin.as_bytes());
    let module = &mut loaded.rendered.module;
    if module.path.as_str().starts_with("local/") {
        module.origin = origin.as_str().get(..8).map(str::to_owned);
    }
    Ok(loaded)
}

/// A module, as far as it has been read.
enum SourceModule {
    Reference(ModuleRef),
    Manifests(GivenManifests),
    Files(BTreeMap<String, String>),
}

async fn module(
    spec: &ModuleReleaseSpec,
    key: &ReleaseKey,
    sources: &mut Sources<'_>,
    context: &Context,
) -> Result<SourceModule, Verdict> {
    let module = &spec.module;
    let (kind, object) = match (&module.reference, &module.config_map, &module.secret) {
        (Some(reference), None, None) => return registry(reference),
        (None, Some(object), None) => (ValuesKind::ConfigMap, object),
        (None, None, Some(object)) => (ValuesKind::Secret, object),
        _ => {
            let why = "spec.module: exactly one of reference, configMap and secret has to be given";
            return Err(Verdict::stalled(Reason::InvalidSpec, why));
        }
    };
    let namespace = object.namespace.as_deref();
    let namespace = reference_namespace(namespace, &key.namespace, context.cross_namespace);
    let namespace = namespace.map_err(|why| {
        Verdict::stalled(
            Reason::CrossNamespaceReference,
            format!("spec.module: {why}"),
        )
    })?;
    let identity = identity(kind, namespace, &object.name);
    let files = sources.texts(&identity).await?;
    let Some(files) = files.clone() else {
        return Err(missing(&identity));
    };
    if files.contains_key(MODULE_FILE) {
        return Ok(SourceModule::Files(files));
    }
    let endings = [".yaml", ".yml", ".json"];
    let manifests = files
        .into_iter()
        .filter(|(name, _)| endings.iter().any(|ending| name.ends_with(ending)));
    let manifests: Vec<(String, String)> = manifests.collect();
    if manifests.is_empty() {
        let why =
            format!("{identity} holds no module.yaml and no manifests (.yaml, .yml or .json)");
        return Err(Verdict::stalled(Reason::SourceUnavailable, why));
    }
    Ok(SourceModule::Manifests(GivenManifests::of_texts(manifests)))
}

/// Only what is in a registry: a reference never means a directory of the controller.
fn registry(reference: &str) -> Result<SourceModule, Verdict> {
    match reference.split_once('@') {
        Some((path, version)) if !version.is_empty() && path.contains('/') => {
            Ok(SourceModule::Reference(ModuleRef::Registry {
                path: path.to_owned(),
                version: version.to_owned(),
            }))
        }
        _ => Err(Verdict::stalled(
            Reason::InvalidSpec,
            format!(
                "spec.module.reference: {reference:?} does not look like example.com/web@v1.2.3"
            ),
        )),
    }
}

async fn values(
    spec: &ModuleReleaseSpec,
    key: &ReleaseKey,
    sources: &mut Sources<'_>,
) -> Result<Values, Verdict> {
    if spec.values_from.len() > MOST_SOURCES {
        let why = format!("spec.valuesFrom: more than {MOST_SOURCES} are not read");
        return Err(Verdict::stalled(Reason::InvalidSpec, why));
    }
    let mut layers = Vec::new();
    for source in &spec.values_from {
        let identity = identity(source.kind, &key.namespace, &source.name);
        let text = match sources.texts(&identity).await? {
            None if source.optional => continue,
            None => return Err(missing(&identity)),
            Some(texts) => texts.get(&source.key).cloned(),
        };
        match text {
            Some(text) => {
                sources.count(text.len())?;
                let shown = format!("{} of {identity}", source.key);
                layers.push((shown, source.key.clone(), text));
            }
            None if source.optional => {}
            None => {
                let why = format!("{identity} has no key {:?}", source.key);
                return Err(Verdict::stalled(Reason::SourceUnavailable, why));
            }
        }
    }
    if let Some(values) = &spec.values {
        let text = Value::Object(values.clone()).to_string();
        layers.push(("spec.values".to_owned(), "values.json".to_owned(), text));
    }
    Values::of_texts(layers)
        .map_err(|error| Verdict::stalled(Reason::RenderFailed, error.to_string()))
}

/// What a resource refers to: each object is read once, and no more of it all is held than any
/// release needs, since whoever may create a resource chooses what it refers to.
struct Sources<'a> {
    client: &'a dyn Backend,
    read: BTreeMap<Identity, Option<BTreeMap<String, String>>>,
    left: usize,
}

impl Sources<'_> {
    /// The texts in a ConfigMap or Secret, by key; none if it is not there.
    async fn texts(
        &mut self,
        identity: &Identity,
    ) -> Result<&Option<BTreeMap<String, String>>, Verdict> {
        if !self.read.contains_key(identity) {
            let found = texts(self.client, identity).await?;
            let size = found.iter().flatten().map(|(_, text)| text.len()).sum();
            self.count(size)?;
            self.read.insert(identity.clone(), found);
        }
        Ok(self.read.get(identity).unwrap_or(&None))
    }

    /// Counts text that is held.
    fn count(&mut self, bytes: usize) -> Result<(), Verdict> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let most = MOST_TEXT >> 20;
            let why = format!("what the resource refers to holds more than {most} MiB of text");
            Verdict::stalled(Reason::InvalidSpec, why)
        })?;
        Ok(())
    }
}

/// The texts in a ConfigMap or Secret, by key; none if it is not there.
async fn texts(
    client: &dyn Backend,
    identity: &Identity,
) -> Result<Option<BTreeMap<String, String>>, Verdict> {
    let namespace = identity.namespace.as_deref().unwrap_or_default();
    if identity.kind() == "Secret" {
        let found = client.get_secret(namespace, &identity.name).await;
        let found = found.map_err(|error| unread(identity, &error))?;
        let texts = |(name, bytes): (String, Vec<u8>)| Some((name, String::from_utf8(bytes).ok()?));
        return Ok(found.map(|secret| secret.content.data.into_iter().filter_map(texts).collect()));
    }
    let seen = client
        .look(std::slice::from_ref(identity), Detail::Whole)
        .await;
    let found = match seen.into_iter().next() {
        Some((_, observation)) => observation.found(),
        None => Ok(None),
    };
    let found = found.map_err(|error| unread(identity, &error))?;
    Ok(found.map(|object| {
        let data = object.get("data").and_then(Value::as_object);
        let texts = data.into_iter().flatten();
        texts
            .filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
            .collect()
    }))
}

fn missing(identity: &Identity) -> Verdict {
    Verdict::stalled(
        Reason::SourceUnavailable,
        format!("{identity} does not exist"),
    )
}

fn unread(identity: &Identity, error: &ApiError) -> Verdict {
    let message = format!("cannot read {identity}: {error}");
    match error.kind {
        ApiErrorKind::Forbidden => Verdict::stalled(Reason::NotPermitted, message),
        _ => Verdict {
            readiness: Readiness::AsBefore,
            progress: Progress::Reconciling,
            again: NextAttempt::AfterFailure,
            ..Verdict::stalled(Reason::Unreachable, message)
        },
    }
}

fn unrendered(error: &RenderError, files: Option<&ModuleFiles>) -> Verdict {
    let message = error.to_string();
    let message = match files {
        Some(files) => files.without_directory(&message),
        None => message,
    };
    match error.is_interrupted() {
        true => Verdict {
            readiness: Readiness::AsBefore,
            ..Verdict::waiting(Reason::Interrupted, message)
        },
        false => Verdict::stalled(Reason::RenderFailed, message),
    }
}
