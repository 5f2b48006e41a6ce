//! What happens in one history: who does what when, what goes wrong, and who meddles. All of it
//! is drawn from a seed and written down before it begins, so that a part of it can be left out.

mod cast;
mod display;
mod draw;
mod mix;
mod opening;
mod trouble;

use serde::{Deserialize, Serialize};

pub(crate) use trouble::{
    AimedFault, Controller, Fate, Fault, FaultTarget, Meddle, Meddling, Outage, RecordEdit, Weather,
};

/// One history, before it has happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What decides everything that is not written down: delays, ids, jitter.
    pub seed: u64,
    /// From how many bytes on parts of a record move out, if not as it is shipped.
    pub record_limit: Option<usize>,
    /// Who works.
    pub clients: Vec<ClientPlan>,
    /// What others do to the cluster, by time.
    pub meddling: Vec<Meddling>,
    /// What the server does not do for a while.
    pub weather: Vec<Weather>,
}

/// One client: a machine with a clock, and what is done on it one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientPlan {
    /// How many seconds its wall clock is wrong by.
    pub clock_error: i64,
    /// How fast its clocks run: 1000 is right.
    pub clock_rate: u32,
    /// What it does.
    pub steps: Vec<Step>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How long the client rests before it, in milliseconds.
    pub rest: u64,
    /// What is done.
    pub action: Action,
    /// What goes wrong with its requests.
    pub faults: Vec<AimedFault>,
    /// What becomes of the client itself.
    pub fate: Option<Fate>,
}

/// Which of the releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReleaseIndex(pub usize);

impl ReleaseIndex {
    /// The names of all releases.
    pub const NAMES: [&'static str; 2] = ["alpha", "beta"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self.0 % Self::NAMES.len()]
    }
}

/// A command, with its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// Apply a module.
    Apply(ReleaseIndex, ModulePlan, ApplyFlags),
    /// What applying it would do.
    Diff(ReleaseIndex, ModulePlan, ApplyFlags),
    /// Go back.
    Rollback(ReleaseIndex, ApplyFlags),
    /// Delete the release.
    Delete(ReleaseIndex, DeleteFlags),
    /// Delete what was kept: this object, or all.
    Prune(ReleaseIndex, Option<ObjectPlan>),
    /// Stop tracking an object, or the whole release.
    Forget(ReleaseIndex, Option<ObjectPlan>),
    /// Rebuild the record.
    Repair(ReleaseIndex),
    /// Remove the lock of a dead holder.
    Unlock(ReleaseIndex),
    /// Run its tests.
    Test(ReleaseIndex),
    /// How it stands.
    Status(ReleaseIndex),
    /// All releases.
    List,
    /// Its changes and deployments.
    History(ReleaseIndex),
}

impl Action {
    /// The release it is about.
    pub fn release(&self) -> Option<ReleaseIndex> {
        match self {
            Self::Apply(release, ..)
            | Self::Diff(release, ..)
            | Self::Rollback(release, _)
            | Self::Delete(release, _)
            | Self::Prune(release, _)
            | Self::Forget(release, _)
            | Self::Repair(release)
            | Self::Unlock(release)
            | Self::Test(release)
            | Self::Status(release)
            | Self::History(release) => Some(*release),
            Self::List => None,
        }
    }

    /// Whether guarded objects may go by it.
    pub fn lifts_guards(&self) -> bool {
        match self {
            Self::Apply(_, _, flags) | Self::Rollback(_, flags) => flags.lift_guards,
            Self::Delete(_, flags) => flags.lift_guards,
            Self::Prune(..) => true,
            _ => false,
        }
    }

    /// Whether it says that the object at a path may be deleted to be created anew.
    pub(crate) fn recreates(&self, path: &str) -> bool {
        match self {
            Self::Apply(_, module, flags) if flags.recreate => {
                module.objects.iter().any(|object| object.path() == path)
            }
            _ => false,
        }
    }

    /// Whether it may take over what is not the release's.
    pub fn takes_over(&self) -> bool {
        match self {
            Self::Apply(_, _, flags) | Self::Rollback(_, flags) => {
                flags.adopt || flags.adopt_named || flags.adopt_helm || flags.take
            }
            _ => false,
        }
    }

    /// Whether it may change the cluster or a record.
    pub fn writes(&self) -> bool {
        match self {
            Self::Diff(..) | Self::Status(_) | Self::List | Self::History(_) => false,
            Self::Apply(..)
            | Self::Rollback(..)
            | Self::Delete(..)
            | Self::Prune(..)
            | Self::Forget(..)
            | Self::Repair(_)
            | Self::Unlock(_)
            | Self::Test(_) => true,
        }
    }
}

