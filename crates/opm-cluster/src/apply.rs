//! One server-side apply: create-only, or of an object with a known uid.
//!
//! An apply alone protects nothing: it would merge into whatever bears the name. So an object
//! that must not exist is sent with a resourceVersion that none has, and one that must exist
//! with its uid.

use opm_engine::ports::{
    ApiError, ApiErrorKind, ApplyObject, ApplyResponse, Detail, Permit, Precondition,
};
use serde_json::{Map, Value, json};

use crate::client::ClusterClient;
use crate::json::{self, Object};
use crate::list::name_kind;
use crate::request::{ApplyOptions, Place};
use crate::send::{Answer, Exchange, SendOptions};

/// No object has it: the first write to an empty store is later.
const NO_VERSION: &str = "1";

/// How often an update is sent again when the server lost a race against other writers.
const RACES: u32 = 5;

impl ClusterClient {
    pub(crate) async fn apply_one(
        &self,
        request: &ApplyObject<'_>,
        permit: Permit<'_>,
    ) -> Result<ApplyResponse, ApiError> {
        self.known().learn(request.object);
        let served = self.served_kind(&request.identity.group_kind).await?;
        let place = Place {
            group: request.identity.group(),
            version: request.version,
            plural: &served.plural,
            kind: &request.identity.group_kind.kind,
            namespace: request.identity.namespace.as_deref(),
        };
        match &request.precondition {
            Precondition::Absent => self.create(request, place, permit).await,
            Precondition::Exists { uid } => self.update(request, place, uid, permit).await,
            Precondition::Unchanged {
                uid,
                resource_version,
            } => {
                let body = with_metadata(request.object, "uid", uid);
                let body = with_version(body, resource_version);
                let call = place.apply(&request.identity.name, &body, &options(request))?;
                let writing = SendOptions::writing(self, permit);
                let done = self.exchange(&call, writing).await;
                note_unanswered(&done, request, permit);
                sent(&done.result?, request, place, Some(uid))
            }
        }
    }

    async fn create(
        &self,
        request: &ApplyObject<'_>,
        place: Place<'_>,
        permit: Permit<'_>,
    ) -> Result<ApplyResponse, ApiError> {
        let body = create_body(request.object);
        let call = place.apply(&request.identity.name, &body, &options(request))?;
        let done = self
            .exchange(&call, SendOptions::writing(self, permit))
            .await;
        note_unanswered(&done, request, permit);
        let error = match done.result {
            Ok(answer) => {
                let created = sent(&answer, request, place, None);
                if created.is_err() && !request.dry_run {
                    permit.note_unanswered();
                }
                return created;
            }
            Err(error) => error,
        };
        // Whatever the 409 says: something is there, and nothing was merged into it.
        if error.status != Some(409) {
            return Err(error);
        }
        if done.in_doubt
            && !request.dry_run
            && let Some(uid) = self.our_own_creation(request, place).await?
        {
            let sent = self.update(request, place, &uid, permit).await?;
            return Ok(ApplyResponse {
                created: true,
                ..sent
            });
        }
        Err(ApiError {
            kind: ApiErrorKind::AlreadyExists,
            ..error
        })
    }

