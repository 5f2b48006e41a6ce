//! From what a module renders to what a release is about to be: selected, namespaced, labelled,
//! normalised and sorted manifests, with their digest and the change's id.
//!
//! Nothing here looks at a cluster. The digest is over the objects as they are sent, so after
//! normalisation: a Secret's `stringData` counts as the `data` it becomes, and fields that only
//! the server may write are left out.

mod duplicate;
mod error;
mod normal;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::canonical;
use crate::digest::{ManifestDigest, ObjectHash};
use crate::entry::Entry;
use crate::hook::{Hook, HookEvent};
use crate::identity::Identity;
use crate::ids::{ChangeId, ReleaseId};
use crate::labels::{MANAGED_BY, MANAGED_BY_OPM, Owner, is_shared};
use crate::manifest::Manifest;
use crate::name::{ComponentName, NamespaceName, ReleaseName};
use crate::plan::{ComponentOrder, Desired, DesiredObject, apply_order, stages};
use crate::record::{Extra, ModuleRef};
use crate::rendered::{Component, LeftOut, Module, Rendered};
use crate::scope::{Scope, Scopes};
use crate::weight::{digest_order, weight};

pub use duplicate::Duplicate;
pub use error::{CandidateError, CandidateWarning, UnknownName};
pub use selection::Selection;

/// One object of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateObject {
    /// The component that rendered it.
    pub component: ComponentName,
    /// The object as it will be sent.
    pub manifest: Manifest,
    /// What it looks like, in short.
    pub hash: ObjectHash,
}

impl CandidateObject {
    /// The object as an inventory names it; the server assigns the uid.
    pub fn entry(&self) -> Entry {
        let identity = self.manifest.identity().clone();
        let entry = Entry::new(identity, self.manifest.version(), self.component.as_str());
        Entry {
            hash: Some(self.hash.clone()),
            template: self.manifest.template().map(str::to_owned),
            ..entry
        }
    }
}

/// A hook of a candidate: made at its moments, and no part of what the release consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateHook {
    /// The object as it will be sent.
    pub object: CandidateObject,
    /// When it runs, and what becomes of it.
    pub hook: Hook,
}

impl CandidateHook {
    /// Whether it is this object, and runs at this moment.
    pub fn is_at(&self, identity: &Identity, event: HookEvent) -> bool {
        self.object.manifest.identity() == identity && self.hook.events.contains(&event)
    }

    /// The hooks among what a change was made of, as it was applied.
    pub fn restored(rendered: &Rendered) -> Vec<Self> {
        let components = rendered.components.iter();
        let manifests = components.flat_map(|one| one.manifests.iter().map(|m| (&one.name, m)));
        let digested =
            manifests.map(|(name, manifest)| DigestedObject::new(name.clone(), manifest.clone()));
        digested.filter_map(DigestedObject::into_hook).collect()
    }
}

/// A component of the module that a candidate is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateComponent {
    /// Its name.
    pub name: ComponentName,
    /// The components that come before it, whether they are included or not.
    pub after: Vec<ComponentName>,
    /// Whether its objects are part of the candidate.
    pub included: bool,
}

/// What a release is about to be.
#[derive(Clone, PartialEq)]
pub struct Candidate {
    /// The release, as the labels of its objects name it.
    pub owner: Owner,
    /// What the module says about itself.
    pub module: Module,
    /// The resolved values, as canonical CUE text.
    pub values: String,
    /// The paths of those that were given, and are not the module's own.
    pub set: Vec<String>,
    /// The optional components that are part of it, sorted: what a release remembers of its
    /// selection.
    pub selected: Vec<ComponentName>,
    /// All components of the module, in its order: order passes through those that are not
    /// included.
    pub components: Vec<CandidateComponent>,
    /// All objects, in the order of the digest.
    pub objects: Vec<CandidateObject>,
    /// The hooks, in the order of the digest.
    pub hooks: Vec<CandidateHook>,
    /// The digest of objects and hooks.
    pub digest: ManifestDigest,
    /// The id of the change that applying it makes.
    pub change: ChangeId,
    /// What was noticed on the way.
    pub warnings: Vec<CandidateWarning>,
}

