//! One delete, guarded by uid, with everything in its body.

use opm_engine::ports::{
    ApiError, ApiErrorKind, DeleteObject, DeleteOutcome, Permit, Propagation, RemoveOutcome,
    ServedKind,
};
use serde_json::{Value, json};

use crate::client::ClusterClient;
use crate::discovery::{ResolvedKind, not_reachable, place, resolve};
use crate::errors::StatusBody;
use crate::json::{self, Object};
use crate::request::{Call, Place, secrets};
use crate::send::{Answer, Exchange, SendOptions};

impl ClusterClient {
    pub(crate) async fn delete_one(
        &self,
        request: &DeleteObject<'_>,
        permit: Permit<'_>,
    ) -> Result<DeleteOutcome, ApiError> {
        let kind = &request.identity.group_kind;
        let served = match resolve(&*self.served_with([kind]).await?, kind) {
            ResolvedKind::Served(served) => served,
            // Nothing of this kind can be left.
            ResolvedKind::NotServed => return Ok(DeleteOutcome::WasGone),
            silent => return Err(not_reachable(kind, &silent)),
        };
        match Box::pin(self.delete_at(request, &served, permit)).await {
            Err(error) if error.kind == ApiErrorKind::KindNotServed => {}
            done => return done,
        }
        // The kind is not where it was found: gone with its definition, if the server says so
        // itself, or served in another version by now.
        match resolve(&*self.discover().await?, kind) {
            ResolvedKind::NotServed => Ok(DeleteOutcome::WasGone),
            ResolvedKind::Served(now) if now != served => {
                Box::pin(self.delete_at(request, &now, permit)).await
            }
            resolved => Err(not_reachable(kind, &resolved)),
        }
    }

    async fn delete_at(
        &self,
        request: &DeleteObject<'_>,
        served: &ServedKind,
        permit: Permit<'_>,
    ) -> Result<DeleteOutcome, ApiError> {
        let namespace = request.identity.namespace.as_deref();
        let place = place(&request.identity.group_kind, served, namespace);
        let call = place.delete(&request.identity.name, &body(request))?;
        let writing = SendOptions::writing(self, permit);
        let done = self.exchange(&call, writing).await;
        if let Err(error) = &done.result
            && error.kind == ApiErrorKind::KindNotServed
        {
            return Err(error.clone());
        }
        outcome(done, place, &request.identity.name, request.uid)
    }

    /// Removes a Secret with this uid and, if given, at this resourceVersion.
    pub(crate) async fn delete_secret(
        &self,
        (namespace, name): (&str, &str),
        uid: &str,
        resource_version: Option<&str>,
        permit: Permit<'_>,
    ) -> Result<RemoveOutcome, ApiError> {
        let options = options(uid, resource_version, Propagation::Background, false);
        let place = secrets(Some(namespace));
        let call: Call = place.delete(name, &options)?;
        let done = self
            .exchange(&call, SendOptions::writing(self, permit))
            .await;
        match &done.result {
            Err(error) if error.kind == ApiErrorKind::Stale => Ok(RemoveOutcome::Lost),
            _ => outcome(done, place, name, uid).map(|_| RemoveOutcome::Gone),
        }
    }
}

/// What the answers to a delete mean.
fn outcome(
    done: Exchange,
    place: Place<'_>,
    name: &str,
    uid: &str,
) -> Result<DeleteOutcome, ApiError> {
    let error = match done.result {
        Ok(answer) => return accepted(&answer, place, name, uid),
        Err(error) => error,
    };
    match error.kind {
        // After an attempt that was not answered, it is that one which succeeded.
        ApiErrorKind::NotFound if done.in_doubt => Ok(DeleteOutcome::Gone),
        ApiErrorKind::NotFound | ApiErrorKind::NamespaceMissing => Ok(DeleteOutcome::WasGone),
        ApiErrorKind::Stale if another_uid(&error) => Ok(DeleteOutcome::WasGone),
        ApiErrorKind::Stale if already_terminating(&error) => Ok(DeleteOutcome::Accepted),
        _ => Err(error),
    }
}

fn another_uid(error: &ApiError) -> bool {
    error.message.contains("the UID in the precondition")
}

/// How the server answers the second delete of a Namespace that is on its way out.
fn already_terminating(error: &ApiError) -> bool {
    error
        .message
        .contains("The system is ensuring all content is removed from this namespace")
}

