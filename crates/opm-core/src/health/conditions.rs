//! Kinds that tell how they are by conditions, custom resources above all.

use super::fields::ObjectFields;
use super::{Health, HealthState};

pub(super) fn definition(fields: &ObjectFields<'_>) -> Health {
    if let Some(names) = fields.condition("NamesAccepted")
        && names.is("False")
    {
        return Health::failed(names.words());
    }
    match fields.condition("Established") {
        Some(established) if established.is("True") => Health::ready(),
        _ => Health::progressing("it is not established yet"),
    }
}

pub(super) fn api_service(fields: &ObjectFields<'_>) -> Health {
    match fields.condition("Available") {
        Some(available) if available.is("True") => Health::ready(),
        Some(available) => Health::degraded(available.words()),
        None => Health::progressing("its controller has not seen it yet"),
    }
}

/// When a condition says that something is not as it should be.
enum Bad {
    /// When it is true.
    IfTrue,
    /// When it is false; not known yet is nothing.
    IfFalse,
    /// Unless it is true.
    UnlessTrue,
}

/// The conditions that controllers agree on, in the order in which they are asked: what will not
/// mend itself, what is being worked on, and whether the object does what it is there for.
const CONDITIONS: &[(&str, Bad, HealthState)] = &[
    ("Stalled", Bad::IfTrue, HealthState::Failed),
    ("Failed", Bad::IfTrue, HealthState::Failed),
    ("Reconciling", Bad::IfTrue, HealthState::Progressing),
    ("Degraded", Bad::IfTrue, HealthState::Degraded),
    ("Synced", Bad::IfFalse, HealthState::Degraded),
    ("Healthy", Bad::IfFalse, HealthState::Degraded),
    ("Ready", Bad::UnlessTrue, HealthState::Progressing),
    ("Available", Bad::UnlessTrue, HealthState::Progressing),
];

/// An object without any of these conditions is ready. A condition about an earlier generation
/// says nothing about this one.
pub(super) fn generic(fields: &ObjectFields<'_>) -> Health {
    for (kind, bad, state) in CONDITIONS {
        let Some(condition) = fields.condition(kind) else {
            continue;
        };
        if condition.is_about_the_past(fields.number("/metadata/generation")) {
            return Health::progressing("its controller has not seen the latest change yet");
        }
        let bad = match bad {
            Bad::IfTrue => condition.is("True"),
            Bad::IfFalse => condition.is("False"),
            Bad::UnlessTrue => !condition.is("True"),
        };
        if bad {
            return Health::new(*state, condition.words_or(kind));
        }
    }
    Health::ready()
}