impl fmt::Debug for Candidate {
    /// Without the values: what is secret among them must not end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Candidate");
        shown
            .field("owner", &self.owner)
            .field("change", &self.change);
        shown
            .field("objects", &self.objects)
            .finish_non_exhaustive()
    }
}

impl Candidate {
    /// The hook that runs at a moment by making this object.
    pub fn hook_at(&self, identity: &Identity, event: HookEvent) -> Option<&CandidateHook> {
        self.hooks.iter().find(|hook| hook.is_at(identity, event))
    }

    /// The module, as records name it.
    pub fn module_ref(&self) -> ModuleRef {
        ModuleRef {
            path: self.module.path.as_str().to_owned(),
            version: self.module.version.clone(),
            name: self.module.name.as_str().to_owned(),
            origin: self.module.origin.clone(),
            charts: self.module.charts.clone(),
            extra: Extra::default(),
        }
    }

    /// Objects and hooks as the digest is computed over them: canonical bytes, a newline between.
    pub fn canonical_manifests(&self) -> Vec<u8> {
        self.canonical_pieces().flatten().collect()
    }

    /// The same, one object at a time.
    pub fn canonical_pieces(&self) -> impl Iterator<Item = Vec<u8>> {
        let hooks = self.hooks.iter().map(|one| &one.object);
        let all = self.objects.iter().chain(hooks).enumerate();
        all.map(|(place, one)| {
            let bytes = canonical::object_bytes(&one.manifest.object());
            match place {
                0 => bytes,
                _ => [b"\n", bytes.as_slice()].concat(),
            }
        })
    }

    /// Takes what a module rendered for a release of this name and namespace. `scopes` holds
    /// what the cluster said about kinds; those that the render itself defines are added here.
    pub fn new(
        rendered: Rendered,
        release: ReleaseName,
        namespace: NamespaceName,
        selection: &Selection,
        scopes: Scopes,
    ) -> Result<Self, CandidateError> {
        let Rendered {
            module,
            values,
            set,
            components,
            left_out,
        } = rendered;
        let owner = Owner {
            id: ReleaseId::of(&module.path, &release, &namespace),
            module: module.name.clone(),
            namespace,
            release,
        };
        let scopes = scopes.with_rendered(components.iter().flat_map(|c| &c.manifests));
        let mut warnings = Vec::new();
        let chosen = selection::choose(components, selection, &mut warnings)?;
        let concerns = |one: &LeftOut| match &one.component {
            Some(name) => chosen.rendered.iter().any(|c| c.name == *name),
            None => true,
        };
        let left_out = left_out.into_iter().filter(concerns);
        warnings.extend(left_out.map(|one| CandidateWarning::LeftOut(one.what)));

        let prepared = prepare(chosen.rendered, &owner, &scopes, &mut warnings)?;
        let (prepared, hooks): (Vec<_>, Vec<_>) =
            prepared.into_iter().partition(|one| one.hook.is_none());
        let all = prepared.iter().chain(&hooks);
        let digest = ManifestDigest::of_each(all.map(|one| one.bytes.as_slice()));
        let objects: Vec<CandidateObject> = prepared.into_iter().map(|one| one.object).collect();
        let hooks: Vec<CandidateHook> = hooks
            .into_iter()
            .filter_map(DigestedObject::into_hook)
            .collect();
        duplicate::refuse(&objects)?;
        duplicate::refuse_hooks(&objects, &hooks)?;
        warnings.extend(hooks.iter().filter_map(unknown_moment));
        let unmarked: Vec<Identity> = helm_hooks(&objects).cloned().collect();
        if !unmarked.is_empty() {
            warnings.push(CandidateWarning::HelmHooks(unmarked));
        }
        let version = module.version.as_deref();
        let change = ChangeId::of(module.path.as_str(), version, &values, &digest);
        Ok(Self {
            owner,
            module,
            values,
            set,
            selected: chosen.selected,
            components: chosen.components,
            objects,
            hooks,
            digest,
            change,
            warnings,
        })
    }

