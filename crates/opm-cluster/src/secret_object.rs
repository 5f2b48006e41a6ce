//! A Secret as the API writes it, and as the engine reads it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opm_engine::ports::{
    ApiError, ApiErrorKind, SecretContent, SecretVersion, StoredSecret, Timestamp,
};
use serde_json::{Map, Value, json};

use crate::json::{self, Object};

/// The data key that the lock lives under.
const LOCK: &str = "lock";

/// Metadata that the engine neither knows nor writes, but a full PUT would remove: somebody
/// else's finalizers and owner references, as they were at one resourceVersion.
#[derive(Debug, Default)]
pub(crate) struct CarriedMetadata(BTreeMap<(String, String), (String, Object)>);

impl CarriedMetadata {
    const FIELDS: [&str; 2] = ["finalizers", "ownerReferences"];

    fn note(&mut self, stored: &StoredSecret, object: &Object) {
        let key = (
            stored.content.namespace.clone(),
            stored.content.name.clone(),
        );
        let metadata = object.get("metadata").and_then(Value::as_object);
        let fields: Object = Self::FIELDS
            .iter()
            .filter_map(|field| {
                let value = metadata?.get(*field)?;
                Some(((*field).to_owned(), value.clone()))
            })
            .collect();
        if fields.is_empty() {
            self.0.remove(&key);
        } else {
            self.0
                .insert(key, (stored.resource_version.clone(), fields));
        }
    }

    fn at(&self, content: &SecretContent, resource_version: &str) -> Option<&Object> {
        let key = (content.namespace.clone(), content.name.clone());
        self.0
            .get(&key)
            .filter(|(version, _)| version == resource_version)
            .map(|(_, fields)| fields)
    }
}

/// The Secret to be created.
pub(crate) fn to_object(content: &SecretContent) -> Object {
    let data: Map<String, Value> = content
        .data
        .iter()
        .map(|(key, value)| (key.clone(), Value::from(STANDARD.encode(value))))
        .collect();
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), json!("v1"));
    object.insert("kind".to_owned(), json!("Secret"));
    object.insert(
        "metadata".to_owned(),
        json!({
            "name": content.name,
            "namespace": content.namespace,
            "labels": content.labels,
            "annotations": content.annotations,
        }),
    );
    object.insert("type".to_owned(), json!(content.secret_type));
    object.insert("data".to_owned(), Value::Object(data));
    if content.immutable {
        object.insert("immutable".to_owned(), json!(true));
    }
    object
}

/// The Secret to be put in place of the one at this resourceVersion. `managedFields` stays
/// unset, which keeps what the server tracks (an empty list would wipe it).
pub(crate) fn to_replacement(
    content: &SecretContent,
    resource_version: &str,
    carried: &CarriedMetadata,
) -> Value {
    let mut object = Value::Object(to_object(content));
    object["metadata"]["resourceVersion"] = json!(resource_version);
    for (field, value) in carried.at(content, resource_version).into_iter().flatten() {
        object["metadata"][field] = value.clone();
    }
    object
}

/// The apply that writes the lock and nothing else.
pub(crate) fn to_lock(at: SecretVersion<'_>, lock: &[u8]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": at.name,
            "namespace": at.namespace,
            "uid": at.uid,
            "resourceVersion": at.resource_version,
        },
        "data": {LOCK: STANDARD.encode(lock)},
    })
}

/// Reads a Secret that the server sent.
pub(crate) fn from_object(
    object: &Object,
    server_time: Timestamp,
    carried: &mut CarriedMetadata,
) -> Result<StoredSecret, ApiError> {
    let text = |field: &str| json::metadata(object, field).unwrap_or_default().to_owned();
    let content = SecretContent {
        name: text("name"),
        namespace: text("namespace"),
        secret_type: object
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        labels: texts(object, "labels"),
        annotations: texts(object, "annotations"),
        data: data(object)?,
        immutable: object.get("immutable").and_then(Value::as_bool) == Some(true),
    };
    let stored = StoredSecret {
        content,
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        lock_written: lock_written(object),
        server_time,
        terminating: json::metadata(object, "deletionTimestamp").is_some(),
    };
    carried.note(&stored, object);
    Ok(stored)
}

