//! Values that earlier applies set and that a new one does not give.

use std::collections::BTreeSet;

use crate::candidate::Candidate;
use crate::record::Change;
use crate::values::Value;

/// The paths of values that the current change was given, that the candidate was not given, and
/// that are different now. What cannot be told is left out.
pub fn dropped_values(current: &Change, candidate: &Candidate) -> Vec<String> {
    let given: BTreeSet<&str> = candidate.set.iter().map(String::as_str).collect();
    let lost = current.set.iter().filter(|path| !is_given(path, &given));
    let before = current.values.here();
    let (Some(before), Some(now)) = (
        before.and_then(|values| Value::from_cue(&values.0)),
        Value::from_cue(&candidate.values),
    ) else {
        return Vec::new();
    };
    let differs = |path: &&String| before.at_path(path) != now.at_path(path);
    lost.filter(differs).cloned().collect()
}

/// Whether the path, or one that it leads through, is given.
fn is_given(path: &str, given: &BTreeSet<&str>) -> bool {
    let around = path.match_indices('.').map(|(at, _)| &path[..at]);
    given.contains(path) || around.into_iter().any(|outer| given.contains(outer))
}
