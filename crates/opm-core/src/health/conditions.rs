//! Kinds that tell how they are by conditions, custom resources above all.

use super::Health;
use super::fields::Fields;

pub(super) fn definition(fields: &Fields<'_>) -> Health {
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

/// The conditions that controllers agree on most: `Stalled` for what will not mend itself,
/// then `Ready` or `Available`. An object without any of them is ready.
pub(super) fn generic(fields: &Fields<'_>) -> Health {
    if let Some(stalled) = fields.condition("Stalled")
        && stalled.is("True")
    {
        return Health::failed(stalled.words());
    }
    if let Some(reconciling) = fields.condition("Reconciling")
        && reconciling.is("True")
    {
        return Health::progressing(reconciling.words());
    }
    for kind in ["Ready", "Available"] {
        if let Some(condition) = fields.condition(kind)
            && !condition.is("True")
        {
            return Health::progressing(condition.words());
        }
    }
    Health::ready()
}
