//! `show`: the values and the manifests of a change, as they are recorded.

use opm_core::history::{failed_run, masked};
use opm_core::manifest::Manifest;
use opm_core::record::{Change, Record};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::restored::values_of;
use super::{find_change, readable};
use crate::failure::{Failure, FailureKind, Remedy};
use crate::ports::ApiErrorKind;
use crate::record::ManifestsError;
use crate::report::Release;
use crate::request::ShowRequest;
use crate::run::Run;

/// The recorded values of a change.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ShownValues {
    /// Whose.
    pub release: Release,
    /// Of which change.
    #[serde(rename = "changeId")]
    pub change: String,
    /// The values, as CUE text.
    #[serde(serialize_with = "as_document")]
    pub values: String,
    /// The paths of those that were given, and are not the module's own.
    pub set: Vec<String>,
}

/// The values themselves, for scripts; their text if it is not as `opm` writes it.
fn as_document<S: Serializer>(values: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match opm_core::values::Value::from_cue(values) {
        Some(values) => values.to_json().serialize(serializer),
        None => values.serialize(serializer),
    }
}

/// One recorded object.
#[derive(Clone, PartialEq, Serialize)]
pub struct ShownObject {
    /// The component that rendered it.
    pub component: String,
    /// The object; what a Secret holds is masked unless it was asked for.
    pub object: Map<String, Value>,
}

/// The recorded manifests of a change.
#[derive(Clone, PartialEq, Serialize)]
pub struct ShownManifests {
    /// Whose.
    pub release: Release,
    /// Of which change.
    #[serde(rename = "changeId")]
    pub change: String,
    /// Their digest, which they were verified by.
    #[serde(rename = "manifestDigest")]
    pub digest: String,
    /// The objects, in apply order.
    #[serde(rename = "resources")]
    pub objects: Vec<ShownObject>,
}

impl Run<'_> {
    /// The values of a change.
    pub(crate) async fn show_values(&self, request: &ShowRequest) -> Result<ShownValues, Failure> {
        let past = self.past(&request.release, &request.namespace).await?;
        let (release, record) = (past.release, past.record);
        let change = &self.shown_change(&release, &record, request).await?;
        let values = values_of(change).ok_or_else(|| {
            let message = format!("{}: its values are not in the record", change.id);
            Failure::new(FailureKind::Refused, message)
        })?;
        Ok(ShownValues {
            release,
            change: change.id.clone(),
            values: values.0.clone(),
            set: change.set.clone(),
        })
    }

    /// The manifests of a change.
    pub(crate) async fn show_manifests(
        &self,
        request: &ShowRequest,
    ) -> Result<ShownManifests, Failure> {
        let past = self.past(&request.release, &request.namespace).await?;
        let (release, record) = (past.release, past.record);
        let change = &self.shown_change(&release, &record, request).await?;
        let manifests = self.manifests_of(&release, change).await;
        let manifests = manifests.map_err(|error| unavailable(&change.id, &error))?;
        let objects = manifests.into_iter().map(|manifest| ShownObject {
            component: component_of(change, &manifest),
            object: match request.reveal {
                true => manifest.into_object(),
                false => masked(&manifest),
            },
        });
        Ok(ShownManifests {
            objects: objects.collect(),
            release,
            change: change.id.clone(),
            digest: change.manifest_digest.clone(),
        })
    }

    /// The change that is asked for: a recorded one, or one that a failed run was to record and
    /// whose manifests are still kept.
    async fn shown_change(
        &self,
        release: &Release,
        record: &Record,
        request: &ShowRequest,
    ) -> Result<Change, Failure> {
        let revision = request.revision.as_deref();
        let failure = match asked_for(record, revision) {
            Ok(change) => return self.whole_change(release, change).await,
            Err(failure) => failure,
        };
        let failed = revision.and_then(|given| failed_run(record, given));
        match failed {
            Some((id, kept)) => self.failed_change(release, id, kept).await,
            None => Err(failure),
        }
    }
}

fn asked_for<'a>(record: &'a Record, revision: Option<&str>) -> Result<&'a Change, Failure> {
    match (revision, record.history.first()) {
        (Some(given), _) => find_change(record, given),
        (None, Some(current)) => readable(record, &current.id),
        (None, None) if !record.past.is_empty() => Err(Failure::refused(
            "which change is current is not known, so the one to show has to be named",
        )
        .remedy(Remedy::NameRevision)),
        (None, None) => Err(Failure::new(
            FailureKind::NotFound,
            "the release has no recorded change yet",
        )
        .remedy(Remedy::ShowDeployments)),
    }
}

fn component_of(change: &Change, manifest: &Manifest) -> String {
    let mut entries = change.entries().iter();
    let found = entries.find(|recorded| recorded.entry.identity == *manifest.identity());
    let labelled = manifest.label(opm_core::labels::COMPONENT_NAME);
    let component = found.map(|recorded| recorded.entry.component.as_str());
    component.or(labelled).unwrap_or_default().to_owned()
}

/// The manifests of a change cannot be had.
pub(crate) fn unavailable(id: &str, error: &ManifestsError) -> Failure {
    let kind = match error {
        ManifestsError::Forbidden(_) => FailureKind::NotPermitted,
        ManifestsError::Unread(error) if error.kind == ApiErrorKind::Unreachable => {
            FailureKind::Unreachable
        }
        _ => FailureKind::Refused,
    };
    let failure = Failure::new(kind, format!("{id}: {error}")).because(error.clone());
    match error {
        ManifestsError::NotKept | ManifestsError::Dropped(_) | ManifestsError::Missing(_) => {
            failure.remedy(Remedy::ShowWaysBack)
        }
        ManifestsError::Truncated { .. }
        | ManifestsError::Damaged(_)
        | ManifestsError::DigestDiffers { .. } => failure
            .remedy("somebody changed the Secrets that hold it; other changes are not affected"),
        ManifestsError::Forbidden(_) | ManifestsError::Unread(_) => failure,
    }
}
