//! What may be done, decided from a plan and from what is really there.
//!
//! A check looks at every object of a plan and answers with a checked plan, or with every reason
//! to refuse, all at once, before anything is touched. Only a checked plan can be begun.

mod adopt;
mod apply;
mod disown;
mod hooks;
mod live;
mod ownership;
mod recreate;
mod refusal;
mod repeated;
mod stale;
mod trial;
mod unchanged;

use std::collections::HashMap;

use serde::Serialize;

pub use adopt::{Adopt, AdoptSelector, HelmRelease};
pub use disown::{Disown, RemovalDecision, decide_removal, disown, former_manager};
pub use hooks::{HookMethod, HookObject, HookStep};
pub use live::{LiveObject, Observed};
pub use ownership::{LabelledRelease, Ownership, counts_as_discovered};
pub use recreate::{RecreateRefusal, may_recreate, must_end_first};
pub use refusal::{Refusal, RefusalReason, Refusals, still_holds};
pub use repeated::repeated_items;
pub use trial::TrialFinding;
pub use unchanged::{ObjectBefore, is_unchanged};

use crate::entry::Entry;
use crate::identity::Identity;
use crate::ids::ReleaseId;
use crate::plan::{Occupants, Plan, PlanOptions, Purpose, StaleOrigin, is_custom, rank};
use crate::record::{KeptObject, KeptWhy, PendingWhy, RecordedEntry};

/// What a check has to know beside the plan and the live objects.
#[derive(Debug, Clone)]
pub struct CheckContext<'a> {
    /// The release that acts.
    pub release: ReleaseId,
    /// Which untracked objects may be taken over.
    pub adopt: Adopt,
    /// Whether objects of other releases may be taken over.
    pub take_ownership: bool,
    /// What stale Namespaces and CustomResourceDefinitions hold, where the plan asked for it.
    pub occupants: &'a HashMap<Identity, Occupants>,
}

/// How an object is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyMethod {
    /// It is believed absent, and must be: send it so that it fails if it exists.
    Create,
    /// It is this release's: send it for the object with this uid.
    Update {
        /// The uid.
        uid: String,
    },
    /// It is nobody's, and becomes this release's.
    Adopt {
        /// The uid.
        uid: String,
    },
    /// It is another release's, and becomes this one's.
    Take {
        /// The uid.
        uid: String,
        /// Whose it was.
        from: LabelledRelease,
    },
    /// It is shared, other releases have it already, and this one joins them.
    Join {
        /// The uid.
        uid: String,
    },
    /// A Job that ran to its end and removed itself: nothing is sent.
    Completed,
}

impl ApplyMethod {
    /// The uid that the object must have; none for one that must not be there, or is not sent.
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Update { uid }
            | Self::Adopt { uid }
            | Self::Take { uid, .. }
            | Self::Join { uid } => Some(uid),
            Self::Create | Self::Completed => None,
        }
    }
}

/// One object to apply, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplyStep {
    /// Which object, with the hash of what is sent.
    pub entry: Entry,
    /// Whether it is shared between releases.
    pub shared: bool,
    /// The other releases that have it already.
    pub shared_with: Vec<LabelledRelease>,
    /// The uid that the record has for it.
    pub recorded_uid: Option<String>,
    /// Whether fields that tools of before have set become this release's with it.
    pub takes_fields: bool,
    /// How to send it.
    pub method: ApplyMethod,
}

impl ApplyStep {
    /// Whether the live object may be deleted to be created anew: only if it is this release's
    /// by the table, as with every other delete.
    pub fn may_replace(&self, live: &LiveObject, release: &ReleaseId) -> bool {
        matches!(
            Ownership::of(live, self.recorded_uid.as_deref(), release),
            Ownership::Mine | Ownership::Shared { mine: true, .. }
        )
    }

