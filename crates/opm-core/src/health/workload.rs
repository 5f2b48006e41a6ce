//! The built-in workloads.

use crate::words;

use super::Health;
use super::fields::ObjectFields;

/// The wanted number of pods; one, when the field is left out.
fn replicas(fields: &ObjectFields<'_>) -> i64 {
    fields.number("/spec/replicas").unwrap_or(1)
}

/// Status without an observed generation means that no controller has looked at all.
fn unseen(fields: &ObjectFields<'_>) -> bool {
    fields.number("/status/observedGeneration").is_none()
}

pub(super) fn deployment(fields: &ObjectFields<'_>) -> Health {
    if unseen(fields) {
        return Health::unseen();
    }
    if let Some(progressing) = fields.condition("Progressing")
        && progressing.reason() == "ProgressDeadlineExceeded"
    {
        return Health::failed(progressing.words());
    }
    let wanted = replicas(fields);
    let updated = fields.count("/status/updatedReplicas");
    let total = fields.count("/status/replicas");
    let available = fields.count("/status/availableReplicas");
    // Pods that cannot even be made: a quota, admission, a missing account.
    if let Some(failure) = fields.condition_is("ReplicaFailure", "True") {
        return Health::degraded(failure.words());
    }
    if fields.is_true("/spec/paused") && updated < wanted {
        return Health::progressing("its rollout is paused");
    }
    if updated < wanted {
        return Health::progressing(format!("{updated} of {wanted} pods are up to date"));
    }
    if total > updated {
        let left = usize::try_from(total.saturating_sub(updated)).unwrap_or(usize::MAX);
        let old = words::count(left, "old pod");
        return Health::progressing(format!("{old} {} still there", words::is_or_are(left)));
    }
    if available < wanted {
        let message = format!("{available} of {wanted} pods are available");
        let rolled_out = fields
            .condition("Progressing")
            .is_some_and(|progressing| progressing.reason() == "NewReplicaSetAvailable");
        // It was there already, so this is not the way up.
        return match rolled_out {
            true => Health::degraded(message),
            false => Health::progressing(message),
        };
    }
    Health::ready()
}

pub(super) fn stateful_set(fields: &ObjectFields<'_>) -> Health {
    if unseen(fields) {
        return Health::unseen();
    }
    let wanted = replicas(fields);
    let ready = fields.count("/status/readyReplicas");
    if ready < wanted {
        return Health::progressing(format!("{ready} of {wanted} pods are ready"));
    }
    if fields.text("/spec/updateStrategy/type") == Some("OnDelete") {
        return Health::ready();
    }
    let partition = fields.count("/spec/updateStrategy/rollingUpdate/partition");
    let updated = fields.count("/status/updatedReplicas");
    let same_revision =
        fields.text("/status/currentRevision") == fields.text("/status/updateRevision");
    let due = wanted.saturating_sub(partition).max(0);
    if !same_revision && updated < due {
        return Health::progressing(format!("{updated} of {due} pods are up to date"));
    }
    Health::ready()
}

pub(super) fn daemon_set(fields: &ObjectFields<'_>) -> Health {
    if unseen(fields) {
        return Health::unseen();
    }
    let wanted = fields.count("/status/desiredNumberScheduled");
    let on_delete = fields.text("/spec/updateStrategy/type") == Some("OnDelete");
    let updated = fields.count("/status/updatedNumberScheduled");
    if !on_delete && updated < wanted {
        return Health::progressing(format!("{updated} of {wanted} pods are up to date"));
    }
    let available = fields.count("/status/numberAvailable");
    if available < wanted {
        return Health::progressing(format!("{available} of {wanted} pods are available"));
    }
    Health::ready()
}

pub(super) fn replica_set(fields: &ObjectFields<'_>) -> Health {
    if unseen(fields) {
        return Health::unseen();
    }
    if let Some(failure) = fields.condition_is("ReplicaFailure", "True") {
        return Health::degraded(failure.words());
    }
    let wanted = replicas(fields);
    let available = fields.count("/status/availableReplicas");
    if available < wanted {
        return Health::progressing(format!("{available} of {wanted} pods are available"));
    }
    Health::ready()
}

/// A Job is there to be completed.
pub(super) fn job(fields: &ObjectFields<'_>) -> Health {
    if let Some(failed) = fields.condition_is("Failed", "True") {
        return Health::failed(failed.words());
    }
    if fields.condition_is("Complete", "True").is_some() {
        return Health::ready();
    }
    if fields.is_true("/spec/suspend") {
        return Health::progressing("it is suspended");
    }
    let done = fields.count("/status/succeeded");
    let wanted = fields.number("/spec/completions").unwrap_or(1);
    Health::progressing(format!("{done} of {wanted} completions"))
}

/// A CronJob works as soon as it exists; its Jobs have a state of their own.
pub(super) fn cron_job(fields: &ObjectFields<'_>) -> Health {
    match fields.is_true("/spec/suspend") {
        true => Health::ready_with("it is suspended"),
        false => Health::ready(),
    }
}
