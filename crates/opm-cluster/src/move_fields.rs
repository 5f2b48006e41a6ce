//! Managed fields that change hands, and what an object would become after that: merge patches
//! that name the uid and the version they were made for.

use opm_engine::ports::{ApiError, ApiErrorKind, MoveFields, Permit, PretendedPatch};
use serde_json::{Map, Value, json};

use crate::client::ClusterClient;
use crate::discovery::place;
use crate::json::{self as read, Object};
use crate::list::name_kind;
use crate::request::Place;
use crate::send::SendOptions;

impl ClusterClient {
    pub(crate) async fn move_fields_of(
        &self,
        request: &MoveFields<'_>,
        permit: Permit<'_>,
    ) -> Result<(), ApiError> {
        let kind = &request.identity.group_kind;
        let served = self.served_kind(kind).await?;
        let place = place(kind, &served, request.identity.namespace.as_deref());
        let call = place.merge(&request.identity.name, &moved(request), false)?;
        let done = self
            .exchange(&call, SendOptions::writing(self, permit))
            .await;
        let answer = done.result.map_err(gone_is_stale)?;
        let object: Object = read::read(&answer.body, &request.identity.to_string())?;
        place.expect(&object, &request.identity.name, Some(&request.moved.uid))
    }

    pub(crate) async fn pretend_patch_of(
        &self,
        request: &PretendedPatch<'_>,
        permit: Permit<'_>,
    ) -> Result<Object, ApiError> {
        let identity = request.identity;
        let served = self.served_kind(&identity.group_kind).await?;
        let place = Place {
            group: identity.group(),
            version: request.version,
            plural: &served.plural,
            kind: &identity.group_kind.kind,
            namespace: identity.namespace.as_deref(),
        };
        let call = place.merge(&identity.name, &pretended(request), true)?;
        let done = self
            .exchange(&call, SendOptions::writing(self, permit))
            .await;
        let answer = done.result.map_err(gone_is_stale)?;
        let mut object: Object = read::read(&answer.body, &identity.to_string())?;
        place.expect(&object, &identity.name, Some(request.uid))?;
        name_kind(&mut object, &identity.group_kind, request.version);
        Ok(object)
    }
}

/// What is gone has moved on, too.
fn gone_is_stale(error: ApiError) -> ApiError {
    match error.kind {
        ApiErrorKind::NotFound => ApiError {
            kind: ApiErrorKind::Stale,
            ..error
        },
        _ => error,
    }
}

fn moved(request: &MoveFields<'_>) -> Value {
    let moved = request.moved;
    json!({"metadata": {
        "uid": moved.uid,
        "resourceVersion": moved.resource_version,
        "managedFields": moved.managed_fields,
    }})
}

fn pretended(request: &PretendedPatch<'_>) -> Value {
    let mut patch = Value::Object(request.patch.clone());
    if !patch["metadata"].is_object() {
        patch["metadata"] = Value::Object(Map::new());
    }
    patch["metadata"]["uid"] = json!(request.uid);
    patch["metadata"]["resourceVersion"] = json!(request.resource_version);
    patch
}

#[cfg(test)]
mod tests {
    use opm_core::identity::{GroupKind, Identity};
    use opm_core::takeover::{RetiredManagers, Takeover, moved_fields};

    use super::*;

    #[test]
    fn both_patches_are_bound_to_one_version_of_one_object() {
        let identity = Identity::new(GroupKind::new("", "ConfigMap"), Some("n"), "a");
        let entry = |manager: &str| {
            json!({"manager": manager, "operation": "Apply",
            "fieldsV1": {"f:data": {"f:a": {}}}})
        };
        let live = json!({"data": {"a": "1"}, "metadata": {"uid": "u", "resourceVersion": "7",
            "managedFields": [entry("opm"), entry("helm")]}});
        let retired = RetiredManagers::default();
        let takeover = Takeover {
            kind: &identity.group_kind,
            manager: "opm",
            retired: &retired,
            replicas_stay: false,
        };
        let fields = moved_fields(live.as_object().unwrap(), &takeover).unwrap();
        let request = MoveFields {
            identity: &identity,
            moved: &fields,
        };
        assert_eq!(
            moved(&request),
            json!({"metadata": {"uid": "u", "resourceVersion": "7",
                "managedFields": [entry("opm")]}})
        );
        let patch = json!({"data": {"a": null}});
        let request = PretendedPatch {
            identity: &identity,
            version: "v1",
            uid: "u",
            resource_version: "7",
            patch: patch.as_object().unwrap(),
        };
        assert_eq!(
            pretended(&request),
            json!({"data": {"a": null}, "metadata": {"uid": "u", "resourceVersion": "7"}})
        );
    }
}
