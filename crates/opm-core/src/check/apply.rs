//! How each rendered object is to be sent, or why it must not be.

use super::{
    Adopt, ApplyMethod, ApplyStep, CheckContext, CheckedPhase, Intent, LabelledRelease, LiveObject,
    Observed, Ownership, Refusal, RefusalReason,
};
use crate::api_error::ApiErrorKind;
use crate::identity::Identity;
use crate::ids::ReleaseId;
use crate::observation::Observation;
use crate::plan::{Plan, PlannedObject, TrackedAs};
use crate::record::{KeptWhy, PendingWhy};

/// Decides about everything that is to be applied.
pub(super) fn phases(
    plan: &Plan,
    observed: &Observed,
    checking: &CheckContext<'_>,
    refusals: &mut Vec<Refusal>,
) -> (Vec<CheckedPhase>, Vec<Intent>) {
    let mut intents = Vec::new();
    let mut step = |planned: &PlannedObject| {
        let entry = &planned.object.entry;
        let seen = observed.get(&entry.identity);
        match decide(planned, seen, checking) {
            Ok(method) => {
                if let Some(why) = intent(planned, &method) {
                    intents.push(Intent {
                        entry: entry.clone(),
                        why,
                    });
                }
                Some(ApplyStep {
                    entry: entry.clone(),
                    shared: planned.object.shared,
                    shared_with: sharing(planned, seen, checking),
                    recorded_uid: planned.recorded_uid.clone(),
                    takes_fields: takes_fields(planned, &method, &checking.adopt),
                    method,
                })
            }
            Err(why) => {
                refusals.push(Refusal {
                    object: Some(entry.identity.clone()),
                    why,
                });
                None
            }
        }
    };
    let phases = plan.phases.iter().map(|phase| CheckedPhase {
        components: phase.components.clone(),
        steps: phase
            .steps
            .iter()
            .map(|s| s.objects.iter().filter_map(&mut step).collect())
            .collect(),
    });
    let phases = phases.collect();
    (phases, intents)
}

/// The other releases that share an object already.
fn sharing(
    planned: &PlannedObject,
    seen: Option<&Observation<LiveObject>>,
    checking: &CheckContext<'_>,
) -> Vec<LabelledRelease> {
    let Some(Observation::Present(live)) = seen else {
        return Vec::new();
    };
    match Ownership::of(live, planned.recorded_uid.as_deref(), &checking.release) {
        Ownership::Shared { others, .. } => others,
        _ => Vec::new(),
    }
}

fn decide(
    planned: &PlannedObject,
    seen: Option<&Observation<LiveObject>>,
    checking: &CheckContext<'_>,
) -> Result<ApplyMethod, RefusalReason> {
    match seen {
        Some(Observation::Absent) if completed(planned) => Ok(ApplyMethod::Completed),
        Some(Observation::Absent) if is_record_place(&planned.object.entry.identity) => {
            Err(RefusalReason::Record)
        }
        Some(Observation::Absent) => Ok(ApplyMethod::Create),
        Some(Observation::Present(live)) if live.terminating => Err(RefusalReason::Terminating),
        Some(Observation::Present(live)) => existing(planned, live, checking),
        Some(Observation::Failed(error)) => Err(match error.kind {
            ApiErrorKind::Forbidden => RefusalReason::Forbidden(error.to_string()),
            _ => RefusalReason::Unreachable(error.to_string()),
        }),
        None => Err(RefusalReason::Unreachable("nobody has looked".to_owned())),
    }
}

/// Whether a release's record is here, or will be: what takes its place, no run of that release
/// could read.
pub(super) fn is_record_place(identity: &Identity) -> bool {
    identity.group_kind.is("", "Secret") && ReleaseId::is_record_name(&identity.name)
}

/// A Job that was applied as it is now, would remove itself when done, and is gone.
fn completed(planned: &PlannedObject) -> bool {
    planned.known == TrackedAs::Inventoried
        && planned.same_hash
        && planned.object.expires
        && planned.object.entry.identity.group_kind.is("batch", "Job")
}