    /// The same, if it is all that its module asks for.
    pub fn complete(self) -> Result<Self, CandidateError> {
        let left_out = self.warnings.iter().filter_map(|warning| match warning {
            CandidateWarning::LeftOut(what) => Some(what.clone()),
            _ => None,
        });
        let left_out: Vec<String> = left_out.collect();
        match left_out.is_empty() {
            true => Ok(self),
            false => Err(CandidateError::LeftOut(left_out)),
        }
    }

    /// What the release should consist of, as a plan takes it.
    pub fn desired(&self) -> Desired {
        let object = |object: &CandidateObject| DesiredObject {
            entry: object.entry(),
            shared: is_shared(&object.manifest),
            expires: expires(&object.manifest),
        };
        Desired {
            components: self.component_order(),
            objects: self.objects.iter().map(object).collect(),
        }
    }

    /// Which components come after which others, as a change records it.
    pub fn order(&self) -> BTreeMap<String, Vec<String>> {
        let ordered = self.components.iter().filter(|one| !one.after.is_empty());
        ordered
            .map(|one| {
                let after = one.after.iter().map(ToString::to_string).collect();
                (one.name.to_string(), after)
            })
            .collect()
    }

    /// The object of this identity.
    pub fn object(&self, identity: &Identity) -> Option<&CandidateObject> {
        let order = |object: &CandidateObject| digest_order(object.manifest.identity(), identity);
        let found = self.objects.binary_search_by(order);
        self.objects.get(found.ok()?)
    }

    /// The objects in the order in which they are applied.
    fn in_apply_order(&self) -> Vec<&CandidateObject> {
        let stages = stages(&self.component_order()).unwrap_or_default();
        let stage = |object: &CandidateObject| stages.get(object.component.as_str());
        let mut objects: Vec<&CandidateObject> = self.objects.iter().collect();
        objects.sort_by(|a, b| {
            let identities = || apply_order(a.manifest.identity(), b.manifest.identity());
            stage(a).cmp(&stage(b)).then_with(identities)
        });
        objects
    }

    fn component_order(&self) -> Vec<ComponentOrder> {
        let names = |names: &[ComponentName]| names.iter().map(ToString::to_string).collect();
        let component = |component: &CandidateComponent| ComponentOrder {
            name: component.name.to_string(),
            after: names(&component.after),
        };
        self.components.iter().map(component).collect()
    }

    /// The moments at which the candidate has hooks, as a change records them.
    pub fn hook_events(&self) -> Vec<String> {
        let events = self.hooks.iter().flat_map(|hook| &hook.hook.events);
        let events: BTreeSet<HookEvent> = events.copied().collect();
        events.into_iter().map(|event| event.to_string()).collect()
    }

    /// The objects in the order in which they are applied, and then the hooks.
    pub fn all_in_order(&self) -> Vec<&CandidateObject> {
        let mut all = self.in_apply_order();
        all.extend(self.hooks.iter().map(|hook| &hook.object));
        all
    }

    /// All objects as an inventory names them.
    pub fn entries(&self) -> Vec<Entry> {
        self.objects.iter().map(CandidateObject::entry).collect()
    }
}

/// An object with what is needed only until all are sorted and digested.
struct DigestedObject {
    weight: i32,
    bytes: Vec<u8>,
    object: CandidateObject,
    hook: Option<Hook>,
}

impl DigestedObject {
    fn new(component: ComponentName, manifest: Manifest) -> Self {
        let bytes = canonical::object_bytes(&manifest.object());
        let hash = ObjectHash::of_bytes(&bytes);
        let weight = weight(&manifest.identity().group_kind);
        Self {
            weight,
            bytes,
            hook: Hook::of(&manifest),
            object: CandidateObject {
                component,
                manifest: manifest.packed(),
                hash,
            },
        }
    }

