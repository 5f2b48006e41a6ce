//! Taking labels and field managers off one object: a merge patch that names the uid and the
//! version it was made for.

use opm_engine::ports::{ApiError, ApiErrorKind, DisownObject, Permit};
use serde_json::{Map, Value, json};

use crate::client::ClusterClient;
use crate::discovery::place;
use crate::json::{self, Object};
use crate::send::SendOptions;

impl ClusterClient {
    pub(crate) async fn disown_one(
        &self,
        request: &DisownObject<'_>,
        permit: Permit<'_>,
    ) -> Result<(), ApiError> {
        let kind = &request.identity.group_kind;
        let served = self.served_kind(kind).await?;
        let place = place(kind, &served, request.identity.namespace.as_deref());
        let call = place.merge(&request.identity.name, &body(request), request.dry_run)?;
        let done = self
            .exchange(&call, SendOptions::writing(self, permit))
            .await;
        match done.result {
            Ok(answer) => {
                let name = &request.identity.name;
                let object: Object = json::read(&answer.body, &request.identity.to_string())?;
                place.expect(&object, name, Some(&request.disown.uid))
            }
            // What is gone has moved on, too.
            Err(error) if error.kind == ApiErrorKind::NotFound => Err(ApiError {
                kind: ApiErrorKind::Stale,
                ..error
            }),
            Err(error) => Err(error),
        }
    }
}

fn body(request: &DisownObject<'_>) -> Value {
    let disown = request.disown;
    let labels = disown.labels.iter().map(|key| (key.clone(), Value::Null));
    json!({"metadata": {
        "uid": disown.uid,
        "resourceVersion": disown.resource_version,
        "labels": Map::from_iter(labels),
        "managedFields": disown.managed_fields,
    }})
}

#[cfg(test)]
mod tests {
    use opm_core::check::Disown;
    use opm_core::identity::{GroupKind, Identity};

    use super::*;

    #[test]
    fn the_patch_is_bound_to_one_life_of_the_object() {
        let identity = Identity::new(GroupKind::new("", "ConfigMap"), Some("n"), "a");
        let disown = Disown {
            uid: "u".into(),
            resource_version: "7".into(),
            labels: vec!["x/y".into()],
            managed_fields: vec![json!({"manager": "kubectl"})],
        };
        let request = DisownObject {
            identity: &identity,
            disown: &disown,
            dry_run: false,
        };
        assert_eq!(
            body(&request),
            json!({"metadata": {"uid": "u", "resourceVersion": "7", "labels": {"x/y": null},
                "managedFields": [{"manager": "kubectl"}]}})
        );
    }
}
