//! What a change was made of, read back and verified.

use opm_core::history::{RestoreError, restore};
use opm_core::name::ComponentName;
use opm_core::record::{Body, Change, Values};
use opm_core::rendered::Rendered;
use thiserror::Error;

use super::unavailable;
use crate::failure::Failure;
use crate::record::ManifestsError;
use crate::report::Release;
use crate::run::Run;

/// A change as it can be applied again.
#[derive(Debug, Clone)]
pub(crate) struct RestoredChange {
    pub(crate) change: Change,
    pub(crate) rendered: Rendered,
}

/// Why a change cannot be had as it was applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum RestoredChangeError {
    #[error(transparent)]
    Manifests(#[from] ManifestsError),
    #[error("its values are no longer there")]
    NoValues,
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

impl RestoredChangeError {
    /// The failure of a command that needs the change.
    pub(crate) fn failure(&self, id: &str) -> Failure {
        match self {
            Self::Manifests(error) => unavailable(id, error),
            Self::NoValues | Self::Restore(_) => {
                Failure::refused(format!("{id}: {self}")).because(self.clone())
            }
        }
    }
}

impl RestoredChange {
    /// The optional components that belonged to it.
    pub(crate) fn selection(&self) -> Vec<ComponentName> {
        let names = self.change.components.iter().flatten();
        names
            .filter_map(|name| ComponentName::new(name).ok())
            .collect()
    }
}

impl Run<'_> {
    /// A change as it was applied: its manifests, its values, its components and their order.
    pub(crate) async fn restored(
        &self,
        release: &Release,
        change: &Change,
    ) -> Result<RestoredChange, RestoredChangeError> {
        let manifests = self.manifests_of(release, change).await?;
        let values = values_of(change).ok_or(RestoredChangeError::NoValues)?;
        let rendered = restore(change, &values.0, manifests)?;
        Ok(RestoredChange {
            change: change.clone(),
            rendered,
        })
    }
}

/// The values of a change, where the record has them.
pub(crate) fn values_of(change: &Change) -> Option<&Values> {
    match &change.values {
        Body::Here(values) => Some(values),
        Body::InRecord => None,
    }
}