    fn into_hook(self) -> Option<CandidateHook> {
        let (object, hook) = (self.object, self.hook?);
        Some(CandidateHook { object, hook })
    }

    fn order(&self) -> (i32, &Identity) {
        (self.weight, self.object.manifest.identity())
    }
}

/// Turns rendered objects into what is sent, in the order of the digest.
fn prepare(
    components: Vec<Component>,
    owner: &Owner,
    scopes: &Scopes,
    warnings: &mut Vec<CandidateWarning>,
) -> Result<Vec<DigestedObject>, CandidateError> {
    let mut prepared = Vec::new();
    let mut unknown = BTreeSet::new();
    let mut managed = Vec::new();
    for component in components {
        for mut manifest in component.manifests {
            let kind = &manifest.identity().group_kind;
            if scopes.of(kind).is_none() && unknown.insert(kind.clone()) {
                warnings.push(CandidateWarning::UnknownScope(kind.clone()));
            }
            place(&mut manifest, &owner.namespace, scopes, warnings);
            normal::normalise(&mut manifest, warnings)?;
            managed.extend(managed_by_other(&manifest));
            owner.inject(&mut manifest, &component.name);
            prepared.push(DigestedObject::new(component.name.clone(), manifest));
        }
    }
    if let Some((object, manager)) = managed.first().cloned() {
        let more = managed.len() - 1;
        warnings.push(CandidateWarning::ManagedBy {
            object,
            manager,
            more,
        });
    }
    prepared.sort_by(|a, b| a.order().cmp(&b.order()));
    Ok(prepared)
}

/// The objects that say of themselves that they are hooks or tests of a Helm chart.
fn helm_hooks(objects: &[CandidateObject]) -> impl Iterator<Item = &Identity> {
    let is_hook = |one: &&CandidateObject| one.manifest.annotation("helm.sh/hook").is_some();
    let hooks = objects.iter().filter(is_hook);
    hooks.map(|one| one.manifest.identity())
}

/// A hook that names a moment which nobody knows.
fn unknown_moment(hook: &CandidateHook) -> Option<CandidateWarning> {
    let word = hook.hook.unknown.first()?;
    Some(CandidateWarning::UnknownHook {
        object: hook.object.manifest.identity().clone(),
        word: word.chars().take(40).collect(),
    })
}

/// What an object says who manages it, if that is not this tool.
fn managed_by_other(manifest: &Manifest) -> Option<(Identity, String)> {
    let manager = manifest.label(MANAGED_BY)?;
    (manager != MANAGED_BY_OPM).then(|| (manifest.identity().clone(), manager.to_owned()))
}

/// Whether an object removes itself when it is done.
fn expires(manifest: &Manifest) -> bool {
    let lifetime = || {
        manifest
            .object()
            .get("spec")?
            .get("ttlSecondsAfterFinished")?
            .as_i64()
    };
    manifest.identity().group_kind.is("batch", "Job") && lifetime().is_some()
}

/// Gives an object the namespace that its kind calls for.
fn place(
    manifest: &mut Manifest,
    release: &NamespaceName,
    scopes: &Scopes,
    warnings: &mut Vec<CandidateWarning>,
) {
    let identity = manifest.identity();
    let scope = scopes.of(&identity.group_kind);
    match (scope.unwrap_or(Scope::Namespaced), &identity.namespace) {
        (Scope::Namespaced, Some(_)) => {}
        (Scope::Namespaced, None) => {
            let home = manifest.home().unwrap_or(release).clone();
            manifest.set_namespace(Some(home.as_str()));
        }
        (Scope::Cluster, None) => manifest.set_namespace(None),
        (Scope::Cluster, Some(_)) => {
            warnings.push(CandidateWarning::NamespaceLeftOut(identity.clone()));
            manifest.set_namespace(None);
        }
    }
}