fn texts(object: &Object, field: &str) -> BTreeMap<String, String> {
    let map = object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn data(object: &Object) -> Result<BTreeMap<String, Vec<u8>>, ApiError> {
    let map = object.get("data").and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| {
            let decoded = STANDARD.decode(value.as_str().unwrap_or_default());
            let bytes = decoded.map_err(|_| {
                let message = format!("the server sent a Secret whose `data.{key}` is not base64");
                ApiError::local(ApiErrorKind::Rejected, message)
            })?;
            Ok((key.clone(), bytes))
        })
        .collect()
}

/// The newest time of an entry that owns the lock.
fn lock_written(object: &Object) -> Option<Timestamp> {
    json::managed_fields(object)
        .filter(|entry| !entry["fieldsV1"]["f:data"]["f:lock"].is_null())
        .filter_map(|entry| entry["time"].as_str().and_then(json::object_time))
        .max()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn stored(object: &Value) -> StoredSecret {
        let time = Timestamp(Duration::from_secs(9));
        from_object(
            object.as_object().unwrap(),
            time,
            &mut CarriedMetadata::default(),
        )
        .unwrap()
    }

    fn content() -> SecretContent {
        let map = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        SecretContent {
            name: "opm.a.b".to_owned(),
            namespace: "n".to_owned(),
            secret_type: "opmodel.dev/release".to_owned(),
            labels: map("l", "1"),
            annotations: map("a", "2"),
            data: BTreeMap::from([("k".to_owned(), vec![0, 255, 7])]),
            immutable: false,
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut object = Value::Object(to_object(&content()));
        object["metadata"]["uid"] = json!("u");
        object["metadata"]["resourceVersion"] = json!("7");
        let stored = stored(&object);
        assert_eq!(stored.content, content());
        assert_eq!(
            (stored.uid.as_str(), stored.resource_version.as_str()),
            ("u", "7")
        );
        assert_eq!(stored.lock_written, None);
        assert!(!stored.terminating);
    }

    #[test]
    fn the_lock_is_as_old_as_its_newest_owner() {
        let entry = |owns: Value, time: &str| json!({"fieldsV1": {"f:data": owns}, "time": time});
        let object = json!({"metadata": {"managedFields": [
            entry(json!({"f:lock": {}}), "2026-11-15T09:30:00Z"),
            entry(json!({"f:lock": {}, "f:index": {}}), "2026-11-15T09:30:05Z"),
            entry(json!({"f:index": {}}), "2026-11-15T09:59:00Z"),
            {"fieldsV1": {"f:data": {"f:lock": {}}}},
        ]}});
        assert_eq!(
            stored(&object).lock_written,
            json::object_time("2026-11-15T09:30:05Z")
        );
        let none = json!({"metadata": {"managedFields": [entry(json!({"f:index": {}}), "2026-11-15T09:59:00Z")]}});
        assert_eq!(stored(&none).lock_written, None);
    }

    #[test]
    fn other_peoples_finalizers_survive_a_put() {
        let mut object = Value::Object(to_object(&content()));
        object["metadata"]["resourceVersion"] = json!("7");
        object["metadata"]["finalizers"] = json!(["x/y"]);
        let mut carried = CarriedMetadata::default();
        let time = Timestamp(Duration::ZERO);
        from_object(object.as_object().unwrap(), time, &mut carried).unwrap();
        let put = to_replacement(&content(), "7", &carried);
        assert_eq!(put["metadata"]["finalizers"], json!(["x/y"]));
        assert_eq!(put["metadata"]["resourceVersion"], "7");
        assert!(put["metadata"].get("managedFields").is_none());
        let later = to_replacement(&content(), "8", &carried);
        assert!(
            later["metadata"].get("finalizers").is_none(),
            "of another version"
        );
    }
}
