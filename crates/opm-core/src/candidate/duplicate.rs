//! The same object twice in one render, also through two components or two API versions.

use std::collections::HashMap;

use super::{CandidateError, CandidateHook, CandidateObject};
use crate::identity::Identity;
use crate::name::ComponentName;

/// An object that was rendered more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// Which object.
    pub identity: Identity,
    /// Component and API version of each time.
    pub places: Vec<(ComponentName, String)>,
}

/// Refuses duplicates among objects in apply order, where they stand side by side.
pub(super) fn refuse(sorted: &[CandidateObject]) -> Result<(), CandidateError> {
    let duplicates: Vec<Duplicate> = sorted
        .chunk_by(|a, b| a.manifest.identity() == b.manifest.identity())
        .filter(|same| same.len() > 1)
        .map(|same| Duplicate {
            identity: same[0].manifest.identity().clone(),
            places: same
                .iter()
                .map(|o| (o.component.clone(), o.manifest.api_version()))
                .collect(),
        })
        .collect();
    match duplicates.is_empty() {
        true => Ok(()),
        false => Err(CandidateError::Duplicates(duplicates)),
    }
}

/// Refuses hooks that are objects of the release too. Two hooks may be one object: each runs at its
/// own moment.
pub(super) fn refuse_hooks(
    objects: &[CandidateObject],
    hooks: &[CandidateHook],
) -> Result<(), CandidateError> {
    let by_identity: HashMap<&Identity, &CandidateObject> = objects
        .iter()
        .map(|one| (one.manifest.identity(), one))
        .collect();
    let place = |one: &CandidateObject| (one.component.clone(), one.manifest.api_version());
    let duplicates: Vec<Duplicate> = hooks
        .iter()
        .filter_map(|hook| {
            let identity = hook.object.manifest.identity();
            let object = by_identity.get(identity)?;
            Some(Duplicate {
                identity: identity.clone(),
                places: vec![place(object), place(&hook.object)],
            })
        })
        .collect();
    match duplicates.is_empty() {
        true => Ok(()),
        false => Err(CandidateError::Duplicates(duplicates)),
    }
}
