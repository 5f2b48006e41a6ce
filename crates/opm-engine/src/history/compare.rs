//! `history --diff`: what a change changed.

use std::collections::BTreeMap;

use opm_core::diff::FieldChange;
use opm_core::history::{ObjectChange, between, values_between};
use opm_core::manifest::Manifest;
use opm_core::record::{Change, Record};
use opm_core::values::Value;
use serde::Serialize;

use super::restored::values_of;
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
    /// The values in which it differs.
    pub values: Vec<FieldChange>,
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
        let before = match from {
            Some(from) => self.readable_values(&release, from).await?,
            None => Some(Value::Struct(BTreeMap::new())),
        };
        let after = self.readable_values(&release, to).await?;
        let mut warnings = past.warnings;
        let values = match (before, after) {
            (Some(before), Some(after)) => values_between(&before, &after, &[&old, &new]),
            _ => {
                warnings.push("their values are not kept, so only objects are compared".to_owned());
                Vec::new()
            }
        };
        Ok(Comparison {
            from: from.map(|change| change.id.clone()),
            to: to.id.clone(),
            values,
            objects: between(&old, &new),
            warnings,
            release,
        })
    }

    /// The values of a change, if they are still kept.
    async fn readable_values(
        &self,
        release: &Release,
        change: &Change,
    ) -> Result<Option<Value>, Failure> {
        let change = self.whole_change(release, change).await?;
        Ok(values_of(&change).and_then(|values| Value::from_cue(&values.0)))
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