    /// Whether fields that others manage are brought to what is rendered. So it is with what this
    /// release has for itself, and with what is adopted by name; where other releases or people
    /// have a part in an object, a conflict has to be settled first.
    pub fn forces(&self, adopt: &Adopt) -> bool {
        match self.method {
            ApplyMethod::Update { .. } => self.shared_with.is_empty(),
            ApplyMethod::Adopt { .. } => matches!(adopt, Adopt::Named(_)),
            ApplyMethod::Create
            | ApplyMethod::Take { .. }
            | ApplyMethod::Join { .. }
            | ApplyMethod::Completed => false,
        }
    }
}

/// Components that are applied together; the next phase waits until this one is ready.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPhase {
    /// The names of the components that have objects here.
    pub components: Vec<String>,
    /// The objects by rank; those of one step may go at the same time.
    pub steps: Vec<Vec<ApplyStep>>,
}

/// How a stale object goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PruneMethod {
    /// It is deleted.
    Delete,
    /// Other releases share it: only this release's label is taken off.
    LeaveShared,
    /// It is being deleted already, and has to be gone before what comes after it goes.
    AwaitGone,
}

/// One object to prune, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneStep {
    /// Which object.
    pub entry: Entry,
    /// Where it is known from.
    pub origin: StaleOrigin,
    /// The uid it must have.
    pub uid: String,
    /// The resourceVersion that was looked at: whoever takes it over meanwhile changes it.
    pub resource_version: String,
    /// Whether releases share it, so that others could join or leave meanwhile.
    pub shared: bool,
    /// How it goes.
    pub method: PruneMethod,
    /// Whether it is an aggregated ClusterRole: it goes before the roles that it is made of, and
    /// its controller may bring it back once.
    pub aggregated: bool,
}

impl PruneStep {
    /// Whether it is a custom resource: a controller may have to clean up after it.
    pub fn is_custom(&self) -> bool {
        is_custom(&self.entry.identity.group_kind)
    }

    fn rank(&self) -> (i32, bool) {
        (rank(&self.entry.identity.group_kind), self.aggregated)
    }
}

/// The steps that may go at the same time, group by group.
pub fn prune_groups(steps: &[PruneStep]) -> impl Iterator<Item = &[PruneStep]> {
    steps.chunk_by(|a, b| a.rank() == b.rank())
}

/// A stale object that is left standing.
#[derive(Debug, Clone, PartialEq)]
pub struct KeepDecision {
    /// Which object.
    pub entry: Entry,
    /// Why.
    pub why: KeptWhy,
    /// More about it, in words.
    pub reason: String,
    /// Whether it carries this release's labels: what does not is none of a deleted release's
    /// business.
    pub mine: bool,
}

/// A stale object about which nothing could be found out: it stays pending.
#[derive(Debug, Clone, PartialEq)]
pub struct Undetermined {
    /// Which object.
    pub entry: Entry,
    /// Where it is known from.
    pub origin: StaleOrigin,
    /// What stood in the way, in words.
    pub reason: String,
}

/// A stale object that is not there any more.
#[derive(Debug, Clone, PartialEq)]
pub struct GoneObject {
    /// Which object.
    pub entry: Entry,
    /// Where it is known from.
    pub origin: StaleOrigin,
}

/// An object that belongs to somebody else now: the release lets go of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferredObject {
    /// Which object.
    #[serde(flatten)]
    pub entry: Entry,
    /// Whose it is.
    pub to: LabelledRelease,
}

/// An object that may exist from now on, to be written down before anything is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// Which object.
    pub entry: Entry,
    /// Why it will exist.
    pub why: PendingWhy,
}

/// What happens to stale objects, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StaleDecisions {
    /// What is pruned, in order.
    pub prune: Vec<PruneStep>,
    /// What is left standing.
    pub keep: Vec<KeepDecision>,
    /// What could not be looked at.
    pub undetermined: Vec<Undetermined>,
    /// What is not there any more.
    pub gone: Vec<GoneObject>,
    /// What belongs to somebody else now.
    pub transferred: Vec<TransferredObject>,
}

