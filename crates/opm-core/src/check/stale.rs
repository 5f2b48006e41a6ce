//! What happens to each stale object: it goes, or it stays for a reason that is written down.

use std::collections::{BTreeSet, HashSet};

use super::{
    CheckContext, GoneObject, KeepDecision, LabelledRelease, LiveObject, Observed, Ownership,
    PruneMethod, PruneStep, Refusal, RefusalReason, StaleDecisions, TransferredObject,
    Undetermined,
};
use crate::api_error::ApiErrorKind;
use crate::entry::Entry;
use crate::identity::Identity;
use crate::observation::Observation;
use crate::plan::{
    Guard, Occupant, Occupants, Plan, Purpose, SilentGroup, StaleObject, StaleOrigin,
    ignored_in_namespace, is_custom, lives_in,
};
use crate::record::{KeptObject, KeptWhy};

/// Decides about everything that should go.
pub(super) fn decide(
    plan: &Plan,
    observed: &Observed,
    checking: &CheckContext<'_>,
    refusals: &mut Vec<Refusal>,
) -> StaleDecisions {
    let mut decisions = StaleDecisions::default();
    for stale in &plan.stale {
        one(
            stale,
            plan,
            observed.get(&stale.entry.identity),
            checking,
            &mut decisions,
        );
    }
    aggregates_first(&mut decisions.prune);
    look_into(plan, &decisions, checking, refusals);
    decisions
}

/// An aggregated ClusterRole that outlives one of its parts is written again, so it goes before
/// all of them, whatever their stage.
fn aggregates_first(prune: &mut [PruneStep]) {
    if let Some(first) = prune.iter().position(|step| is_cluster_role(&step.entry)) {
        prune[first..].sort_by_key(|step| !step.aggregated);
    }
}

fn is_cluster_role(entry: &Entry) -> bool {
    let kind = &entry.identity.group_kind;
    kind.is("rbac.authorization.k8s.io", "ClusterRole")
}

fn one(
    stale: &StaleObject,
    plan: &Plan,
    seen: Option<&Observation<LiveObject>>,
    checking: &CheckContext<'_>,
    decisions: &mut StaleDecisions,
) {
    let StaleObject { entry, origin } = stale.clone();
    let reason = match seen {
        Some(Observation::Present(live)) => {
            return present(stale, plan, live, checking, decisions);
        }
        Some(Observation::Absent) => return decisions.gone.push(GoneObject { entry, origin }),
        Some(Observation::Failed(error)) if error.kind == ApiErrorKind::Forbidden => {
            format!("not permitted to read it: {error}")
        }
        Some(Observation::Failed(error)) => format!("could not be read: {error}"),
        None => "nobody has looked".to_owned(),
    };
    decisions.undetermined.push(Undetermined {
        entry,
        origin,
        reason,
    });
}

fn present(
    stale: &StaleObject,
    plan: &Plan,
    live: &LiveObject,
    checking: &CheckContext<'_>,
    decisions: &mut StaleDecisions,
) {
    let StaleObject { entry, origin } = stale.clone();
    if let Some(to) = somebody_else(&entry, live, checking) {
        return decisions.transferred.push(TransferredObject { entry, to });
    }
    let shared_with = match Ownership::of(live, entry.uid.as_deref(), &checking.release) {
        Ownership::Mine | Ownership::Shared { .. } => live.shared_with(&checking.release),
        Ownership::Unowned | Ownership::OtherRelease(_) => {
            let reason = match live.is_record {
                true => "it is the record of a release".to_owned(),
                false => "it carries no label of this release".to_owned(),
            };
            return decisions.keep.push(KeepDecision {
                entry,
                why: KeptWhy::NotMine,
                reason,
                mine: false,
            });
        }
    };
    if live.terminating && !awaits(plan, &entry) {
        return decisions.gone.push(GoneObject { entry, origin });
    }
    if live.terminating {
        return decisions.prune.push(PruneStep {
            entry,
            origin,
            uid: live.uid.clone(),
            resource_version: live.resource_version.clone(),
            shared: false,
            method: PruneMethod::AwaitGone,
            aggregated: false,
        });
    }
    if let Some((why, reason)) = stands(stale, plan, live, !shared_with.is_empty()) {
        return decisions.keep.push(KeepDecision {
            entry,
            why,
            reason,
            mine: true,
        });
    }
    let alone = shared_with.is_empty();
    let aggregated = live.aggregated && is_cluster_role(&entry);
    decisions.prune.push(PruneStep {
        entry,
        origin,
        uid: live.uid.clone(),
        resource_version: live.resource_version.clone(),
        shared: !(alone && live.owner.shared.is_empty()),
        method: if alone {
            PruneMethod::Delete
        } else {
            PruneMethod::LeaveShared
        },
        aggregated,
    });
}

