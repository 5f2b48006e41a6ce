//! Claims, Services and Namespaces: kinds with a phase or an address of their own.

use super::Health;
use super::fields::Fields;

pub(super) fn claim(fields: &Fields<'_>) -> Health {
    match fields.text("/status/phase") {
        Some("Bound") => Health::ready(),
        Some("Lost") => Health::failed("its volume is lost"),
        _ => Health::progressing("it is not bound to a volume yet"),
    }
}

/// Only a load balancer has to be waited for; every other Service works as it stands.
pub(super) fn service(fields: &Fields<'_>) -> Health {
    let balanced = fields.text("/spec/type") == Some("LoadBalancer");
    if balanced && fields.list("/status/loadBalancer/ingress").is_empty() {
        return Health::progressing("its load balancer has no address yet");
    }
    Health::ready()
}

pub(super) fn namespace(fields: &Fields<'_>) -> Health {
    match fields.text("/status/phase") {
        Some("Active") => Health::ready(),
        Some("Terminating") => Health::progressing("it is being deleted"),
        _ => Health::progressing("it is not active yet"),
    }
}
