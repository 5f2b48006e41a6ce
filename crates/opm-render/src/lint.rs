//! What is allowed in a module and likely to hurt: warnings of `opm mod vet`.
//!
//! Found by rendering, not by guessing: a name depends on the release, or on a value, if it
//! changes when that changes. So a warning is always true; a dependency that a changed rendering
//! does not reach (because the change is refused by the schema) is not found.

use std::collections::BTreeSet;
use std::fmt;

use opm_core::identity::Identity;
use opm_core::labels;
use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, NamespaceName, ReleaseName};
use opm_core::rendered::Rendered;
use opm_core::scope::{Scope, Scopes};
use opm_core::values::{Number, Value};

use crate::context::RenderContext;
use crate::error::RenderError;
use crate::load::load;
use crate::values::Values;
use crate::{Inputs, Loaded, ModuleRef};

/// The most renderings with another value that one vet takes.
const MAX_TRIES: usize = 20;

/// Something that is allowed and likely to hurt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lint {
    /// Every release of the module would claim the same cluster-scoped object.
    ClusterScoped(Identity),
    /// Changing a value abandons a volume's data.
    MovingClaim {
        /// The claim, or the StatefulSet whose claims it is about.
        identity: Identity,
        /// The value.
        value: String,
    },
    /// What a chart makes up anew at each rendering.
    Generated {
        /// The object.
        identity: Identity,
        /// Where in it.
        fields: Vec<String>,
    },
    /// A chart that may look at the cluster, where there is none to look at.
    NoLookup(ComponentName),
    /// A component without objects.
    Empty(ComponentName),
    /// An unquoted word that is a boolean for `kubectl` and a text in YAML 1.2.
    OldBoolean {
        /// File, line and column.
        place: String,
        /// The word.
        word: String,
        /// What it was read as.
        value: bool,
        /// Whether it is a key.
        is_key: bool,
    },
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClusterScoped(identity) => write!(
                f,
                "{identity} is cluster-scoped, so only one release of this module can \
                 own it; annotate it with {}: \"true\" if releases share it",
                labels::SHARED
            ),
            Self::MovingClaim { identity, value } => write!(
                f,
                "the name of {identity} changes with the value {value}: changing that value \
                 starts with an empty volume and leaves the old one behind"
            ),
            Self::Generated { identity, fields } => write!(
                f,
                "{identity} has what its chart makes up anew at each rendering: {}; an apply \
                 keeps what was applied before, unless --rotate is given",
                fields.join(", ")
            ),
            Self::NoLookup(component) => write!(
                f,
                "component {component}: its chart may look at the cluster, and finds nothing \
                 here, where none is asked"
            ),
            Self::Empty(component) => write!(f, "component {component} has no objects"),
            Self::OldBoolean {
                place,
                word,
                value,
                is_key,
            } => {
                let key = if *is_key { "the key " } else { "" };
                write!(
                    f,
                    "{place}: {key}`{word}` without quotes is read as {value}, as kubectl does; \
                     put it in quotes if a text is meant"
                )
            }
        }
    }
}

/// Renders with other inputs: none if these do not render, an error if the caller gives up.
type Rerender<'a> = dyn Fn(&Inputs) -> Result<Option<Loaded>, RenderError> + 'a;

/// Looks for what is likely to hurt in a module that renders.
pub(crate) fn lint(
    module: &ModuleRef,
    inputs: &Inputs,
    loaded: &Loaded,
    context: &RenderContext<'_>,
) -> Result<Vec<Lint>, RenderError> {
    let rerender = |inputs: &Inputs| match load(module, inputs, context) {
        Ok(loaded) => Ok(Some(loaded)),
        Err(error) if error.is_interrupted() => Err(error),
        Err(_) => Ok(None),
    };
    let mut lints = empty_components(&loaded.rendered);
    lints.extend(loaded.notes.iter().cloned());
    lints.extend(generated(&loaded.rendered));
    lints.extend(cluster_scoped(loaded, inputs, &rerender)?);
    lints.extend(moving_claims(loaded, &rerender)?);
    Ok(lints)
}

fn empty_components(rendered: &Rendered) -> Vec<Lint> {
    let empty = rendered
        .components
        .iter()
        .filter(|c| c.manifests.is_empty());
    empty.map(|c| Lint::Empty(c.name.clone())).collect()
}

fn generated(rendered: &Rendered) -> impl Iterator<Item = Lint> {
    let made_up = manifests(rendered).filter(|one| !one.generated().is_empty());
    made_up.map(|one| Lint::Generated {
        identity: one.identity().clone(),
        fields: one.generated().iter().map(|leaf| field(leaf)).collect(),
    })
}

/// A JSON pointer as people write a field.
fn field(pointer: &str) -> String {
    let names = pointer.split('/').skip(1);
    let names = names.map(|name| name.replace("~1", "/").replace("~0", "~"));
    names.collect::<Vec<_>>().join(".")
}

fn manifests(rendered: &Rendered) -> impl Iterator<Item = &Manifest> {
    rendered.components.iter().flat_map(|c| &c.manifests)
}

