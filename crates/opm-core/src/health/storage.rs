//! Claims, volumes and Namespaces: kinds with a phase of their own.

use super::Health;
use super::fields::ObjectFields;

pub(super) fn claim(fields: &ObjectFields<'_>) -> Health {
    match fields.text("/status/phase") {
        Some("Bound") => Health::ready(),
        Some("Lost") => Health::failed("its volume is lost"),
        _ => Health::progressing("it is not bound to a volume yet"),
    }
}

pub(super) fn volume(fields: &ObjectFields<'_>) -> Health {
    match fields.text("/status/phase") {
        Some("Available" | "Bound") => Health::ready(),
        Some("Released") => Health::degraded("its claim is gone, and it was not given back"),
        Some("Failed") => {
            let reason = fields.text("/status/message");
            Health::failed(reason.unwrap_or("it could not be given back"))
        }
        _ => Health::progressing("it is not available yet"),
    }
}

pub(super) fn namespace(fields: &ObjectFields<'_>) -> Health {
    match fields.text("/status/phase") {
        Some("Active") => Health::ready(),
        Some("Terminating") => Health::progressing("it is being deleted"),
        _ => Health::progressing("it is not active yet"),
    }
}
