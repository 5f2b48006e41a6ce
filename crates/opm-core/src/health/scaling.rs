//! Autoscalers and disruption budgets: what watches over the number of pods.

use super::Health;
use super::fields::ObjectFields;

pub(super) fn autoscaler(fields: &ObjectFields<'_>) -> Health {
    if fields.list("/status/conditions").is_empty() {
        return Health::unseen();
    }
    if let Some(able) = fields.condition_is("AbleToScale", "False") {
        return Health::degraded(able.words());
    }
    match fields.condition("ScalingActive") {
        // Somebody scaled the target to zero: the autoscaler rests until it is scaled up again.
        Some(active) if active.is("False") && active.reason() == "ScalingDisabled" => {
            Health::ready_with(active.words())
        }
        Some(active) if !active.is("True") => Health::degraded(active.words()),
        _ => Health::ready(),
    }
}

pub(super) fn disruption_budget(fields: &ObjectFields<'_>) -> Health {
    if fields.number("/status/observedGeneration").is_none() {
        return Health::unseen();
    }
    if let Some(allowed) = fields.condition("DisruptionAllowed")
        && allowed.reason() == "SyncFailed"
    {
        return Health::degraded(allowed.words());
    }
    if fields.count("/status/expectedPods") == 0 {
        return Health::ready_with("it covers no pods");
    }
    let healthy = fields.count("/status/currentHealthy");
    let needed = fields.count("/status/desiredHealthy");
    if healthy < needed {
        return Health::degraded(format!("{healthy} of {needed} needed pods are healthy"));
    }
    Health::ready()
}
