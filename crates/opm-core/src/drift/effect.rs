//! Whether an apply would change an object, decided without asking the server.
//!
//! Two ways lead to "unchanged". By the note of the last apply: the object is at the very version
//! that the server answered with then, and the same is sent again. Or by a walk through the fields
//! that `opm` applied: each of them is in what is sent and in the live object, with the same value,
//! and nothing else is sent. Where the server has put a value in its own words (`1000m` as `1`),
//! left out a zero, put a default in the place of null or holds an empty mapping, the note has to
//! vouch for it: the same was sent, and what `opm` applied has looked like this ever since.
//! Everything else is sent.

mod walk;

use serde_json::{Map, Value};

use super::managers::{FieldTree, Managers};
use crate::canonical::value_bytes;
use crate::digest::ObjectHash;
use crate::ids::ReleaseId;
use crate::manifest::metadata;
use walk::EffectWalk;

/// What an apply would do to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyEffect {
    /// Nothing: it need not be sent.
    Unchanged,
    /// It would change this field, or who owns it.
    Changed(String),
    /// It cannot be told without asking the server.
    Doubt(String),
}

/// What is remembered of the last apply of an object, from the server's answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedNote {
    /// The uid of the object.
    pub uid: String,
    /// Its resourceVersion after the apply.
    pub resource_version: String,
    /// The hash of what was sent.
    pub sent: ObjectHash,
    /// The hash of what `opm` applied as the server put it; none where the values were those that
    /// were sent.
    pub projection: Option<ObjectHash>,
    /// What the server called the schema of the API version by which it read what was sent.
    pub schema: String,
}

/// An object that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct ObjectToApply<'a> {
    /// What would be sent.
    pub desired: &'a Map<String, Value>,
    /// Its hash.
    pub sent: &'a ObjectHash,
    /// The field manager that would send it.
    pub manager: &'a str,
    /// What the server calls the schema of its API version now, if it says so.
    pub schema: Option<&'a str>,
    /// What is remembered of the last apply.
    pub note: Option<&'a AppliedNote>,
    /// The release.
    pub release: &'a ReleaseId,
}

impl ObjectToApply<'_> {
    /// What sending it would do to the object as it is. Of the metadata alone, only the note can
    /// tell.
    pub fn effect(&self, live: &Map<String, Value>, whole: bool) -> ApplyEffect {
        if metadata(live, "deletionTimestamp").is_some() {
            return ApplyEffect::Doubt("it is being deleted".to_owned());
        }
        if self.is_as_noted(live) {
            return ApplyEffect::Unchanged;
        }
        match whole {
            true => self.compare(live, self.note),
            false => ApplyEffect::Doubt("only its metadata is known".to_owned()),
        }
    }

    /// What to remember of this object, of which the server has just answered that it looks like
    /// this after an apply, or which a walk has found unchanged: nothing, unless sending the same
    /// once more would be found to change nothing.
    pub fn note(&self, live: &Map<String, Value>) -> Option<AppliedNote> {
        let text = |key| {
            metadata(live, key)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let plain = AppliedNote {
            uid: text("uid")?,
            resource_version: text("resourceVersion")?,
            sent: self.sent.clone(),
            projection: None,
            schema: self.schema?.to_owned(),
        };
        let unchanged =
            |note: &AppliedNote| self.compare(live, Some(note)) == ApplyEffect::Unchanged;
        if unchanged(&plain) {
            return Some(plain);
        }
        let managers = Managers::read(live, self.release);
        let [own] = managers.own_trees() else {
            return None;
        };
        let vouching = AppliedNote {
            projection: Some(projection(own, live)),
            ..plain
        };
        unchanged(&vouching).then_some(vouching)
    }

    /// Whether nothing has happened since the last apply, which sent the same.
    fn is_as_noted(&self, live: &Map<String, Value>) -> bool {
        let is =
            |key: &str, noted: &str| metadata(live, key).and_then(Value::as_str) == Some(noted);
        self.note.is_some_and(|note| {
            is("uid", &note.uid)
                && is("resourceVersion", &note.resource_version)
                && self.sends_the_same(note)
        })
    }

    fn sends_the_same(&self, note: &AppliedNote) -> bool {
        note.sent == *self.sent && self.schema == Some(note.schema.as_str())
    }

    fn compare(&self, live: &Map<String, Value>, note: Option<&AppliedNote>) -> ApplyEffect {
        let managers = Managers::read(live, self.release);
        let version = self.desired.get("apiVersion").and_then(Value::as_str);
        let doubt = |why: &str| ApplyEffect::Doubt(why.to_owned());
        let ([own], [manager]) = (managers.own_trees(), managers.own_names()) else {
            return doubt("it was not applied by one field manager of this release");
        };
        if *manager != self.manager {
            return doubt("it was applied by another field manager of this release");
        }
        if managers.applied_in != version
            || live.get("apiVersion").and_then(Value::as_str) != version
        {
            return doubt("it was applied or read in another API version");
        }
        let mut walk = EffectWalk::default();
        if let Err(effect) = walk.top(own, self.desired, live) {
            return effect;
        }
        if walk.rewritten.is_empty() {
            return ApplyEffect::Unchanged;
        }
        let uid = metadata(live, "uid").and_then(Value::as_str);
        let same = note.filter(|note| uid == Some(note.uid.as_str()) && self.sends_the_same(note));
        for place in &walk.rewritten {
            if managers.is_others(&place.keys) {
                return ApplyEffect::Doubt(format!("{} has other owners too", place.path));
            }
        }
        match same.and_then(|note| note.projection.as_ref()) {
            Some(noted) if *noted == projection(own, live) => ApplyEffect::Unchanged,
            _ => {
                let places: Vec<&str> =
                    walk.rewritten.iter().map(|one| one.path.as_str()).collect();
                ApplyEffect::Doubt(format!("the server rewrote {}", places.join(", ")))
            }
        }
    }
}