    /// After a create whose answer was lost: the uid of the object that is there now, if it
    /// bears the labels that were sent and the field manager that sent them. Nobody else writes
    /// those, so it is ours, and may be sent once more to be certain of its content.
    async fn our_own_creation(
        &self,
        request: &ApplyObject<'_>,
        place: Place<'_>,
    ) -> Result<Option<String>, ApiError> {
        let call = place.get(&request.identity.name, Detail::Metadata)?;
        let looked_up = self.exchange(&call, SendOptions::looking_up(self)).await;
        let answer = match looked_up.result {
            Ok(answer) => answer,
            Err(error) if error.kind == ApiErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let live = read_object(&answer, request, place, None)?;
        let ours = is_ours(request.object, &live, request.field_manager);
        Ok(json::metadata(&live, "uid")
            .filter(|_| ours)
            .map(str::to_owned))
    }

    async fn update(
        &self,
        request: &ApplyObject<'_>,
        place: Place<'_>,
        uid: &str,
        permit: Permit<'_>,
    ) -> Result<ApplyResponse, ApiError> {
        let body = with_metadata(request.object, "uid", uid);
        let call = place.apply(&request.identity.name, &body, &options(request))?;
        let mut races: u32 = 0;
        loop {
            let done = self
                .exchange(&call, SendOptions::writing(self, permit))
                .await;
            note_unanswered(&done, request, permit);
            match done.result {
                Ok(answer) => return sent(&answer, request, place, Some(uid)),
                Err(error) if lost_a_race(&error) && races < RACES => {
                    races = races.saturating_add(1);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What was sent and not answered may still land: it makes an object, or makes one the release's.
fn note_unanswered(done: &Exchange, request: &ApplyObject<'_>, permit: Permit<'_>) {
    if done.may_still_land && !request.dry_run {
        permit.note_unanswered();
    }
}

/// No resourceVersion was sent, so this conflict is one between the server's own read and
/// write; it gave up after a few tries.
fn lost_a_race(error: &ApiError) -> bool {
    error.kind == ApiErrorKind::Stale
        && error.status == Some(409)
        && error.message.contains("the object has been modified")
}

/// Whether a live object bears all labels that were sent, and was applied by that manager.
fn is_ours(sent: &Object, live: &Object, manager: &str) -> bool {
    let labels = sent
        .get("metadata")
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Value::as_object);
    let labelled = labels.is_some_and(|labels| {
        !labels.is_empty()
            && labels
                .iter()
                .all(|(name, value)| json::label(live, name) == value.as_str())
    });
    labelled
        && json::managed_fields(live)
            .any(|entry| entry["manager"] == manager && entry["operation"] == "Apply")
}

/// The object with what makes an apply create-only.
pub(crate) fn create_body(object: &Object) -> Value {
    with_metadata(object, "resourceVersion", NO_VERSION)
}

fn with_metadata(object: &Object, field: &str, value: &str) -> Value {
    let mut object = object.clone();
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    metadata[field] = json!(value);
    Value::Object(object)
}

fn with_version(mut body: Value, version: &str) -> Value {
    body["metadata"]["resourceVersion"] = json!(version);
    body
}

fn options<'a>(request: &ApplyObject<'a>) -> ApplyOptions<'a> {
    ApplyOptions {
        field_manager: request.field_manager,
        force: request.force,
        dry_run: request.dry_run,
    }
}

fn sent(
    answer: &Answer,
    request: &ApplyObject<'_>,
    place: Place<'_>,
    uid: Option<&str>,
) -> Result<ApplyResponse, ApiError> {
    Ok(ApplyResponse {
        created: answer.status == 201,
        object: read_object(answer, request, place, uid)?,
    })
}

fn read_object(
    answer: &Answer,
    request: &ApplyObject<'_>,
    place: Place<'_>,
    uid: Option<&str>,
) -> Result<Object, ApiError> {
    let mut object: Object = json::read(&answer.body, &request.identity.to_string())?;
    place.expect(&object, &request.identity.name, uid)?;
    name_kind(&mut object, &request.identity.group_kind, request.version);
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn ours_is_what_bears_our_labels_and_our_manager() {
        let sent = object(json!({"metadata": {"labels": {"uuid": "a", "app": "b"}}}));
        let live = |labels: Value, manager: &str, operation: &str| {
            object(json!({"metadata": {"labels": labels, "managedFields": [
                {"manager": manager, "operation": operation}]}}))
        };
        let both = json!({"uuid": "a", "app": "b", "foreign": "c"});
        for (live, expected) in [
            (live(both.clone(), "opm", "Apply"), true),
            (live(both.clone(), "opm", "Update"), false),
            (live(both.clone(), "kubectl", "Apply"), false),
            (
                live(json!({"uuid": "other", "app": "b"}), "opm", "Apply"),
                false,
            ),
            (live(json!({"app": "b"}), "opm", "Apply"), false),
        ] {
            assert_eq!(is_ours(&sent, &live, "opm"), expected, "{live:?}");
        }
        let bare = object(json!({"metadata": {}}));
        assert!(!is_ours(&bare, &live(both, "opm", "Apply"), "opm"));
    }

    #[test]
    fn preconditions_are_in_the_body() {
        let sent = object(json!({"kind": "ConfigMap", "metadata": {"name": "x"}}));
        assert_eq!(
            create_body(&sent)["metadata"],
            json!({"name": "x", "resourceVersion": "1"})
        );
        assert_eq!(with_metadata(&sent, "uid", "u")["metadata"]["uid"], "u");
        assert_eq!(
            sent["metadata"],
            json!({"name": "x"}),
            "the object itself stays as it is"
        );
    }
}
