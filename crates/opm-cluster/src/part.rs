//! Taking labels and field managers off one object: a merge patch that names the uid and the
//! version it was made for.

use opm_engine::ports::{ApiError, ErrorKind, Gate, PartObject};
use serde_json::{Map, Value, json};

use crate::client::ClusterClient;
use crate::discovery::place;
use crate::send::Sending;

impl ClusterClient {
    pub(crate) async fn part_one(
        &self,
        request: &PartObject<'_>,
        gate: &Gate,
    ) -> Result<(), ApiError> {
        let kind = &request.identity.group_kind;
        let served = self.served_kind(kind).await?;
        let place = place(kind, &served, request.identity.namespace.as_deref());
        let call = place.merge(&request.identity.name, &body(request), request.dry_run)?;
        let done = self.exchange(&call, Sending::writing(self, gate)).await;
        match done.result {
            Ok(_) => Ok(()),
            // What is gone has moved on, too.
            Err(error) if error.kind == ErrorKind::NotFound => Err(ApiError {
                kind: ErrorKind::Stale,
                ..error
            }),
            Err(error) => Err(error),
        }
    }
}

fn body(request: &PartObject<'_>) -> Value {
    let parting = request.parting;
    let labels = parting.labels.iter().map(|key| (key.clone(), Value::Null));
    json!({"metadata": {
        "uid": parting.uid,
        "resourceVersion": parting.resource_version,
        "labels": Map::from_iter(labels),
        "managedFields": parting.managed_fields,
    }})
}

#[cfg(test)]
mod tests {
    use opm_core::check::Parting;
    use opm_core::identity::{GroupKind, Identity};

    use super::*;

    #[test]
    fn the_patch_is_bound_to_one_life_of_the_object() {
        let identity = Identity::new(GroupKind::new("", "ConfigMap"), Some("n"), "a");
        let parting = Parting {
            uid: "u".into(),
            resource_version: "7".into(),
            labels: vec!["x/y".into()],
            managed_fields: vec![json!({"manager": "kubectl"})],
        };
        let request = PartObject {
            identity: &identity,
            parting: &parting,
            dry_run: false,
        };
        assert_eq!(
            body(&request),
            json!({"metadata": {"uid": "u", "resourceVersion": "7", "labels": {"x/y": null},
                "managedFields": [{"manager": "kubectl"}]}})
        );
    }
}