/// The options of an apply that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApplyFlags {
    /// Go back when it fails.
    pub atomic: bool,
    /// Leave what is stale.
    pub no_prune: bool,
    /// Take over untracked objects.
    pub adopt: bool,
    /// Take over the module's first object by its name, whoever owns it.
    pub adopt_named: bool,
    /// Take over other releases' objects.
    pub take: bool,
    /// Let guarded kinds go.
    pub lift_guards: bool,
    /// Recreate what cannot be changed.
    pub recreate: bool,
    /// Wait until ready.
    pub wait: bool,
    /// Prune when the new objects are ready.
    pub prune_after_ready: bool,
    /// Keep no manifests.
    pub no_record: bool,
    /// Wait for another holder of the lock.
    pub patient: bool,
    /// Keep few changes.
    pub short_history: bool,
    /// Let the server pretend first.
    pub preflight: bool,
    /// Wait for objects that are being deleted.
    pub wait_for_deletion: bool,
    /// As a controller applies it, on behalf of a resource.
    #[serde(default)]
    pub managed: bool,
    /// Take over what the Helm release of this history has brought.
    #[serde(default)]
    pub adopt_helm: bool,
    /// Go back so many changes, instead of to where a rollback goes by itself.
    #[serde(default)]
    pub back: Option<u8>,
}

/// The options of a delete that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeleteFlags {
    /// Keep changes and log.
    pub keep_history: bool,
    /// Let guarded kinds go.
    pub lift_guards: bool,
    /// Wait for another holder of the lock.
    pub patient: bool,
    /// Only the second component.
    pub component: bool,
    /// Wait until everything is gone.
    pub wait: bool,
    /// Run no hooks.
    #[serde(default)]
    pub no_hooks: bool,
}

/// The kinds that modules render.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// Plain data.
    ConfigMap,
    /// Data to be hidden.
    Secret,
    /// Becomes ready after a while.
    Deployment,
    /// Guarded.
    Claim,
    /// Outside of namespaces.
    ClusterRole,
    /// Comes to an end. Only hooks are of this kind.
    Job,
    /// Guarded, and outside of namespaces.
    Volume,
    /// Guarded, and takes along what is inside.
    Namespace,
    /// Guarded, and takes along all objects of the kind that it defines.
    Definition,
    /// Of the kind that the definition defines.
    Widget,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 10] = [
        Self::ConfigMap,
        Self::Secret,
        Self::Deployment,
        Self::Claim,
        Self::ClusterRole,
        Self::Job,
        Self::Volume,
        Self::Namespace,
        Self::Definition,
        Self::Widget,
    ];

    /// Whether its objects are in no namespace.
    pub(crate) fn is_cluster_wide(self) -> bool {
        matches!(
            self,
            Self::ClusterRole | Self::Volume | Self::Namespace | Self::Definition
        )
    }

    /// Whether its objects go only if somebody says so.
    pub(crate) fn is_guarded(self) -> bool {
        matches!(
            self,
            Self::Claim | Self::Volume | Self::Namespace | Self::Definition
        )
    }
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HookPlan {
    /// Before objects are applied.
    Before,
    /// Once they are ready.
    After,
    /// Before and after a delete.
    Leaving,
    /// Once they are ready, and then it goes.
    Passing,
    /// Once they are ready, and it fails, and goes.
    Failing,
    /// When somebody asks for it.
    Test,
}

/// The name that stands for the second release's record.
pub(crate) const RECORD_OF_BETA: u8 = 201;

/// One object of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectPlan {
    /// Its kind.
    pub kind: Kind,
    /// Its name, of few, so that things collide.
    pub name: u8,
    /// Whether it lives in the second namespace.
    pub elsewhere: bool,
    /// Whether it lives in the namespace that modules may bring along.
    #[serde(default)]
    pub housed: bool,
    /// What it says.
    pub value: u8,
    /// `opmodel.dev/prune: "false"`.
    pub stays: bool,
    /// `opmodel.dev/shared: "true"`.
    pub shared: bool,
    /// Whether it is a hook.
    #[serde(default)]
    pub hook: Option<HookPlan>,
}

/// A module: its objects in one or two components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModulePlan {
    /// The objects; every second one is in the second component.
    pub objects: Vec<ObjectPlan>,
    /// The second component comes after the first.
    pub in_order: bool,
    /// Whether the second component is optional.
    pub optional: Optional,
    /// How many bytes of values come with it.
    pub bulk: usize,
}

/// Whether a component is optional, and what the apply says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Optional {
    /// It always comes along.
    #[default]
    No,
    /// It is, and the apply says nothing.
    Unsaid,
    /// It is, and the apply selects it.
    Selected,
    /// It is, and the apply leaves it out.
    LeftOut,
}

impl Plan {
    /// How much happens in it: the smaller, the easier to follow.
    pub fn size(&self) -> usize {
        let steps = self.clients.iter().flat_map(|client| &client.steps);
        let steps: usize = steps
            .map(|step| {
                let objects = match &step.action {
                    Action::Apply(_, module, _) | Action::Diff(_, module, _) => {
                        module.objects.len()
                    }
                    _ => 0,
                };
                2 + objects + step.faults.len() + usize::from(step.fate.is_some())
            })
            .sum();
        self.clients.len() + steps + 2 * (self.meddling.len() + self.weather.len())
    }
}

impl ObjectPlan {
    /// What tells it from other objects.
    pub fn place(&self) -> (Kind, u8, Option<&'static str>) {
        // There is one definition.
        let name = match self.kind {
            Kind::Definition => 0,
            _ => self.name,
        };
        (self.kind, name, self.namespace())
    }
}