fn existing(
    planned: &PlannedObject,
    live: &LiveObject,
    checking: &CheckContext<'_>,
) -> Result<ApplyMethod, RefusalReason> {
    if live.is_record {
        return Err(RefusalReason::Record);
    }
    let uid = live.uid.clone();
    match Ownership::of(live, planned.recorded_uid.as_deref(), &checking.release) {
        Ownership::Mine => Ok(ApplyMethod::Update { uid }),
        Ownership::OtherRelease(from) if checking.take_ownership => {
            Ok(ApplyMethod::Take { uid, from })
        }
        Ownership::OtherRelease(release) => Err(RefusalReason::OtherRelease(release)),
        Ownership::Shared { mine: true, .. } if planned.object.shared => {
            Ok(ApplyMethod::Update { uid })
        }
        Ownership::Shared { mine: false, .. } if planned.object.shared => {
            Ok(ApplyMethod::Join { uid })
        }
        Ownership::Shared { mine: true, others } if others.is_empty() => {
            Ok(ApplyMethod::Update { uid })
        }
        Ownership::Shared { others, .. } => Err(RefusalReason::SharedByOthers(others)),
        Ownership::Unowned => untracked(planned, live, checking),
    }
}

fn untracked(
    planned: &PlannedObject,
    live: &LiveObject,
    checking: &CheckContext<'_>,
) -> Result<ApplyMethod, RefusalReason> {
    let uid = live.uid.clone();
    // Edge case 1: labels are best effort, and a record that knows only RFC-0001 has no uid to
    // compare. Then the inventory is the authority on what the release applied.
    let tracked = planned.known == TrackedAs::Inventoried && planned.recorded_uid.is_none();
    if tracked && live.helm.is_none() {
        return Ok(ApplyMethod::Update { uid });
    }
    let identity = &planned.object.entry.identity;
    if checking.adopt.allows(identity, live) {
        return Ok(ApplyMethod::Adopt { uid });
    }
    match &live.helm {
        Some(release) => Err(RefusalReason::HelmOwned(release.clone())),
        None => Err(RefusalReason::Untracked),
    }
}

/// Whether an object is being taken over, so that the fields of retired tools come with it: for
/// the first time, after an attempt that did not get to its end, or once more because somebody
/// names it.
fn takes_fields(planned: &PlannedObject, method: &ApplyMethod, adopt: &Adopt) -> bool {
    match method {
        ApplyMethod::Adopt { .. } | ApplyMethod::Take { .. } => true,
        ApplyMethod::Update { .. } => match planned.known {
            TrackedAs::Pending(why) if why.was_there_before() => true,
            TrackedAs::Kept(KeptWhy::NotMine) => true,
            _ => adopt.names(&planned.object.entry.identity),
        },
        ApplyMethod::Create | ApplyMethod::Join { .. } | ApplyMethod::Completed => false,
    }
}

/// Why an object has to be written down before it is sent, unless the record has it already: in
/// the inventory, or as kept, where a failed attempt must leave it.
fn intent(planned: &PlannedObject, method: &ApplyMethod) -> Option<PendingWhy> {
    match (planned.known, method) {
        // The inventory has the one that was here before; somebody made this one in its place.
        (TrackedAs::Inventoried, ApplyMethod::Adopt { .. }) => Some(PendingWhy::Adopt),
        (TrackedAs::Inventoried, ApplyMethod::Take { .. }) => Some(PendingWhy::Take),
        (_, ApplyMethod::Completed) | (TrackedAs::Inventoried, _) => None,
        (TrackedAs::Kept(_), ApplyMethod::Create) => Some(PendingWhy::Create),
        (TrackedAs::Kept(_), _) => None,
        // What was there before the first attempt is still there, with our label on it by now.
        (TrackedAs::Pending(why), ApplyMethod::Update { .. } | ApplyMethod::Join { .. }) => {
            Some(why)
        }
        (_, ApplyMethod::Adopt { .. }) => Some(PendingWhy::Adopt),
        (_, ApplyMethod::Take { .. }) => Some(PendingWhy::Take),
        (_, ApplyMethod::Create | ApplyMethod::Join { .. }) => Some(PendingWhy::Create),
        (TrackedAs::No, ApplyMethod::Update { .. }) => Some(PendingWhy::Repair),
    }
}
