//! Claims and volumes: protected while they exist, released when they are to go.

use super::Subject;
use crate::status::ApiError;

/// Nothing uses a volume here: the protection ends as soon as somebody asks.
pub(super) fn release(subject: &Subject<'_>) -> Result<(), ApiError> {
    let name = match subject.resource.kind.as_str() {
        "PersistentVolumeClaim" => "kubernetes.io/pvc-protection",
        _ => "kubernetes.io/pv-protection",
    };
    subject.without_finalizer(name)
}