/// Whether an object that is being deleted holds back what comes after it: its controller may be
/// at work on it, and would be gone with the rest.
fn awaits(plan: &Plan, entry: &Entry) -> bool {
    let deletes = matches!(plan.purpose, Purpose::Delete | Purpose::DeleteComponent(_));
    deletes && is_custom(&entry.identity.group_kind)
}

/// Why an object of this release is left standing, if it is.
fn stands(
    stale: &StaleObject,
    plan: &Plan,
    live: &LiveObject,
    shared: bool,
) -> Option<(KeptWhy, String)> {
    if plan.purpose == Purpose::PruneKept {
        return None;
    }
    let was_there_before = match stale.origin {
        StaleOrigin::Pending { why, .. } => why.was_there_before(),
        // Kept as not ours, though it carries our label: a failed adoption put it there.
        StaleOrigin::Kept(why) => why == KeptWhy::NotMine,
        StaleOrigin::Inventory => false,
    };
    if was_there_before {
        let reason = "it was there before this release tried to take it over";
        return Some((KeptWhy::NotMine, reason.to_owned()));
    }
    if live.opted_out {
        let reason = "it is annotated opmodel.dev/prune: \"false\"";
        return Some((KeptWhy::OptOut, reason.to_owned()));
    }
    if plan.options.no_prune {
        return Some((KeptWhy::NoPrune, "pruning was switched off".to_owned()));
    }
    let identity = &stale.entry.identity;
    // Taking a label off a shared object deletes nothing, so no guard is needed for it.
    let guard = plan.options.guards.in_the_way(identity);
    guard.filter(|_| !shared)?;
    Some((KeptWhy::Guard, format!("{} is guarded", identity.kind())))
}

/// A Namespace or CustomResourceDefinition takes everything inside along, so everything inside
/// has to be going anyway: other people's objects and this release's own alike.
fn look_into(
    plan: &Plan,
    decisions: &StaleDecisions,
    checking: &CheckContext<'_>,
    refusals: &mut Vec<Refusal>,
) {
    let going: HashSet<&Identity> = decisions
        .prune
        .iter()
        .filter(|step| step.method != PruneMethod::LeaveShared)
        .map(|step| &step.entry.identity)
        .collect();
    for step in decisions
        .prune
        .iter()
        .filter(|step| step.method == PruneMethod::Delete)
    {
        let holder = &step.entry.identity;
        let Some(guard) = Guard::of(&holder.group_kind).filter(|guard| guard.holds_others()) else {
            continue;
        };
        let why = match checking.occupants.get(holder) {
            None => RefusalReason::OccupantsUnknown {
                guard,
                cause: "nobody has looked".to_owned(),
            },
            Some(Occupants::Unknown(cause)) => RefusalReason::OccupantsUnknown {
                guard,
                cause: cause.clone(),
            },
            Some(known @ (Occupants::Known(occupants) | Occupants::Partly { occupants, .. })) => {
                if let Some(silent) = unknown_group(known, &going) {
                    refusals.push(Refusal {
                        object: Some(holder.clone()),
                        why: RefusalReason::SilentGroup { guard, silent },
                    });
                }
                let ignored = |occupant: &Occupant| {
                    guard == Guard::Namespace
                        && ignored_in_namespace(occupant, &checking.release, &plan.purpose)
                };
                let found = occupants.iter().filter(|occupant| !ignored(occupant));
                let found = found.map(|occupant| &occupant.identity);
                let own = staying(plan, decisions).filter(|identity| lives_in(identity, holder));
                let stays = found
                    .chain(own)
                    .filter(|identity| !going.contains(identity));
                let stays: BTreeSet<Identity> = stays.cloned().collect();
                let unread = decisions
                    .undetermined
                    .iter()
                    .find(|unread| stays.contains(&unread.entry.identity));
                match unread {
                    _ if stays.is_empty() => continue,
                    Some(unread) => RefusalReason::OccupantsUnknown {
                        guard,
                        cause: format!("{}: {}", unread.entry.identity, unread.reason),
                    },
                    None => RefusalReason::Occupied {
                        guard,
                        objects: stays.into_iter().collect(),
                    },
                }
            }
        };
        refusals.push(Refusal {
            object: Some(holder.clone()),
            why,
        });
    }
}

