//! How each hook is to be made, or why it must not be.

use super::apply::is_record_place;
use super::{
    CheckContext, Intent, LiveObject, Observed, Ownership, PruneMethod, PruneStep, Refusal,
    RefusalReason,
};
use crate::api_error::ApiErrorKind;
use crate::entry::Entry;
use crate::hook::{DeletePolicy, HookEvent};
use crate::observation::Observation;
use crate::plan::{Guard, Plan, PlannedHook, StaleOrigin, TrackedAs};
use crate::record::PendingWhy;

/// How a hook's object is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookMethod {
    /// Nothing is there.
    Create,
    /// An earlier run left this one, which goes first.
    Replace(HookObject),
    /// An earlier run left this one, and it may hold data: it is applied as it is.
    Keep(HookObject),
}

/// The live object of a hook, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookObject {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion: whoever takes it over meanwhile changes it.
    pub resource_version: String,
}

/// One hook to run.
#[derive(Debug, Clone, PartialEq)]
pub struct HookStep {
    /// Which object.
    pub entry: Entry,
    /// The moment.
    pub event: HookEvent,
    /// What becomes of it.
    pub delete: DeletePolicy,
    /// How it is made.
    pub method: HookMethod,
}

impl HookStep {
    /// How an object of this hook goes: by the table that decides about every other.
    pub fn removal(&self, object: &HookObject) -> PruneStep {
        PruneStep {
            entry: self.entry.clone(),
            origin: StaleOrigin::Pending {
                why: PendingWhy::Create,
                late: false,
            },
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
            shared: false,
            method: PruneMethod::Delete,
            aggregated: false,
        }
    }
}

/// Decides about every hook, and what has to be written down before any of them is made.
pub(super) fn steps(
    plan: &Plan,
    observed: &Observed,
    checking: &CheckContext<'_>,
    refusals: &mut Vec<Refusal>,
    intents: &mut Vec<Intent>,
) -> Vec<HookStep> {
    let mut steps = Vec::new();
    for hook in &plan.hooks {
        let identity = &hook.entry.identity;
        match decide(hook, observed.get(identity), checking) {
            Ok(method) => {
                let is_new = !intents.iter().any(|one| one.entry.identity == *identity);
                if is_new && hook.known != TrackedAs::Inventoried {
                    intents.push(Intent {
                        entry: hook.entry.clone(),
                        why: PendingWhy::Create,
                    });
                }
                steps.push(HookStep {
                    entry: hook.entry.clone(),
                    event: hook.event,
                    delete: hook.delete,
                    method,
                });
            }
            Err(why) => refusals.push(Refusal {
                object: Some(identity.clone()),
                why,
            }),
        }
    }
    steps
}

fn decide(
    hook: &PlannedHook,
    seen: Option<&Observation<LiveObject>>,
    checking: &CheckContext<'_>,
) -> Result<HookMethod, RefusalReason> {
    let live = match seen {
        Some(Observation::Absent) if is_record_place(&hook.entry.identity) => {
            return Err(RefusalReason::Record);
        }
        Some(Observation::Absent) => return Ok(HookMethod::Create),
        Some(Observation::Present(live)) => live,
        Some(Observation::Failed(error)) => {
            return Err(match error.kind {
                ApiErrorKind::Forbidden => RefusalReason::Forbidden(error.to_string()),
                _ => RefusalReason::Unreachable(error.to_string()),
            });
        }
        None => return Err(RefusalReason::Unreachable("nobody has looked".to_owned())),
    };
    if live.is_record {
        return Err(RefusalReason::Record);
    }
    let object = HookObject {
        uid: live.uid.clone(),
        resource_version: live.resource_version.clone(),
    };
    match Ownership::of(live, hook.entry.uid.as_deref(), &checking.release) {
        Ownership::Mine if Guard::of(&hook.entry.identity.group_kind).is_some() => {
            Ok(HookMethod::Keep(object))
        }
        Ownership::Mine => Ok(HookMethod::Replace(object)),
        Ownership::OtherRelease(release) => Err(RefusalReason::OtherRelease(release)),
        Ownership::Shared { others, .. } => Err(RefusalReason::SharedByOthers(others)),
        Ownership::Unowned => match &live.helm {
            Some(release) => Err(RefusalReason::HelmOwned(release.clone())),
            None => Err(RefusalReason::Untracked),
        },
    }
}
