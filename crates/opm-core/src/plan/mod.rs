//! What should happen, decided from what is rendered and what is recorded.
//!
//! A plan knows nothing of the live cluster. It says in which order objects are applied, which
//! objects are stale, and in which order those go. What may really be done to each of them is
//! for the [`check`](crate::check) to say, which turns a plan into a checked one.

mod claims;
mod components;
mod delete;
mod guard;
mod hooks;
mod order;
mod replaced;
mod stale;

use std::collections::{HashMap, HashSet};

use thiserror::Error;

pub use claims::{Claim, ContestedClaim, claims, contested, runs_pods};
pub use components::{ComponentOrder, stages};
pub use delete::{plan_delete, plan_delete_component, plan_prune_kept};
pub use guard::{
    Guard, GuardFlags, Occupant, Occupants, SilentGroup, ignored_in_namespace, lives_in,
};
pub use hooks::PlannedHook;
pub use order::{apply_order, is_custom, rank};

use crate::entry::Entry;
use crate::identity::Identity;
use crate::record::{KeptObject, KeptWhy, PendingWhy, Record, RecordedEntry};

/// One object that a module renders, with what a plan has to know about it.
#[derive(Debug, Clone, PartialEq)]
pub struct DesiredObject {
    /// Which object, with the hash of what will be sent.
    pub entry: Entry,
    /// Whether it is marked as shared between releases.
    pub shared: bool,
    /// Whether it removes itself when it is done: a Job with `ttlSecondsAfterFinished`.
    pub expires: bool,
}

impl DesiredObject {
    /// An object with nothing special about it.
    pub fn new(entry: Entry) -> Self {
        Self {
            entry,
            shared: false,
            expires: false,
        }
    }
}

/// Everything that a release should consist of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Desired {
    /// All components of the module, selected or not, with what they come after.
    pub components: Vec<ComponentOrder>,
    /// The objects of the selected ones.
    pub objects: Vec<DesiredObject>,
}

/// What a run was told about pruning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanOptions {
    /// Leave stale objects standing, as kept.
    pub no_prune: bool,
    /// An empty render may prune everything.
    pub allow_empty: bool,
    /// What looks like another module may take the place of everything.
    pub replace_all: bool,
    /// Which guarded kinds may go.
    pub guards: GuardFlags,
}

/// Why there can be no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A component comes after one that the module does not have.
    #[error("component {component} comes after {after}, and there is no such component")]
    UnknownComponent {
        /// The component.
        component: String,
        /// The one it names.
        after: String,
    },
    /// Components wait for one another in a circle.
    #[error("components wait for one another in a circle: {}", path.join(" after "))]
    Cycle {
        /// The circle; the first and the last are the same.
        path: Vec<String>,
    },
    /// Two components have the same name.
    #[error("there are two components named {0}")]
    DuplicateComponent(String),
    /// An object belongs to a component that the module does not have.
    #[error("{object} belongs to component {component}, and there is no such component")]
    StrayObject {
        /// The object.
        object: Box<Identity>,
        /// The component it names.
        component: String,
    },
    /// The same object is rendered twice.
    #[error("{object} is rendered more than once (components {first} and {second})")]
    DuplicateObject {
        /// The object.
        object: Box<Identity>,
        /// The component that has it first.
        first: String,
        /// The component that has it again.
        second: String,
    },
    /// The release has no such component.
    #[error("the release has no component named {0}")]
    NoSuchComponent(String),
    /// Parts of the record are still in record Secrets; a plan without them would forget objects.
    #[error("the record has not been read completely")]
    IncompleteRecord,
}

/// What the record knows of an object that is to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackedAs {
    /// It is in the current inventory.
    Inventoried,
    /// It is pending, for this reason.
    Pending(PendingWhy),
    /// It was left standing by an earlier run, for this reason.
    Kept(KeptWhy),
    /// Nothing: it is new to the release.
    No,
}

/// One object that is to be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedObject {
    /// What is rendered.
    pub object: DesiredObject,
    /// What the record knows of it.
    pub known: TrackedAs,
    /// The uid that the record has for it.
    pub recorded_uid: Option<String>,
    /// Whether what was applied last is what would be applied now.
    pub same_hash: bool,
}

/// Objects that may be applied at the same time: they share a rank.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanStep {
    /// The objects, in order.
    pub objects: Vec<PlannedObject>,
}

/// Components that are applied together; the next phase waits until this one is ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// The names of the components that have objects here.
    pub components: Vec<String>,
    /// The objects, by rank.
    pub steps: Vec<PlanStep>,
}

/// Where a stale object is known from.
#[derive(Debug, Clone, PartialEq)]
pub enum StaleOrigin {
    /// The current inventory.
    Inventory,
    /// The pending objects.
    Pending {
        /// Why it was pending.
        why: PendingWhy,
        /// Whether it was pending under a lock that was taken over.
        late: bool,
    },
    /// The kept objects, left for this reason: only deletes and prunes by name reach for those.
    Kept(KeptWhy),
}

/// An object that the release has, or may have, and that should go.
#[derive(Debug, Clone, PartialEq)]
pub struct StaleObject {
    /// Which object.
    pub entry: Entry,
    /// Where it is known from.
    pub origin: StaleOrigin,
}

/// What a plan is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// To make a release what is rendered.
    Apply,
    /// To remove a release.
    Delete,
    /// To remove one component of a release.
    DeleteComponent(String),
    /// To remove kept objects that were named. Being named, they need no flag.
    PruneKept,
}