/// A group whose objects nobody knows, unless it goes together with what it is served by.
fn unknown_group(occupants: &Occupants, going: &HashSet<&Identity>) -> Option<SilentGroup> {
    let Occupants::Partly { silent, .. } = occupants else {
        return None;
    };
    let goes = |group: &SilentGroup| {
        going.iter().any(|identity| group.is_served_by(identity))
            && group.api_services.iter().all(|one| going.contains(one))
    };
    silent.iter().find(|group| !goes(group)).cloned()
}

/// This release's objects that are there when the run has ended.
fn staying<'a>(
    plan: &'a Plan,
    decisions: &'a StaleDecisions,
) -> impl Iterator<Item = &'a Identity> {
    let applied = plan.applies().map(|planned| &planned.object.entry.identity);
    applied
        .chain(
            plan.remaining
                .iter()
                .map(|recorded| &recorded.entry.identity),
        )
        .chain(plan.carried.iter().map(|kept| &kept.entry.identity))
        .chain(decisions.keep.iter().map(|keep| &keep.entry.identity))
        .chain(
            decisions
                .undetermined
                .iter()
                .map(|undetermined| &undetermined.entry.identity),
        )
}

/// What of the kept objects is still there and still this release's business, and what of them
/// belongs to others by now.
pub(super) fn carried(
    plan: &Plan,
    observed: &Observed,
    checking: &CheckContext<'_>,
) -> (Vec<KeptObject>, Vec<TransferredObject>) {
    let (mut carried, mut let_go) = (Vec::new(), Vec::new());
    for kept in &plan.carried {
        let entry = &kept.entry;
        match observed.get(&entry.identity) {
            Some(Observation::Absent) => {}
            seen => match transferred_to(entry, seen, checking) {
                Some(to) => let_go.push(TransferredObject {
                    entry: entry.clone(),
                    to,
                }),
                None => carried.push(kept.clone()),
            },
        }
    }
    (carried, let_go)
}

/// What stays in the inventory without being applied, and what of it belongs to others by now.
pub(super) fn remaining(
    plan: &mut Plan,
    observed: &Observed,
    checking: &CheckContext<'_>,
) -> Vec<TransferredObject> {
    let mut let_go = Vec::new();
    plan.remaining.retain(|recorded| {
        let entry = &recorded.entry;
        let to = transferred_to(entry, observed.get(&entry.identity), checking);
        let_go.extend(to.clone().map(|to| TransferredObject {
            entry: entry.clone(),
            to,
        }));
        to.is_none()
    });
    let_go
}

/// Who has an object by now, if it is certain that it is somebody else.
fn transferred_to(
    entry: &Entry,
    seen: Option<&Observation<LiveObject>>,
    checking: &CheckContext<'_>,
) -> Option<LabelledRelease> {
    match seen {
        Some(Observation::Present(live)) => somebody_else(entry, live, checking),
        _ => None,
    }
}

fn somebody_else(
    entry: &Entry,
    live: &LiveObject,
    checking: &CheckContext<'_>,
) -> Option<LabelledRelease> {
    match Ownership::of(live, entry.uid.as_deref(), &checking.release) {
        Ownership::OtherRelease(to) => Some(to),
        Ownership::Shared {
            mine: false,
            others,
        } => others.into_iter().next(),
        Ownership::Mine | Ownership::Shared { mine: true, .. } | Ownership::Unowned => None,
    }
}
