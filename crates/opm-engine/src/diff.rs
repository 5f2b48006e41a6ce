//! What an apply would do, object by object and field by field: what `diff` comes to.
//!
//! How it is found out is `apply/dry_run`'s business. Values of Secrets are not in here: what
//! the core masks, it does not keep.

use opm_core::check::TransferredObject;
use opm_core::diff::FieldChange;
use opm_core::entry::Entry;
use opm_core::ids::ChangeId;
use opm_core::record::ReleaseState;
use opm_core::review::ReviewedPlan;
use opm_core::takeover::LeftoverField;

use serde::Serialize;

use crate::failure::{Failure, Remedy};
use crate::report::{Action, ObjectOutcome, Release, Report, TrackedObject};

/// One object, what would happen to it, and which of its fields would change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Which object, and what would happen to it.
    #[serde(flatten)]
    pub outcome: ObjectOutcome,
    /// The fields that would change, in a stable order. Of a new object, those that are
    /// rendered.
    pub changes: Vec<FieldChange>,
    /// Fields that the module does not render and that a replaced tool still owns: they stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<LeftoverField>,
}

impl Difference {
    /// Whether an apply would change anything about it.
    pub fn differs(&self) -> bool {
        self.outcome.action != Action::Unchanged
    }
}

/// What an apply would do.
#[derive(Debug, Clone)]
pub struct DiffReport {
    /// The release.
    pub release: Release,
    /// The change that an apply would make.
    pub change_id: ChangeId,
    /// The digest of its manifests.
    pub manifest_digest: String,
    /// The change that is recorded now.
    pub current: Option<String>,
    /// Every object that the plan names, in the order of the plan.
    pub objects: Vec<Difference>,
    /// Objects that the release would let go of, because they are another's by now.
    pub transferred: Vec<TransferredObject>,
    /// Objects that would still have to be cleaned up.
    pub pending: Vec<TrackedObject>,
    /// Objects that would be left standing on purpose.
    pub kept: Vec<TrackedObject>,
    /// Objects that carry the release's labels and that neither its record nor the render knows.
    /// An apply leaves them as they are.
    pub orphans: Vec<Entry>,
    /// The plan itself, to be held against later.
    pub plan: Option<ReviewedPlan>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What to do about it.
    pub remedies: Vec<Remedy>,
    /// How an apply would fail, as far as that can be told.
    pub would_fail: Option<Failure>,
}

impl DiffReport {
    /// Whether an apply would change anything, or something is there that nobody knows of.
    pub fn differs(&self) -> bool {
        !self.transferred.is_empty()
            || !self.orphans.is_empty()
            || self.objects.iter().any(Difference::differs)
    }

    /// The same without the fields: what a dry run reports.
    pub fn into_report(self) -> Result<Report, Failure> {
        let report = Report {
            release: Some(self.release),
            change_id: Some(self.change_id),
            manifest_digest: Some(self.manifest_digest),
            first_apply: self.current.is_none(),
            dry_run: true,
            resources: self.objects.into_iter().map(|one| one.outcome).collect(),
            pending: self.pending,
            kept: self.kept,
            state: ReleaseState::Live,
            warnings: self.warnings,
            remedies: self.remedies,
        };
        match self.would_fail {
            None => Ok(report),
            Some(failure) => Err(failure.after(report)),
        }
    }
}
