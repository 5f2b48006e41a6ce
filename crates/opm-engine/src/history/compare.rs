//! `history --diff`: what a change changed.

use opm_core::history::{ObjectChange, between};
use opm_core::manifest::Manifest;
use opm_core::record::{Change, Record};
use serde::Serialize;

use super::{find_change, unavailable};
use crate::failure::{Failure, FailureKind, Remedy};
use crate::report::Release;
use crate::request::{CompareRequest, ComparedChanges};
use crate::run::Run;

/// Two changes side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Whose.
    pub release: Release,
    /// The change that is compared with; none for the first of all.
    pub from: Option<String>,
    /// The change that is looked at.
    pub to: String,
    /// The objects in which it differs.
    pub objects: Vec<ObjectChange>,
    /// What the user should know.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

impl Run<'_> {
    /// What a change changed against the one before it, or how any two differ.
    pub(crate) async fn compare(&self, request: &CompareRequest) -> Result<Comparison, Failure> {
        let past = self.past(&request.release, &request.namespace).await?;
        let (release, record) = (past.release, past.record);
        let record = &record;
        let (from, to) = match &request.compared {
            ComparedChanges::Two(from, to) => {
                (Some(find_change(record, from)?), find_change(record, to)?)
            }
            ComparedChanges::One(given) => {
                let to = find_change(record, given)?;
                (predecessor(record, to)?, to)
            }
        };
        let new = self.readable_manifests(&release, to).await?;
        let old = match from {
            Some(from) => self.readable_manifests(&release, from).await?,
            None => Vec::new(),
        };
        Ok(Comparison {
            from: from.map(|change| change.id.clone()),
            to: to.id.clone(),
            objects: between(&old, &new),
            warnings: past.warnings,
            release,
        })
    }

    async fn readable_manifests(
        &self,
        release: &Release,
        change: &Change,
    ) -> Result<Vec<Manifest>, Failure> {
        let manifests = self.manifests_of(release, change).await;
        manifests.map_err(|error| unavailable(&change.id, &error))
    }
}

/// The change that was current before. One that has dropped out of the history can be compared
/// with no more.
fn predecessor<'a>(record: &'a Record, change: &Change) -> Result<Option<&'a Change>, Failure> {
    let Some(parent) = &change.parent else {
        return Ok(None);
    };
    record.change(parent).map(Some).ok_or_else(|| {
        let message = format!(
            "{}: the change before it, {parent}, is no longer in the history",
            change.id
        );
        Failure::new(FailureKind::NotFound, message).remedy(Remedy::CompareTwo)
    })
}