/// Cluster-scoped objects that are not shared and have the same name for any release.
fn cluster_scoped(
    loaded: &Loaded,
    inputs: &Inputs,
    rerender: &Rerender<'_>,
) -> Result<Vec<Lint>, RenderError> {
    let scopes = Scopes::default().with_rendered(manifests(&loaded.rendered));
    let claimed: Vec<&Identity> = manifests(&loaded.rendered)
        .filter(|m| scopes.of(&m.identity().group_kind) == Some(Scope::Cluster))
        .filter(|m| !labels::is_shared(m))
        .map(Manifest::identity)
        .collect();
    let (Ok(name), Ok(namespace)) = (ReleaseName::new(OTHER), NamespaceName::new(OTHER)) else {
        return Ok(Vec::new());
    };
    if claimed.is_empty() {
        return Ok(Vec::new());
    }
    let other = Inputs {
        name: Some(name),
        namespace: Some(namespace),
        ..inputs.clone()
    };
    let other = rerender(&other)?.map(|other| other.rendered);
    let others = other.as_ref().map(|other| {
        let identities = manifests(other).map(Manifest::identity);
        identities.collect::<BTreeSet<_>>()
    });
    let same = |identity: &Identity| others.as_ref().is_none_or(|known| known.contains(identity));
    let claimed = claimed.into_iter().filter(|identity| same(identity));
    Ok(claimed
        .map(|identity| Lint::ClusterScoped(identity.clone()))
        .collect())
}

/// A release that nobody has.
const OTHER: &str = "opm-vet-another-release";

/// Claims whose names change with a value.
fn moving_claims(loaded: &Loaded, rerender: &Rerender<'_>) -> Result<Vec<Lint>, RenderError> {
    let claims = claims(&loaded.rendered);
    let mut lints = Vec::new();
    let suspects = leaves(&loaded.values).into_iter().filter(|leaf| {
        let occurs = |claim: &&Identity| claim.name.contains(&leaf.text);
        !leaf.text.is_empty() && claims.iter().any(|claim| occurs(&claim))
    });
    for leaf in suspects.take(MAX_TRIES) {
        let mut changed = loaded.values.clone();
        if !leaf.change(&mut changed) {
            continue;
        }
        let values = Values::recorded(&changed.to_cue());
        let inputs = Inputs {
            name: Some(loaded.name.clone()),
            namespace: Some(loaded.namespace.clone()),
            values,
            capabilities: None,
            lookup: None,
        };
        let Some(other) = rerender(&inputs)? else {
            continue;
        };
        let still = self::claims(&other.rendered);
        let moved = claims.iter().filter(|claim| !still.contains(*claim));
        lints.extend(moved.map(|claim| Lint::MovingClaim {
            identity: (*claim).clone(),
            value: leaf.path.join("."),
        }));
    }
    Ok(lints)
}

/// The objects whose name decides which volume is used: claims, and StatefulSets that make them.
fn claims(rendered: &Rendered) -> BTreeSet<Identity> {
    let decides = |manifest: &&Manifest| {
        let kind = &manifest.identity().group_kind;
        let makes_claims = || {
            let object = manifest.object();
            let spec = object.get("spec");
            let templates = spec.and_then(|spec| spec.get("volumeClaimTemplates"));
            templates
                .and_then(|t| t.as_array())
                .is_some_and(|t| !t.is_empty())
        };
        kind.is("", "PersistentVolumeClaim") || (kind.is("apps", "StatefulSet") && makes_claims())
    };
    manifests(rendered)
        .filter(decides)
        .map(|m| m.identity().clone())
        .collect()
}

/// A text or number somewhere in the values.
struct Leaf {
    path: Vec<String>,
    text: String,
}

impl Leaf {
    /// Gives the leaf another value of its type.
    fn change(&self, values: &mut Value) -> bool {
        let mut place = values;
        for step in &self.path {
            let next = match place {
                Value::Struct(fields) => fields.get_mut(step),
                Value::List(items) => step.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
                _ => None,
            };
            let Some(next) = next else { return false };
            place = next;
        }
        match place {
            Value::String(text) => text.push('x'),
            Value::Number(number) => match number.as_str().parse::<i64>().ok() {
                Some(old) => match Number::parse(&old.wrapping_add(1).to_string()) {
                    Ok(new) => *number = new,
                    Err(_) => return false,
                },
                None => return false,
            },
            _ => return false,
        }
        true
    }
}

fn leaves(values: &Value) -> Vec<Leaf> {
    fn walk(value: &Value, path: &mut Vec<String>, found: &mut Vec<Leaf>) {
        let mut step = |name: String, value: &Value| {
            path.push(name);
            walk(value, path, found);
            path.pop();
        };
        match value {
            Value::Struct(fields) => fields.iter().for_each(|(k, v)| step(k.clone(), v)),
            Value::List(items) => items
                .iter()
                .enumerate()
                .for_each(|(i, v)| step(i.to_string(), v)),
            Value::String(text) => found.push(Leaf {
                path: path.clone(),
                text: text.clone(),
            }),
            Value::Number(number) => {
                found.push(Leaf {
                    path: path.clone(),
                    text: number.as_str().to_owned(),
                });
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    let mut found = Vec::new();
    walk(values, &mut Vec::new(), &mut found);
    found
}