/// Whether applying the same again would change nothing, as far as the live object alone tells.
pub(super) fn is_as_applied(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    release: &ReleaseId,
) -> bool {
    let managers = Managers::read(live, release);
    let to_apply = ObjectToApply {
        desired,
        sent: &ObjectHash::of_bytes(&[]),
        manager: managers.own_names().first().copied().unwrap_or_default(),
        schema: None,
        note: None,
        release,
    };
    to_apply.compare(live, None) == ApplyEffect::Unchanged
}

/// The hash of everything that a tree owns, as the live object has it.
fn projection(own: &FieldTree, live: &Map<String, Value>) -> ObjectHash {
    let mut bytes = Vec::new();
    for (key, below) in own {
        project(
            key,
            below,
            live.get(key.get(2..).unwrap_or_default()),
            &mut bytes,
        );
    }
    ObjectHash::of_bytes(&bytes)
}

fn project(key: &str, own: &Value, live: Option<&Value>, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(key.as_bytes());
    bytes.push(b'{');
    let below = own.as_object().into_iter().flatten();
    let mut below = below.filter(|(key, _)| *key != ".").peekable();
    if below.peek().is_none() {
        match live {
            Some(live) => bytes.extend(value_bytes(live)),
            None => bytes.push(b'-'),
        }
    }
    for (key, own) in below {
        let name = key.get(2..).unwrap_or_default();
        let items = || live.and_then(Value::as_array).into_iter().flatten();
        let live = match key.get(..2) {
            Some("f:") => live.and_then(|live| live.get(name)),
            Some("k:") => items().find(|item| has_all_keys(item, name)),
            _ => items().find(|item| value_bytes(item) == name.as_bytes()),
        };
        project(key, own, live, bytes);
    }
    bytes.push(b'}');
}

/// Whether a live item has exactly these keys.
fn has_all_keys(item: &Value, keys: &str) -> bool {
    let keys: Option<Map<String, Value>> = serde_json::from_str(keys).ok();
    keys.is_some_and(|keys| keys.iter().all(|(key, value)| item.get(key) == Some(value)))
}

#[cfg(test)]
mod tests;
