//! How each rendered object is to be sent, or why it must not be.

use super::{
    ApplyStep, CheckedPhase, Checking, How, Intent, Live, Observed, Ownership, Refusal, Release,
    Seen, Why,
};
use crate::plan::{Known, Plan, Planned};
use crate::record::PendingWhy;

/// Decides about everything that is to be applied.
pub(super) fn phases(
    plan: &Plan,
    observed: &Observed,
    checking: &Checking<'_>,
    refusals: &mut Vec<Refusal>,
) -> (Vec<CheckedPhase>, Vec<Intent>) {
    let mut intents = Vec::new();
    let mut step = |planned: &Planned| {
        let entry = &planned.object.entry;
        let seen = observed.get(&entry.identity);
        match decide(planned, seen, checking) {
            Ok(how) => {
                if let Some(why) = intent(planned, &how) {
                    intents.push(Intent {
                        entry: entry.clone(),
                        why,
                    });
                }
                Some(ApplyStep {
                    entry: entry.clone(),
                    shared: planned.object.shared,
                    shared_with: sharing(planned, seen, checking),
                    same: planned.same_hash,
                    how,
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
fn sharing(planned: &Planned, seen: Option<&Seen>, checking: &Checking<'_>) -> Vec<Release> {
    let Some(Seen::Present(live)) = seen else {
        return Vec::new();
    };
    match Ownership::of(live, planned.recorded_uid.as_deref(), &checking.release) {
        Ownership::Shared { others, .. } => others,
        _ => Vec::new(),
    }
}

fn decide(planned: &Planned, seen: Option<&Seen>, checking: &Checking<'_>) -> Result<How, Why> {
    match seen {
        Some(Seen::Absent) if completed(planned) => Ok(How::Completed),
        Some(Seen::Absent) => Ok(How::Create),
        Some(Seen::Present(live)) if live.terminating => Err(Why::Terminating),
        Some(Seen::Present(live)) => existing(planned, live, checking),
        Some(Seen::Forbidden(cause)) => Err(Why::Forbidden(cause.clone())),
        Some(Seen::Unreachable(cause)) => Err(Why::Unreachable(cause.clone())),
        None => Err(Why::Unreachable("nobody has looked".to_owned())),
    }
}

/// A Job that was applied as it is now, would remove itself when done, and is gone.
fn completed(planned: &Planned) -> bool {
    planned.known == Known::Inventoried
        && planned.same_hash
        && planned.object.expires
        && planned.object.entry.identity.group_kind.is("batch", "Job")
}

fn existing(planned: &Planned, live: &Live, checking: &Checking<'_>) -> Result<How, Why> {
    if live.is_record {
        return Err(Why::Record);
    }
    let uid = live.uid.clone();
    match Ownership::of(live, planned.recorded_uid.as_deref(), &checking.release) {
        Ownership::Mine => Ok(How::Update { uid }),
        Ownership::Anothers(from) if checking.take_ownership => Ok(How::Take { uid, from }),
        Ownership::Anothers(release) => Err(Why::Anothers(release)),
        Ownership::Shared { mine: true, .. } if planned.object.shared => Ok(How::Update { uid }),
        Ownership::Shared { mine: false, .. } if planned.object.shared => Ok(How::Join { uid }),
        Ownership::Shared { mine: true, others } if others.is_empty() => Ok(How::Update { uid }),
        Ownership::Shared { others, .. } => Err(Why::SharedByOthers(others)),
        Ownership::Nobodys => untracked(planned, live, checking),
    }
}

fn untracked(planned: &Planned, live: &Live, checking: &Checking<'_>) -> Result<How, Why> {
    let uid = live.uid.clone();
    // Edge case 1: labels are best effort, and a record that knows only RFC-0001 has no uid to
    // compare. Then the inventory is the authority on what the release applied.
    let tracked = planned.known == Known::Inventoried && planned.recorded_uid.is_none();
    if tracked && live.helm.is_none() {
        return Ok(How::Update { uid });
    }
    let identity = &planned.object.entry.identity;
    if checking.adopt.allows(identity, live.helm.is_some()) {
        return Ok(How::Adopt { uid });
    }
    match &live.helm {
        Some(release) => Err(Why::Helms(release.clone())),
        None => Err(Why::Untracked),
    }
}

/// Why an object has to be written down before it is sent, unless the record has it already: in
/// the inventory, or as kept, where a failed attempt must leave it.
fn intent(planned: &Planned, how: &How) -> Option<PendingWhy> {
    match (planned.known, how) {
        (_, How::Completed) | (Known::Inventoried, _) => None,
        (Known::Kept, How::Create) => Some(PendingWhy::Create),
        (Known::Kept, _) => None,
        // What was there before the first attempt is still there, with our label on it by now.
        (Known::Pending(why), How::Update { .. } | How::Join { .. }) => Some(why),
        (_, How::Adopt { .. }) => Some(PendingWhy::Adopt),
        (_, How::Take { .. }) => Some(PendingWhy::Take),
        (_, How::Create | How::Join { .. }) => Some(PendingWhy::Create),
        (Known::No, How::Update { .. }) => Some(PendingWhy::Repair),
    }
}
