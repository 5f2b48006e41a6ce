//! Kinds that tell how they are by conditions, custom resources above all.

use super::fields::ObjectFields;
use super::{Health, HealthState};

pub(super) fn definition(fields: &ObjectFields<'_>) -> Health {
    if let Some(names) = fields.condition_is("NamesAccepted", "False") {
        return Health::failed(names.words());
    }
    match fields.condition_is("Established", "True") {
        Some(_) => Health::ready(),
        None => Health::progressing("it is not established yet"),
    }
}

pub(super) fn api_service(fields: &ObjectFields<'_>) -> Health {
    match fields.condition("Available") {
        Some(available) if available.is("True") => Health::ready(),
        Some(available) => Health::degraded(available.words()),
        None => Health::unseen(),
    }
}

/// Which status of a condition says that something is not as it should be.
enum BadStatus {
    True,
    /// Not known yet is not bad.
    False,
    NotTrue,
}

/// The conditions that controllers agree on, in the order in which they are asked: what does not
/// recover by itself, what is in progress, and whether the object does its work.
const CONDITIONS: &[(&str, BadStatus, HealthState)] = &[
    ("Stalled", BadStatus::True, HealthState::Failed),
    ("Failed", BadStatus::True, HealthState::Failed),
    ("Reconciling", BadStatus::True, HealthState::Progressing),
    ("Degraded", BadStatus::True, HealthState::Degraded),
    ("Synced", BadStatus::False, HealthState::Degraded),
    ("Healthy", BadStatus::False, HealthState::Degraded),
    ("Ready", BadStatus::NotTrue, HealthState::Progressing),
    ("Available", BadStatus::NotTrue, HealthState::Progressing),
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
            BadStatus::True => condition.is("True"),
            BadStatus::False => condition.is("False"),
            BadStatus::NotTrue => !condition.is("True"),
        };
        if bad {
            return Health::new(*state, condition.words_or(kind));
        }
    }
    Health::ready()
}
