//! From a module, wherever it is, to what it renders or says about itself. Blocking; the entry
//! points that choose a thread are [`crate::load`] and [`crate::ModuleRenderer`].

use std::collections::BTreeMap;
use std::path::Path;

use opm_core::name::{ComponentName, ModulePath, NamespaceName, ReleaseName};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::values::Value;

use crate::chart::ChartRelease;
use crate::component_source::ComponentSource;
use crate::context::RenderContext;
use crate::error::RenderError;
use crate::manifests::ManifestReader;
use crate::module_dir::ModuleDir;
use crate::part::SourceToRender;
use crate::source::{Format, ModuleRef};
use crate::substitution::{Replaced, Substitution};
use crate::undeclared::{self, Found, GivenManifests};
use crate::values::{self, OwnValues, Schema};
use crate::yaml;
use crate::yaml_module::{
    self, FilledValues, ModuleDefinition, ModuleFileError, SchemaFile, SourceDefinition,
    ValuesDefinition,
};
use crate::zarf;
use crate::{Inputs, Loaded, components, cue, origin};

/// Renders a module.
pub(crate) fn load(
    module: &ModuleRef,
    inputs: &Inputs,
    context: &RenderContext<'_>,
) -> Result<Loaded, RenderError> {
    let loaded = match module {
        ModuleRef::Directory(path) => load_directory(path, inputs, context)?,
        ModuleRef::Registry { path, version } => {
            let cached = cue::resolve(path, version, context)?;
            let mut loaded = load_directory(&cached.directory, inputs, context)?;
            loaded.rendered.module.version = Some(cached.version);
            loaded
        }
        ModuleRef::Manifests(given) => load_given(given, inputs)?,
    };
    components::check(&loaded.rendered.components)?;
    Ok(loaded)
}

/// Whether a module has charts.
pub(crate) fn has_charts(module: &ModuleRef) -> bool {
    let ModuleRef::Directory(path) = module else {
        return false;
    };
    let Ok(dir) = ModuleDir::open(path) else {
        return false;
    };
    match Format::of(&dir) {
        Ok(Format::Undeclared(found)) => return found == Found::Chart,
        Ok(Format::Zarf) => return zarf::has_charts(&dir),
        _ => {}
    }
    has_component(&dir, |source| matches!(source, ComponentSource::Chart(_)))
}

/// Whether a module has charts that look at the cluster.
pub(crate) fn has_lookups(module: &ModuleRef) -> bool {
    let ModuleRef::Directory(path) = module else {
        return false;
    };
    let looks = |source: &ComponentSource| match source {
        ComponentSource::Chart(chart) => chart.lookup,
        _ => false,
    };
    ModuleDir::open(path).is_ok_and(|dir| has_component(&dir, looks))
}

fn has_component(dir: &ModuleDir, is_one: impl Fn(&ComponentSource) -> bool) -> bool {
    let definition = read_module_file(dir, yaml_module::parse);
    definition.is_ok_and(|module| {
        let mut sources = module.components.iter().flat_map(|one| &one.sources);
        sources.any(|one| is_one(&one.source))
    })
}

/// Reads what a module says about itself.
pub(crate) fn describe(
    module: &ModuleRef,
    name: Option<&ReleaseName>,
    context: &RenderContext<'_>,
) -> Result<Module, RenderError> {
    match module {
        ModuleRef::Directory(path) => {
            let dir = ModuleDir::open(path)?;
            match Format::of(&dir)? {
                Format::Yaml => read_module_file(&dir, yaml_module::parse_metadata),
                Format::Cue => Ok(cue::describe(&dir, context)?),
                Format::Zarf => zarf::describe(&dir),
                Format::Undeclared(_) => undeclared::describe(&dir, name),
            }
        }
        ModuleRef::Manifests(given) => given.describe(name),
        ModuleRef::Registry { path, version } => {
            let cached = cue::resolve(path, version, context)?;
            let dir = ModuleDir::open(&cached.directory)?;
            let mut module = cue::describe(&dir, context)?;
            module.version = Some(cached.version);
            Ok(module)
        }
    }
}

