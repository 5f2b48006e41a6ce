//! What is remembered of the last apply of each object, in a record Secret of the current change.
//!
//! Nothing depends on it but what is sent: notes that are not there, or cannot be read, only mean
//! that more is looked at and sent.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::ring::named;
use super::{Record, RecordPart};
use crate::canonical::value_bytes;
use crate::drift::AppliedNote;
use crate::identity::{GroupKind, Identity};

/// The notes of a release's objects.
pub type AppliedNotes = BTreeMap<Identity, AppliedNote>;

/// The bytes of notes, for a record Secret: one note after the other, as a document of all of them
/// would take many times as much memory.
pub fn encode_notes(notes: &AppliedNotes) -> Vec<u8> {
    let mut bytes = b"{\"objects\":[".to_vec();
    for (place, (identity, note)) in notes.iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        bytes.extend(value_bytes(&encode_note(identity, note)));
    }
    bytes.extend_from_slice(b"]}");
    bytes
}

fn encode_note(identity: &Identity, note: &AppliedNote) -> Value {
    let mut object = json!({
        "group": identity.group_kind.group,
        "kind": identity.group_kind.kind,
        "name": identity.name,
        "uid": note.uid,
        "resourceVersion": note.resource_version,
        "sent": note.sent.as_str(),
        "schema": note.schema,
    });
    if let Some(namespace) = &identity.namespace {
        object["namespace"] = json!(namespace);
    }
    if let Some(projection) = &note.projection {
        object["projection"] = json!(projection.as_str());
    }
    object
}

/// The notes in these bytes. What is no note is left out.
pub fn decode_notes(bytes: &[u8]) -> AppliedNotes {
    let read: Option<Map<String, Value>> = serde_json::from_slice(bytes).ok();
    let objects = read
        .as_ref()
        .and_then(|read| read.get("objects")?.as_array());
    objects.into_iter().flatten().filter_map(note).collect()
}

fn note(object: &Value) -> Option<(Identity, AppliedNote)> {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    let kind = GroupKind::new(text("group")?, text("kind")?);
    let projection = match text("projection") {
        Some(projection) => Some(projection.parse().ok()?),
        None => None,
    };
    let note = AppliedNote {
        uid: text("uid")?.to_owned(),
        resource_version: text("resourceVersion")?.to_owned(),
        sent: text("sent")?.parse().ok()?,
        projection,
        schema: text("schema")?.to_owned(),
    };
    Some((Identity::new(kind, text("namespace"), text("name")?), note))
}

impl Record {
    /// Forgets the notes of former changes: what they are about has been sent anew since.
    pub fn drop_former_notes(&mut self) {
        let former = self.history.iter_mut().skip(1).chain(&mut self.past);
        for change in former.filter_map(|slot| slot.change_mut()) {
            if let Some(record) = &mut change.record {
                record.parts.remove(&RecordPart::Applied);
                record.given_up.clear();
            }
        }
    }

    /// Writes down which places nothing names any more, so that what is left there can be found by
    /// the next run if this one does not get to it.
    pub fn give_up_places(&mut self, before: &BTreeSet<u8>) {
        let given_up = before - &named(self);
        let current = self.current_mut().and_then(|change| change.record.as_mut());
        if let Some(record) = current {
            record.given_up = given_up.into_iter().collect();
        }
    }

    /// The places that were given up when the current change was recorded.
    pub fn given_up(&self) -> BTreeSet<u8> {
        let current = self.current().and_then(|change| change.record.as_ref());
        let given_up = current.into_iter().flat_map(|record| &record.given_up);
        given_up.copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_damaged_ones_are_left_out() {
        let note = |projection: Option<&str>| AppliedNote {
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
            sent: "00112233445566aa".parse().unwrap(),
            projection: projection.map(|hash| hash.parse().unwrap()),
            schema: "A".to_owned(),
        };
        let map = GroupKind::new("", "ConfigMap");
        let notes = AppliedNotes::from([
            (Identity::new(map.clone(), Some("n"), "a"), note(None)),
            (
                Identity::new(map, None, "b"),
                note(Some("ff112233445566aa")),
            ),
        ]);
        assert_eq!(decode_notes(&encode_notes(&notes)), notes);
        let empty = encode_notes(&AppliedNotes::new());
        assert_eq!(empty, b"{\"objects\":[]}");
        let damaged = encode_notes(&notes);
        let damaged = String::from_utf8(damaged).unwrap().replace("ff11", "zz11");
        assert_eq!(decode_notes(damaged.as_bytes()).len(), 1);
        for bytes in ["", "[]", "{\"objects\": 3}", "{\"objects\": [1, {}]}"] {
            assert!(decode_notes(bytes.as_bytes()).is_empty(), "{bytes}");
        }
    }
}