/// Whether an accepted delete has removed the object or only marked it. The answer is a
/// `Status` or the object as it last was.
fn accepted(
    answer: &Answer,
    place: Place<'_>,
    name: &str,
    uid: &str,
) -> Result<DeleteOutcome, ApiError> {
    let what = format!("the delete of {}/{name}", place.kind);
    let object: Object = json::read(&answer.body, &what)?;
    if object.get("kind").and_then(Value::as_str) == Some("Status") {
        let said = StatusBody::read(&answer.body);
        return match (said, answer.status) {
            (Some(said), 202) if said.accepts(name, uid) => Ok(DeleteOutcome::Accepted),
            (Some(said), _) if said.accepts(name, uid) => Ok(DeleteOutcome::Gone),
            _ => Err(ApiError::local(
                ApiErrorKind::Rejected,
                format!("the server did not say of {what} that it succeeded"),
            )),
        };
    }
    place.expect(&object, name, Some(uid))?;
    let metadata = object.get("metadata");
    let list = |value: Option<&Value>| {
        value
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    let finalizers = list(metadata.and_then(|metadata| metadata.get("finalizers")))
        || list(object.get("spec").and_then(|spec| spec.get("finalizers")));
    let grace = metadata
        .and_then(|metadata| metadata.get("deletionGracePeriodSeconds"))
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let marked = json::metadata(&object, "deletionTimestamp").is_some();
    match marked && (finalizers || grace > 0) {
        true => Ok(DeleteOutcome::Accepted),
        false => Ok(DeleteOutcome::Gone),
    }
}

fn body(request: &DeleteObject<'_>) -> Value {
    options(
        request.uid,
        request.resource_version,
        request.propagation,
        request.dry_run,
    )
}

fn options(
    uid: &str,
    resource_version: Option<&str>,
    propagation: Propagation,
    dry_run: bool,
) -> Value {
    let mut options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid},
        "propagationPolicy": match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        },
    });
    if let Some(version) = resource_version {
        options["preconditions"]["resourceVersion"] = json!(version);
    }
    if dry_run {
        options["dryRun"] = json!(["All"]);
    }
    options
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn answer(status: u16, body: &Value) -> Answer {
        Answer {
            status,
            date: opm_engine::ports::Timestamp(std::time::Duration::ZERO),
            body: Bytes::from(body.to_string()),
            _turn: None,
        }
    }

    #[test]
    fn marked_is_not_gone() {
        let metadata = |mut metadata: Value| {
            metadata["name"] = json!("x");
            metadata["uid"] = json!("u");
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
        };
        let at = "2026-11-15T09:30:00Z";
        for (status, body, expected) in [
            (
                200,
                json!({"kind": "Status", "status": "Success"}),
                DeleteOutcome::Gone,
            ),
            (
                202,
                json!({"kind": "Status", "status": "Success"}),
                DeleteOutcome::Accepted,
            ),
            (200, metadata(json!({"name": "x"})), DeleteOutcome::Gone),
            (
                200,
                metadata(json!({"deletionTimestamp": at, "deletionGracePeriodSeconds": 30})),
                DeleteOutcome::Accepted,
            ),
            (
                200,
                metadata(json!({"deletionTimestamp": at, "deletionGracePeriodSeconds": 0})),
                DeleteOutcome::Gone,
            ),
            (
                200,
                metadata(json!({"deletionTimestamp": at, "finalizers": ["a/b"]})),
                DeleteOutcome::Accepted,
            ),
            (
                200,
                {
                    let mut namespace = metadata(json!({"deletionTimestamp": at}));
                    namespace["spec"] = json!({"finalizers": ["kubernetes"]});
                    namespace
                },
                DeleteOutcome::Accepted,
            ),
        ] {
            let found = accepted(&answer(status, &body), PODS, "x", "u");
            assert_eq!(found.unwrap(), expected, "{body}");
        }
    }

    const PODS: Place<'static> = Place {
        group: "",
        version: "v1",
        plural: "pods",
        kind: "Pod",
        namespace: None,
    };

    #[test]
    fn an_answer_about_something_else_does_not_say_that_it_is_gone() {
        let success =
            |details: Value| json!({"kind": "Status", "status": "Success", "details": details});
        for body in [
            json!({}),
            json!({"kind": "Status", "status": "Failure"}),
            json!({"kind": "Status"}),
            success(json!({"name": "y"})),
            success(json!({"name": "x", "uid": "v"})),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "uid": "v"}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y", "uid": "u"}}),
        ] {
            let found = accepted(&answer(200, &body), PODS, "x", "u");
            assert!(found.is_err(), "{body}");
        }
        let named = success(json!({"name": "x", "uid": "u", "kind": "pods"}));
        let found = accepted(&answer(200, &named), PODS, "x", "u");
        assert_eq!(found.unwrap(), DeleteOutcome::Gone);
    }

    #[test]
    fn what_a_refusal_means() {
        let says = |kind, message: &str, in_doubt| Exchange {
            result: Err(ApiError::local(kind, message.to_owned())),
            in_doubt,
            may_still_land: in_doubt,
        };
        let refused = |done| outcome(done, PODS, "x", "u");
        let uid = "the UID in the precondition (A) does not match the UID in record (B)";
        let version = "the ResourceVersion in the precondition (1) does not match";
        assert_eq!(
            refused(says(ApiErrorKind::NotFound, "", false)).unwrap(),
            DeleteOutcome::WasGone
        );
        assert_eq!(
            refused(says(ApiErrorKind::NotFound, "", true)).unwrap(),
            DeleteOutcome::Gone
        );
        assert_eq!(
            refused(says(ApiErrorKind::Stale, uid, false)).unwrap(),
            DeleteOutcome::WasGone
        );
        assert!(refused(says(ApiErrorKind::Stale, version, false)).is_err());
        assert!(refused(says(ApiErrorKind::KindNotServed, "", false)).is_err());
        assert!(refused(says(ApiErrorKind::Forbidden, "", true)).is_err());
    }

    #[test]
    fn everything_is_in_the_body() {
        assert_eq!(
            options("u", Some("7"), Propagation::Orphan, true),
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"],
                   "preconditions": {"uid": "u", "resourceVersion": "7"},
                   "propagationPolicy": "Orphan"})
        );
    }
}