/// Name and namespace of a module's release: what is given, else what the module would like.
///
/// [`load`](crate::load) decides alike, so this finds the release that it rendered for.
pub fn release(
    module: &Module,
    name: Option<&ReleaseName>,
    namespace: Option<&NamespaceName>,
) -> Result<(ReleaseName, NamespaceName), RenderError> {
    let name = match name {
        Some(name) => name.clone(),
        None => ReleaseName::new(module.name.as_str())?,
    };
    let namespace = match namespace.or(module.default_namespace.as_ref()) {
        Some(namespace) => namespace.clone(),
        None => NamespaceName::new("default")?,
    };
    Ok((name, namespace))
}

fn load_directory(
    path: &Path,
    inputs: &Inputs,
    context: &RenderContext<'_>,
) -> Result<Loaded, RenderError> {
    let dir = ModuleDir::open(path)?;
    match definition(dir.clone(), inputs)? {
        Some((dir, definition)) => load_yaml(&dir, definition, inputs, context),
        None => Ok(cue::load(&dir, inputs, context)?),
    }
}

/// What a module is made of, by its file or by what was found without one, and the directory that
/// its files may be in. None for CUE, where evaluating it tells.
pub(crate) fn definition(
    dir: ModuleDir,
    inputs: &Inputs,
) -> Result<Option<(ModuleDir, ModuleDefinition)>, RenderError> {
    let defined = match Format::of(&dir)? {
        Format::Cue => return Ok(None),
        Format::Zarf => zarf::definition(&dir, inputs)?,
        Format::Yaml => {
            let definition = read_module_file(&dir, yaml_module::parse)?;
            (dir, definition)
        }
        Format::Undeclared(found) => {
            let module = undeclared::describe(&dir, inputs.name.as_ref())?;
            let definition = undeclared::definition(module, &found)?;
            (dir.within_repository(), definition)
        }
    };
    Ok(Some(defined))
}

/// Nothing in plain manifests could use values.
fn refuse_values(module: &impl ToString, inputs: &Inputs) -> Result<(), RenderError> {
    match inputs.values.is_empty() {
        true => Ok(()),
        false => Err(RenderError::NoValues {
            path: module.to_string(),
        }),
    }
}

fn load_yaml(
    dir: &ModuleDir,
    definition: ModuleDefinition,
    inputs: &Inputs,
    context: &RenderContext<'_>,
) -> Result<Loaded, RenderError> {
    let (values, replaced) = replaced(dir, &definition, inputs)?;
    let ModuleDefinition {
        mut module,
        components,
        filled,
        left_out,
        ..
    } = definition;
    if module.path == ModulePath::local(&module.name) && filled.is_none() {
        module.origin = origin::of(dir.root());
    }
    let (name, namespace) = release(&module, inputs.name.as_ref(), inputs.namespace.as_ref())?;
    let capabilities = inputs.capabilities.clone().unwrap_or_default();
    let chart_release = ChartRelease {
        name: &name,
        namespace: &namespace,
        capabilities: &capabilities,
        lookup: inputs.lookup.as_ref(),
        markers: filled.as_ref().map(|filled| &filled.markers),
    };
    let mut reader = ManifestReader::new(replaced);
    let (mut rendered, mut charts) = (Vec::new(), BTreeMap::new());
    for component in components {
        let mut manifests = Vec::new();
        for SourceDefinition { source, home } in &component.sources {
            let part = SourceToRender {
                dir,
                module: &module,
                component: &component.name,
                release: ChartRelease {
                    namespace: home.as_ref().unwrap_or(&namespace),
                    ..chart_release
                },
            };
            let part = part.render(source, &mut reader, context)?;
            if let Some((chart, fetched)) = part.fetched {
                let name = match component.sources.len() {
                    1 => component.name.to_string(),
                    _ => format!("{}/{chart}", component.name),
                };
                charts.insert(name, fetched);
            }
            manifests.extend(part.manifests.into_iter().map(|object| match home {
                Some(home) => object.at_home_in(home.clone()),
                None => object,
            }));
        }
        rendered.push(Component {
            name: component.name,
            after: component.after,
            optional: component.optional,
            by_default: component.by_default,
            manifests,
        });
    }
    module.charts = charts;
    let mut loaded = loaded(module, values, rendered, reader, inputs)?;
    loaded.rendered.left_out = left_out;
    Ok(loaded)
}

