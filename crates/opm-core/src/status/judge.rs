//! One object, judged.

use serde_json::{Map, Value};

use super::{ObjectEvidence, ObjectStatus, Presence, ReadObject, SentSince};
use crate::check::{LiveObject, Ownership};
use crate::drift::{self, FieldDrift};
use crate::entry::Entry;
use crate::health::{self, Health};
use crate::ids::ReleaseId;
use crate::observation::Observation;
use crate::packed::PackedObject;
use crate::takeover::leftovers;

/// How an object stands, given everything that is known about it.
pub fn judge(entry: Entry, evidence: ObjectEvidence<'_>) -> ObjectStatus {
    let (object, whole) = match evidence.observation {
        Some(Observation::Present(ReadObject { object, whole })) => (&object.unpack(), *whole),
        Some(Observation::Absent) if evidence.applied.is_some_and(removes_itself) => {
            let health = Health::ready_with("it is complete, and has removed itself");
            return status(entry, Presence::Completed, health);
        }
        Some(Observation::Absent) => {
            return status(
                entry,
                Presence::Missing,
                Health::degraded("it does not exist"),
            );
        }
        Some(Observation::Failed(error)) => {
            return status(entry, Presence::Hidden, Health::unknown(error.to_string()));
        }
        None => {
            let health = Health::unknown("nobody looked at it");
            return status(entry, Presence::Hidden, health);
        }
    };
    let live = LiveObject::read(object, evidence.release);
    let recorded = entry.uid.as_deref();
    if let Ownership::OtherRelease(other) = Ownership::of(&live, recorded, evidence.release) {
        let health = Health::ready_with(format!("it belongs to release {other} now"));
        return status(entry, Presence::Transferred(other), health);
    }
    let mut health = health::of(object);
    if let Some(pods) = evidence.pods {
        health = health::with_pods(health, pods);
    }
    let (release, retired) = (evidence.release, evidence.retired);
    let leftovers = leftovers(&entry.identity.group_kind, object, release, retired);
    let unrecorded = whole.then(|| brought_elsewhere(object, evidence)).flatten();
    let evidence = match (unrecorded, evidence.sent) {
        (Some(_), Some(SentSince { object, .. })) => ObjectEvidence {
            applied: object.or(evidence.applied),
            ..evidence
        },
        _ => evidence,
    };
    let drift = drifted(&entry, object, whole, &live, evidence);
    ObjectStatus {
        entry,
        presence: Presence::There,
        health,
        drift,
        leftovers,
        unrecorded: unrecorded.map(str::to_owned),
    }
}

/// The change that an object is at, if a run that did not end well brought it there: it is not
/// what the recorded change makes of it, and it is what that run sent, as far as that is known.
fn brought_elsewhere<'a>(
    object: &Map<String, Value>,
    evidence: ObjectEvidence<'a>,
) -> Option<&'a str> {
    let SentSince {
        change,
        object: sent,
    } = evidence.sent?;
    let unlike = |desired: &PackedObject| {
        drift::first_unlike(&desired.unpack(), object, evidence.release).is_some()
    };
    let as_recorded = evidence.applied.is_none_or(|applied| !unlike(applied));
    let as_sent = match sent {
        Some(sent) => !unlike(sent),
        // Only what is this release's own doing tells: others may have changed it as well.
        None => evidence
            .applied
            .is_some_and(|applied| as_applied(applied, object, evidence.release)),
    };
    (!as_recorded && as_sent).then_some(change)
}

fn as_applied(applied: &PackedObject, object: &Map<String, Value>, release: &ReleaseId) -> bool {
    drift::fields(&applied.unpack(), object, release).is_empty()
}

/// Whether metadata alone cannot tell if an object has drifted.
pub fn is_suspect(object: &PackedObject, evidence: ObjectEvidence<'_>) -> bool {
    let (applied, release) = (evidence.applied, evidence.release);
    let touched =
        |applied: &PackedObject| !drift::is_untouched(&applied.unpack(), &object.unpack(), release);
    applied.is_some_and(|applied| evidence.sent.is_some() || touched(applied))
}

fn status(entry: Entry, presence: Presence, health: Health) -> ObjectStatus {
    ObjectStatus {
        entry,
        presence,
        health,
        drift: Vec::new(),
        leftovers: Vec::new(),
        unrecorded: None,
    }
}

fn drifted(
    entry: &Entry,
    object: &Map<String, Value>,
    whole: bool,
    live: &LiveObject,
    evidence: ObjectEvidence<'_>,
) -> Vec<FieldDrift> {
    let another = entry.uid.as_ref().is_some_and(|uid| *uid != live.uid);
    // One that `opm` made anew is an apply that has not been recorded.
    if another && !live.applied_by_opm {
        return vec![FieldDrift {
            field: "metadata.uid".to_owned(),
            by: None,
            at: created(object),
        }];
    }
    match evidence.applied {
        Some(applied) if whole => drift::fields(&applied.unpack(), object, evidence.release),
        // Nobody can tell without the whole object, and nothing is claimed.
        Some(_) => Vec::new(),
        None => drift::written_since(object, evidence.release),
    }
}

fn created(object: &Map<String, Value>) -> Option<String> {
    let time = object.get("metadata")?.get("creationTimestamp")?.as_str()?;
    Some(time.to_owned())
}

/// Whether an object removes itself when it is done: a Job with a time to live.
fn removes_itself(applied: &PackedObject) -> bool {
    let applied = applied.unpack();
    let job = applied.get("kind").and_then(Value::as_str) == Some("Job")
        && applied
            .get("apiVersion")
            .and_then(Value::as_str)
            .is_some_and(|version| version.starts_with("batch/"));
    let spec = applied.get("spec");
    let ttl = spec.and_then(|spec| spec.get("ttlSecondsAfterFinished"));
    job && ttl.is_some_and(|ttl| !ttl.is_null())
}