/// What should happen, before anybody has looked at the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What it is for.
    pub purpose: Purpose,
    /// What the run was told about pruning.
    pub options: PlanOptions,
    /// What is applied, in order.
    pub phases: Vec<Phase>,
    /// The hooks that run, by moment and then in order.
    pub hooks: Vec<PlannedHook>,
    /// What should go, in the order in which it goes.
    pub stale: Vec<StaleObject>,
    /// What earlier runs left standing and this one leaves alone.
    pub carried: Vec<KeptObject>,
    /// What stays in the inventory without being applied: all other components, when one goes.
    pub remaining: Vec<RecordedEntry>,
    /// What would go for what looks like another module; see [`Plan::of_module`].
    pub replaced: Vec<Identity>,
}

impl Plan {
    /// The objects to apply, in order.
    pub fn applies(&self) -> impl Iterator<Item = &PlannedObject> {
        self.phases
            .iter()
            .flat_map(|phase| &phase.steps)
            .flat_map(|step| &step.objects)
    }

    /// Every object that the check has to see. What stays in the inventory is looked at only
    /// where something goes: a run that touches no object needs no right to see any.
    pub fn to_observe(&self) -> impl Iterator<Item = &Entry> {
        let applies = self.applies().map(|planned| &planned.object.entry);
        let stale = self.stale.iter().map(|stale| &stale.entry);
        let remaining = self.remaining.iter().map(|recorded| &recorded.entry);
        applies
            .chain(stale)
            .chain(self.carried.iter().map(|kept| &kept.entry))
            .chain(self.hooks.iter().map(|hook| &hook.entry))
            .chain(remaining.filter(|_| !self.stale.is_empty()))
    }

    /// Stale Namespaces and CustomResourceDefinitions whose flag was given: the check has to know
    /// what they hold.
    pub fn to_look_into(&self) -> impl Iterator<Item = &Identity> {
        let stale = self.stale.iter().map(|stale| &stale.entry.identity);
        stale.filter(|identity| {
            let guard = Guard::of(&identity.group_kind).filter(|guard| guard.holds_others());
            guard.is_some_and(|guard| self.lifts(guard)) && !self.options.no_prune
        })
    }

    /// Whether this plan may delete objects of a guarded kind.
    pub fn lifts(&self, guard: Guard) -> bool {
        self.purpose == Purpose::PruneKept || self.options.guards.allow(guard)
    }

    /// Whether an empty render would remove everything.
    pub fn empties(&self) -> bool {
        self.purpose == Purpose::Apply
            && self.phases.is_empty()
            && self
                .stale
                .iter()
                .any(|stale| stale.origin == StaleOrigin::Inventory)
    }
}

/// Plans an apply.
pub fn plan(
    desired: &Desired,
    stored: Option<&Record>,
    options: PlanOptions,
) -> Result<Plan, PlanError> {
    if stored.is_some_and(Record::needs_bodies) {
        return Err(PlanError::IncompleteRecord);
    }
    let stages = stages(&desired.components)?;
    let current = current(desired)?;
    let known = stale::known(stored);
    let phases = phases(desired, &stages, &known)?;
    let mut stale = stale::stale(stored, &current);
    order::sort(&mut stale, stored, &stages);
    Ok(Plan {
        purpose: Purpose::Apply,
        options,
        phases,
        hooks: Vec::new(),
        stale,
        carried: stale::carried(stored, &current),
        remaining: Vec::new(),
        replaced: Vec::new(),
    })
}

/// What is rendered, by identity: neither component nor API version takes part (step 5b).
type Current<'a> = HashMap<&'a Identity, &'a DesiredObject>;

fn current(desired: &Desired) -> Result<Current<'_>, PlanError> {
    let mut current = HashMap::with_capacity(desired.objects.len());
    for object in &desired.objects {
        let entry = &object.entry;
        if let Some(first) = current.insert(&entry.identity, object) {
            return Err(PlanError::DuplicateObject {
                object: Box::new(entry.identity.clone()),
                first: first.entry.component.clone(),
                second: entry.component.clone(),
            });
        }
    }
    Ok(current)
}

/// The objects by stage of their component, then by rank, group, kind, namespace and name.
fn phases(
    desired: &Desired,
    stages: &HashMap<String, usize>,
    known: &stale::KnownObjects<'_>,
) -> Result<Vec<Phase>, PlanError> {
    let mut objects = Vec::with_capacity(desired.objects.len());
    for object in &desired.objects {
        let entry = &object.entry;
        let stage = stages
            .get(&entry.component)
            .ok_or_else(|| PlanError::StrayObject {
                object: Box::new(entry.identity.clone()),
                component: entry.component.clone(),
            })?;
        objects.push((*stage, object));
    }
    objects.sort_by(|(a, x), (b, y)| {
        a.cmp(b)
            .then_with(|| apply_order(&x.entry.identity, &y.entry.identity))
    });
    let phase = |objects: &[(usize, &DesiredObject)]| Phase {
        components: names(objects),
        steps: objects
            .chunk_by(|(_, x), (_, y)| rank_of(x) == rank_of(y))
            .map(|step| PlanStep {
                objects: step
                    .iter()
                    .map(|(_, object)| stale::planned(object, known))
                    .collect(),
            })
            .collect(),
    };
    Ok(objects
        .chunk_by(|(a, _), (b, _)| a == b)
        .map(phase)
        .collect())
}

fn rank_of(object: &DesiredObject) -> i32 {
    rank(&object.entry.identity.group_kind)
}

/// The components of a phase, each once, in order of their first object.
fn names(objects: &[(usize, &DesiredObject)]) -> Vec<String> {
    let mut seen = HashSet::new();
    let components = objects.iter().map(|(_, object)| &object.entry.component);
    components
        .filter(|name| seen.insert(name.as_str()))
        .cloned()
        .collect()
}