/// The values of a module's release, and what is replaced in its manifests.
pub(crate) fn replaced(
    dir: &ModuleDir,
    definition: &ModuleDefinition,
    inputs: &Inputs,
) -> Result<(Value, Option<Replaced>), RenderError> {
    if let Some(FilledValues { values, markers }) = &definition.filled {
        let replaced = Replaced::Markers(markers.clone());
        return Ok((values.clone(), Some(replaced)));
    }
    let (module, declared) = (&definition.module, &definition.values);
    let values = resolved(dir, declared, inputs)?;
    let (name, namespace) = release(module, inputs.name.as_ref(), inputs.namespace.as_ref())?;
    let with = || Substitution::new(&values, module, &name, &namespace);
    let replaced = declared.substitute.then(|| Replaced::Expressions(with()));
    Ok((values, replaced))
}

/// The values of a module: none at all, if it takes none.
fn resolved(
    dir: &ModuleDir,
    declared: &ValuesDefinition,
    inputs: &Inputs,
) -> Result<Value, RenderError> {
    let Some(own) = &declared.own else {
        refuse_values(&dir.given().display(), inputs)?;
        return Ok(Value::Struct(BTreeMap::new()));
    };
    let place = dir.shown(Path::new(yaml_module::FILE));
    let (at, schema) = match &declared.schema {
        None => (place.clone(), None),
        Some(SchemaFile::Inline(schema)) => (place.clone(), Some(schema.clone().into())),
        Some(SchemaFile::File(file)) => {
            let path = Path::new(file);
            let (text, shown) = (dir.read(path)?, dir.shown(path));
            (shown.clone(), Some(schema_in(&text, &shown)?))
        }
    };
    let schema = schema.as_ref().map(Schema::new).transpose();
    let schema = schema.map_err(|why| RenderError::Schema { place: at, why })?;
    let own = OwnValues {
        value: own,
        place: &place,
    };
    Ok(values::resolve(own, &inputs.values, schema.as_ref())?)
}

/// The schema in a file: JSON, or YAML.
fn schema_in(text: &str, shown: &str) -> Result<serde_json::Value, RenderError> {
    yaml::document(text).map_err(|error| RenderError::Schema {
        place: match error.position() {
            Some(at) => format!("{shown}:{}:{}", at.line, at.column),
            None => shown.to_owned(),
        },
        why: error.to_string(),
    })
}

/// Manifests that were given, as the one component of a module that no file declares.
fn load_given(given: &GivenManifests, inputs: &Inputs) -> Result<Loaded, RenderError> {
    refuse_values(given, inputs)?;
    let module = given.describe(inputs.name.as_ref())?;
    let mut reader = ManifestReader::new(None);
    let texts = given.files.iter();
    let manifests = reader
        .texts(texts.map(|file| Ok((file.shown.clone(), file.text.clone()))))
        .map_err(|source| RenderError::Given {
            source: Box::new(source),
        })?;
    let component = Component::new(ComponentName::new(undeclared::COMPONENT)?, manifests);
    let values = Value::Struct(BTreeMap::new());
    loaded(module, values, vec![component], reader, inputs)
}

fn loaded(
    module: Module,
    values: Value,
    components: Vec<Component>,
    reader: ManifestReader,
    inputs: &Inputs,
) -> Result<Loaded, RenderError> {
    let (name, namespace) = release(&module, inputs.name.as_ref(), inputs.namespace.as_ref())?;
    Ok(Loaded {
        name,
        namespace,
        rendered: Rendered {
            values: values.to_cue(),
            set: inputs.values.set(),
            ..Rendered::new(module, components)
        },
        values,
        notes: reader.words(),
    })
}

/// Reads module.yaml with one of the parsers, and says where in it an error is.
fn read_module_file<T>(
    dir: &ModuleDir,
    parse: impl FnOnce(&str) -> Result<T, ModuleFileError>,
) -> Result<T, RenderError> {
    let file = Path::new(yaml_module::FILE);
    let text = dir.read(file)?;
    parse(&text).map_err(|source| {
        let file = dir.shown(file);
        let culprit = || yaml::locate::scalar(&text, source.culprit()?);
        let place = match source.position().or_else(culprit) {
            Some(at) => format!("{file}:{}:{}", at.line, at.column),
            None => file,
        };
        RenderError::ModuleFile {
            place,
            source: Box::new(source),
        }
    })
}
