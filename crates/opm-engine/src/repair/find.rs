//! Which release is meant, when its record may not be there to say so.

use opm_core::labels;
use opm_core::name::ReleaseName;

use crate::delete::LabelLookup;
use crate::failure::{Failure, FailureKind, Remedy};
use crate::observe::AllKinds;
use crate::observe::UnseenKinds;
use crate::ports::{ApiErrorKind, StoredSecret};
use crate::report::Release;
use crate::request::{ReleaseRef, RepairRequest};
use crate::run::Run;

const RECORD: (&str, &str) = (labels::COMPONENT, labels::COMPONENT_RECORD);

impl Run<'_> {
    /// By a module's directory, that follows from the names alone. Else by its Secret, by its
    /// record Secrets, and by the labels of its objects, in this order.
    pub(super) async fn find_lost(
        &self,
        request: &RepairRequest,
        served: &AllKinds,
    ) -> Result<Release, Failure> {
        let (reference, namespace) = (&request.release, &request.namespace);
        match self.find(reference, namespace).await {
            Ok(Some(release)) => return Ok(release),
            Ok(None) => {}
            // Objects may be looked for where Secrets may not.
            Err(failure) if failure.kind == FailureKind::NotPermitted => {}
            Err(failure) => return Err(failure),
        }
        if let Some(release) = self.find_by_records(request).await? {
            return Ok(release);
        }
        match self.find_by_labels(reference, namespace, served).await? {
            LabelLookup::Found(release) => Ok(release),
            LabelLookup::Unknown { sharing, unseen } => {
                let name = reference.to_string();
                let failure = nothing_left(&name, namespace.as_str(), unseen);
                let ids = sharing.iter();
                Err(ids.fold(failure, |failure, id| {
                    failure.remedy(format!(
                        "release {id} shares objects under that name: name it by its id"
                    ))
                }))
            }
        }
    }

    async fn find_by_records(&self, request: &RepairRequest) -> Result<Option<Release>, Failure> {
        let (label, value) = match &request.release {
            ReleaseRef::Name(name) => (labels::RELEASE_NAME, name.to_string()),
            ReleaseRef::Id(id) => (labels::RELEASE_ID, id.to_string()),
            ReleaseRef::Module { .. } => return Ok(None),
        };
        let namespace = &request.namespace;
        let selector = [(label, value.as_str()), RECORD];
        let found = match self
            .backend
            .list_secrets(Some(namespace.as_str()), &selector)
            .await
        {
            Ok(found) => found,
            Err(error) if error.kind == ApiErrorKind::Forbidden => return Ok(None),
            Err(error) => {
                let what = format!("cannot look for records in namespace {namespace}");
                return Err(Failure::before_writing(&what, &error));
            }
        };
        let mut releases: Vec<Release> = found
            .iter()
            .filter_map(|stored| named_by_labels(stored, namespace))
            .collect();
        releases.sort_by_key(|release| release.id);
        releases.dedup();
        if releases.len() < 2 {
            return Ok(releases.pop());
        }
        let ids: Vec<String> = releases.iter().map(|r| r.id.to_string()).collect();
        let message = format!(
            "{value} names more than one release in namespace {namespace}: ids {}",
            ids.join(", ")
        );
        Err(Failure::refused(message).remedy(Remedy::NameById))
    }
}

fn named_by_labels(
    stored: &StoredSecret,
    namespace: &opm_core::name::NamespaceName,
) -> Option<Release> {
    let label = |name: &str| stored.content.labels.get(name);
    Some(Release {
        name: ReleaseName::new(label(labels::RELEASE_NAME)?.as_str()).ok()?,
        namespace: namespace.clone(),
        id: label(labels::RELEASE_ID)?.parse().ok()?,
    })
}

/// Neither a record nor an object knows of it.
pub(super) fn nothing_left(name: &str, namespace: &str, unseen: UnseenKinds) -> Failure {
    if unseen.count > 0 {
        let message = format!(
            "cannot tell whether something is left of a release {name} in namespace {namespace}: \
             no record was found, and {} kinds could not be listed",
            unseen.count
        );
        let (kind, remedy) = match unseen.failed {
            true => (
                FailureKind::Unreachable,
                "try again when the server answers",
            ),
            false => (
                FailureKind::NotPermitted,
                "ask for the right to list what the release may have there",
            ),
        };
        return Failure::new(kind, message).remedy(remedy);
    }
    let message = format!(
        "nothing is left of a release {name} in namespace {namespace}: no record, and no object \
         with its labels"
    );
    Failure::new(FailureKind::NotFound, message).remedy(Remedy::ListReleasesOrNamespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_only_where_everything_was_seen() {
        let table = [
            // kinds that could not be listed, one of them for another reason than rights
            (0, false, FailureKind::NotFound),
            (2, false, FailureKind::NotPermitted),
            (2, true, FailureKind::Unreachable),
        ];
        for (count, failed, kind) in table {
            let failure = nothing_left("app", "games", UnseenKinds { count, failed });
            assert_eq!(failure.kind, kind, "{failure:?}");
        }
    }
}
