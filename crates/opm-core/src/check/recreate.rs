//! Whether an object that cannot be changed in place may be deleted and created again.

use std::fmt;

use serde_json::{Map, Value};

use super::{ApplyMethod, ApplyStep};
use crate::failure::Remedy;
use crate::health::{self, HealthState};
use crate::identity::Identity;
use crate::labels;
use crate::plan::{Guard, GuardFlags};

/// Why it may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecreateRefusal {
    /// Nobody said so.
    Unsaid {
        /// Whether it is a Job: what it is annotated with then decides for every version to come.
        job: bool,
    },
    /// A person was asked, and said no.
    Declined,
    /// It is a Job that was to end first, and has not.
    Running,
    /// It was there before this release: deleting it could not be undone.
    NotOurs,
    /// Its kind is not deleted on the side.
    Guarded(Guard),
    /// Something else stands in the way, in words.
    Blocked(String),
}

impl RecreateRefusal {
    /// What would lift it.
    pub(super) fn remedies(&self) -> Vec<Remedy> {
        const ANNOTATE: &str = "Annotate the Job with opmodel.dev/recreate: \"true\" to run it anew \
                                whenever it changes and has ended";
        match self {
            Self::Unsaid { job: true } => vec![ANNOTATE.into(), Remedy::Recreate],
            Self::Unsaid { job: false } => vec![Remedy::Recreate],
            Self::Running => vec![
                "Apply again when the Job has ended".into(),
                Remedy::Recreate,
            ],
            Self::Guarded(guard) => vec![Remedy::LiftGuard(*guard)],
            Self::Declined | Self::NotOurs | Self::Blocked(_) => Vec::new(),
        }
    }
}

/// What follows "cannot be changed in place".
impl fmt::Display for RecreateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsaid { .. } => "",
            Self::Declined => ", and recreating it was declined",
            Self::Running => ", and the Job has not ended yet",
            Self::NotOurs => ", and it is not this release's to recreate",
            Self::Guarded(_) => ", and it is of a kind that is not deleted on the side",
            Self::Blocked(why) => return write!(f, ", and {why}"),
        })
    }
}

/// Whether an object may be recreated: a flag (`told`) or an annotation says so, and a guarded
/// kind needs its flag too.
pub fn may_recreate(
    step: &ApplyStep,
    desired: &Map<String, Value>,
    guards: GuardFlags,
    told: bool,
) -> Result<(), RecreateRefusal> {
    let identity = &step.entry.identity;
    if !matches!(step.method, ApplyMethod::Update { .. }) {
        return Err(RecreateRefusal::NotOurs);
    }
    if let Some(guard) = guards.in_the_way(identity) {
        return Err(RecreateRefusal::Guarded(guard));
    }
    let job = identity.group_kind.is("batch", "Job");
    match told || labels::lets_recreate(desired) {
        true => Ok(()),
        false => Err(RecreateRefusal::Unsaid { job }),
    }
}

/// Whether an object has to end before it is recreated: a Job that is still at work, unless a
/// flag (`told`) says that it need not.
pub fn must_end_first(identity: &Identity, live: &Map<String, Value>, told: bool) -> bool {
    identity.group_kind.is("batch", "Job") && !told && !has_ended(live)
}

/// Whether a Job is complete, or has failed for good.
fn has_ended(job: &Map<String, Value>) -> bool {
    matches!(
        health::of(job).state,
        HealthState::Ready | HealthState::Failed
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::entry::Entry;
    use crate::identity::GroupKind;

    fn step(group: &str, kind: &str, method: ApplyMethod) -> ApplyStep {
        let identity = Identity::new(GroupKind::new(group, kind), Some("games"), "a");
        ApplyStep {
            entry: Entry::new(identity, "v1", "app"),
            shared: false,
            shared_with: Vec::new(),
            recorded_uid: None,
            takes_fields: false,
            method,
        }
    }

    fn job(conditions: &Value) -> Map<String, Value> {
        let job =
            json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": conditions}});
        job.as_object().cloned().unwrap()
    }

    #[test]
    fn who_may_say_so() {
        let update = || ApplyMethod::Update { uid: "u".into() };
        let adopt = || ApplyMethod::Adopt { uid: "u".into() };
        let annotated = json!({"metadata": {"annotations": {"opmodel.dev/recreate": "true"}}});
        let annotated = annotated.as_object().cloned().unwrap();
        let plain = Map::new();
        let claims = GuardFlags {
            volume_claims: true,
            ..GuardFlags::default()
        };
        let none = GuardFlags::default();
        let (jobs, sets) = (("batch", "Job"), ("apps", "StatefulSet"));
        let claim = ("", "PersistentVolumeClaim");
        use RecreateRefusal::{Guarded, NotOurs, Unsaid};
        let (run_job, set) = (Unsaid { job: true }, Unsaid { job: false });
        let guarded = Guarded(Guard::VolumeClaim);
        let table = [
            // kind, method, desired, guards, told: what comes of it
            (jobs, update(), &plain, none, false, Err(run_job)),
            (jobs, update(), &annotated, none, false, Ok(())),
            (jobs, update(), &plain, none, true, Ok(())),
            (jobs, adopt(), &annotated, none, true, Err(NotOurs)),
            (sets, update(), &plain, none, false, Err(set)),
            (sets, update(), &annotated, none, false, Ok(())),
            (claim, update(), &plain, none, true, Err(guarded)),
            (claim, update(), &plain, claims, true, Ok(())),
        ];
        for ((group, kind), method, desired, guards, told, expected) in table {
            let step = step(group, kind, method);
            let found = may_recreate(&step, desired, guards, told);
            assert_eq!(found, expected, "{step:?}");
        }
        let lifts = Guarded(Guard::VolumeClaim).remedies();
        assert_eq!(lifts, [Remedy::LiftGuard(Guard::VolumeClaim)]);
    }

    #[test]
    fn a_job_ends_first() {
        let ended = job(&json!([{"type": "Complete", "status": "True"}]));
        let failed = job(&json!([{"type": "Failed", "status": "True"}]));
        let running = job(&json!([]));
        let update = ApplyMethod::Update { uid: "u".into() };
        let step = step("batch", "Job", update);
        let identity = &step.entry.identity;
        for (live, told, expected) in [
            (&ended, false, false),
            (&failed, false, false),
            (&running, false, true),
            (&running, true, false),
        ] {
            assert_eq!(must_end_first(identity, live, told), expected, "{live:?}");
        }
    }
}