/// A plan that passed all checks. Only [`check`] makes one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CheckedPlan {
    /// What it is for.
    pub purpose: Purpose,
    /// What the run was told about pruning.
    pub options: PlanOptions,
    /// What is applied, in order.
    pub phases: Vec<CheckedPhase>,
    /// The hooks that run, by moment and then in order.
    pub hooks: Vec<HookStep>,
    /// What happens to stale objects.
    pub stale: StaleDecisions,
    /// What earlier runs left standing and is still there.
    pub carried: Vec<KeptObject>,
    /// What stays in the inventory without being applied.
    pub remaining: Vec<RecordedEntry>,
    /// What has to be written down before anything is sent.
    pub intents: Vec<Intent>,
}

impl StaleDecisions {
    /// Custom resources about which nothing could be found out: whether their controllers still
    /// have work to do is not known.
    pub fn undetermined_custom(&self) -> impl Iterator<Item = &Undetermined> {
        let custom = |one: &&Undetermined| is_custom(&one.entry.identity.group_kind);
        self.undetermined.iter().filter(custom)
    }
}

impl CheckedPlan {
    /// The objects to apply, in order.
    pub fn applies(&self) -> impl Iterator<Item = &ApplyStep> {
        self.phases.iter().flat_map(|phase| &phase.steps).flatten()
    }
}

/// A plan without the objects that are refused: to be shown, never to be carried out. There is no way to begin it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Preview {
    /// What would be applied, in order, without the objects that are refused.
    pub phases: Vec<CheckedPhase>,
    /// The hooks that would run.
    pub hooks: Vec<HookStep>,
    /// What would happen to stale objects.
    pub stale: StaleDecisions,
    /// What earlier runs left standing and is still there.
    pub carried: Vec<KeptObject>,
    /// Every reason to refuse the plan.
    pub refusals: Vec<Refusal>,
}

impl Preview {
    /// The objects that would be applied, in order.
    pub fn applies(&self) -> impl Iterator<Item = &ApplyStep> {
        self.phases.iter().flat_map(|phase| &phase.steps).flatten()
    }
}

/// Checks a plan against what is there.
pub fn check(
    mut plan: Plan,
    observed: &Observed,
    checking: &CheckContext<'_>,
) -> Result<CheckedPlan, Refusals> {
    let (mut preview, intents) = judge(&plan, observed, checking);
    if !preview.refusals.is_empty() {
        return Err(Refusals(preview.refusals));
    }
    let lost = stale::remaining(&mut plan, observed, checking);
    preview.stale.transferred.extend(lost);
    let Plan {
        purpose,
        options,
        remaining,
        ..
    } = plan;
    let checked = CheckedPlan {
        purpose,
        options,
        phases: preview.phases,
        hooks: preview.hooks,
        stale: preview.stale,
        carried: preview.carried,
        remaining,
        intents,
    };
    Ok(checked)
}

/// The same look at a plan, for showing all of it: what is refused and what is not.
pub fn preview(plan: &Plan, observed: &Observed, checking: &CheckContext<'_>) -> Preview {
    judge(plan, observed, checking).0
}

fn judge(plan: &Plan, observed: &Observed, checking: &CheckContext<'_>) -> (Preview, Vec<Intent>) {
    let mut refusals = Vec::new();
    if plan.empties() && !plan.options.allow_empty && !plan.options.no_prune {
        refusals.push(Refusal {
            object: None,
            why: RefusalReason::EmptyRender(plan.stale.len()),
        });
    }
    if plan.replaces_all() {
        refusals.push(Refusal {
            object: None,
            why: RefusalReason::AnotherModule(plan.replaced.clone()),
        });
    }
    let (phases, mut intents) = apply::phases(plan, observed, checking, &mut refusals);
    let hooks = hooks::steps(plan, observed, checking, &mut refusals, &mut intents);
    let stale = stale::decide(plan, observed, checking, &mut refusals);
    let (carried, let_go) = stale::carried(plan, observed, checking);
    let stale = StaleDecisions {
        transferred: stale.transferred.into_iter().chain(let_go).collect(),
        ..stale
    };
    let preview = Preview {
        phases,
        hooks,
        stale,
        carried,
        refusals,
    };
    (preview, intents)
}
