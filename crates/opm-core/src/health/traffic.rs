//! Services and Ingresses: what leads to a workload.

use super::Health;
use super::fields::ObjectFields;

/// Only a load balancer has to be waited for; every other Service works as it stands.
pub(super) fn service(fields: &ObjectFields<'_>) -> Health {
    let balanced = fields.text("/spec/type") == Some("LoadBalancer");
    if balanced && fields.list("/status/loadBalancer/ingress").is_empty() {
        return Health::progressing("its load balancer has no address yet");
    }
    Health::ready()
}

/// Many controllers serve an Ingress and never write an address into it, so a missing one is
/// mentioned and does not make the Ingress unready.
pub(super) fn ingress(fields: &ObjectFields<'_>) -> Health {
    match fields.list("/status/loadBalancer/ingress").is_empty() {
        true => Health::ready_with("no controller has given it an address"),
        false => Health::ready(),
    }
}
