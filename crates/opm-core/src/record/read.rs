//! Reads the JSON of single parts of a record: a change, an entry, a pending object, …

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{RecordFields, as_text, wrong};
use super::{
    Body, Change, Finding, Inventory, Kept, KeptObject, KeptWhy, Lock, LogEntry, LogResult,
    ModuleRef, PartLocation, Pending, PendingObject, PendingWhy, RecordPart, RecordRef,
    RecordedEntry, Values,
};
use crate::entry::Entry;
use crate::identity::{GroupKind, Identity};
use crate::ids::RECORD_SLOTS;

type ReadResult<T> = Result<T, Finding>;

pub(super) fn change(id: &str, mut fields: RecordFields<'_>) -> ReadResult<Change> {
    let module = fields.nested("module", module)?;
    let module = fields.need("module", module)?;
    let record = fields.nested("record", record_ref)?;
    let held = |part| {
        record
            .as_ref()
            .is_some_and(|r: &RecordRef| r.mentions(part))
    };
    let values = match fields.text("values")? {
        None if held(RecordPart::Values) => Body::InRecord,
        text => Body::Here(Values(text.unwrap_or_default())),
    };
    let inventory = match fields.nested("inventory", inventory)? {
        Some(inventory) => Body::Here(inventory),
        None if held(RecordPart::Inventory) => Body::InRecord,
        None => {
            return Err(Finding::new(
                fields.key(),
                "inventory",
                super::FindingKind::Missing,
            ));
        }
    };
    Ok(Change {
        id: id.to_owned(),
        module,
        values,
        manifest_digest: fields.text_or_empty("manifestDigest")?,
        timestamp: fields.text_or_empty("timestamp")?,
        inventory,
        components: fields.each("components", as_text)?,
        features: fields.nested("features", features)?,
        order: fields.nested("order", order)?.unwrap_or_default(),
        parent: fields.text("parent")?,
        record,
        extra: fields.rest(),
    })
}

fn module(mut fields: RecordFields<'_>) -> ReadResult<ModuleRef> {
    let local = fields.flag("local")?;
    let version = fields
        .text("version")?
        .filter(|version| !local && !version.is_empty());
    Ok(ModuleRef {
        path: fields.text_or_empty("path")?,
        version,
        name: fields.text_or_empty("name")?,
        extra: fields.rest(),
    })
}

fn features(fields: RecordFields<'_>) -> ReadResult<BTreeMap<String, bool>> {
    let key = fields.key();
    let each = fields.pairs().map(|(name, value)| match value {
        Value::Bool(enabled) => Ok((name, enabled)),
        other => Err(wrong(key, &name, "a boolean", &other)),
    });
    each.collect()
}

fn order(fields: RecordFields<'_>) -> ReadResult<BTreeMap<String, Vec<String>>> {
    let key = fields.key();
    let each = fields.pairs().map(|(name, value)| match value {
        Value::Array(before) => {
            let before = before.into_iter().map(|one| as_text(key, one));
            Ok((name, before.collect::<ReadResult<Vec<String>>>()?))
        }
        other => Err(wrong(key, &name, "a list", &other)),
    });
    each.collect()
}

pub(super) fn inventory(mut fields: RecordFields<'_>) -> ReadResult<Inventory> {
    // Go writes an empty slice that was never made as null.
    let entries = fields.each("entries", recorded_entry)?.unwrap_or_default();
    Ok(Inventory {
        entries,
        extra: fields.rest(),
    })
}

fn recorded_entry(key: &str, value: Value) -> ReadResult<RecordedEntry> {
    let mut fields = RecordFields::of(key, value)?;
    Ok(RecordedEntry {
        entry: entry(&mut fields)?,
        extra: fields.rest(),
    })
}

/// An entry of RFC-0001. Group, namespace and component are empty when left out.
fn entry(fields: &mut RecordFields<'_>) -> ReadResult<Entry> {
    let group = fields.text_or_empty("group")?;
    let group_kind = GroupKind::new(group, fields.nonempty("kind")?);
    let namespace = fields
        .text("namespace")?
        .filter(|namespace| !namespace.is_empty());
    let identity = Identity {
        group_kind,
        namespace,
        name: fields.nonempty("name")?,
    };
    let version = fields.nonempty("v")?;
    let component = fields.text_or_empty("component")?;
    let uid = fields.text("uid")?;
    // A hash only ever saves a request, so one that cannot be read is as good as none.
    let hash = fields.text("hash")?.and_then(|text| text.parse().ok());
    Ok(Entry {
        identity,
        version,
        component,
        uid,
        hash,
    })
}

fn record_ref(mut fields: RecordFields<'_>) -> ReadResult<RecordRef> {
    let mut parts = BTreeMap::new();
    for part in RecordPart::ALL {
        if let Some(held) = fields.nested(part.word(), held)? {
            parts.insert(part, held);
        }
    }
    let dropped = fields.nested("dropped", dropped)?.unwrap_or_default();
    let objects = fields.number("objects")?;
    let note = fields.text("note")?;
    Ok(RecordRef {
        parts,
        objects,
        dropped,
        note,
        extra: fields.rest(),
    })
}

fn held(mut fields: RecordFields<'_>) -> ReadResult<PartLocation> {
    let places = fields.each("places", |key, value| place(key, &value))?;
    let places = fields.need("places", places)?;
    Ok(PartLocation {
        places,
        bytes: fields.number("bytes")?.unwrap_or_default(),
        hash: fields.text("hash")?.and_then(|text| text.parse().ok()),
    })
}

fn dropped(mut fields: RecordFields<'_>) -> ReadResult<BTreeMap<RecordPart, String>> {
    let mut dropped = BTreeMap::new();
    for part in RecordPart::ALL {
        if let Some(reason) = fields.text(part.word())? {
            dropped.insert(part, reason);
        }
    }
    Ok(dropped)
}

/// A place on the ring of record Secrets, written as in their names.
fn place(key: &str, value: &Value) -> ReadResult<u8> {
    let place = match value {
        Value::String(text) if text.len() == 2 => text.parse().ok(),
        _ => None,
    };
    let known = place.filter(|place| *place < RECORD_SLOTS);
    known.ok_or_else(|| wrong(key, "", "a place such as \"07\", up to \"63\"", value))
}

pub(super) fn pending(mut fields: RecordFields<'_>) -> ReadResult<Pending> {
    let held = fields.nested("record", held)?;
    let objects = match fields.each("objects", pending_object)? {
        None if held.is_some() => Body::InRecord,
        objects => Body::Here(objects.unwrap_or_default()),
    };
    Ok(Pending {
        objects,
        held,
        until: fields.text("until")?,
        count: fields.number("count")?,
        extra: fields.rest(),
    })
}

pub(super) fn pending_object(key: &str, value: Value) -> ReadResult<PendingObject> {
    let mut fields = RecordFields::of(key, value)?;
    let words = "create, adopt, take, prune-failed, repair";
    Ok(PendingObject {
        entry: entry(&mut fields)?,
        why: fields.word("why", &PendingWhy::ALL, PendingWhy::word, words)?,
        change: fields.text_or_empty("change")?,
        since: fields.text_or_empty("since")?,
        reason: fields.text("reason")?,
        late: fields.flag("late")?,
        extra: fields.rest(),
    })
}

pub(super) fn kept(mut fields: RecordFields<'_>) -> ReadResult<Kept> {
    let objects = fields.each("objects", kept_object)?.unwrap_or_default();
    Ok(Kept {
        objects,
        held: fields.nested("record", held)?,
        count: fields.number("count")?,
        extra: fields.rest(),
    })
}

fn kept_object(key: &str, value: Value) -> ReadResult<KeptObject> {
    let mut fields = RecordFields::of(key, value)?;
    let words = "guard, opt-out, no-prune, not-mine";
    Ok(KeptObject {
        entry: entry(&mut fields)?,
        why: fields.word("why", &KeptWhy::ALL, KeptWhy::word, words)?,
        change: fields.text_or_empty("change")?,
        since: fields.text_or_empty("since")?,
        reason: fields.text("reason")?,
        extra: fields.rest(),
    })
}

pub(super) fn lock(mut fields: RecordFields<'_>) -> ReadResult<Lock> {
    Ok(Lock {
        id: fields.nonempty("id")?,
        holder: fields.text_or_empty("holder")?,
        host: fields.text_or_empty("host")?,
        pid: fields.number("pid")?.unwrap_or_default(),
        boot: fields.text("boot")?,
        pid_namespace: fields.text("pidNamespace")?,
        command: fields.text_or_empty("command")?,
        since: fields.text_or_empty("since")?,
        beat: fields.number("beat")?.unwrap_or_default(),
        extra: fields.rest(),
    })
}

pub(super) fn log_entry(key: &str, value: Value) -> ReadResult<LogEntry> {
    let mut fields = RecordFields::of(key, value)?;
    Ok(LogEntry {
        id: fields.text_or_empty("id")?,
        command: fields.text_or_empty("command")?,
        time: fields.text_or_empty("time")?,
        seconds: fields.number("seconds")?.unwrap_or_default(),
        who: fields.text_or_empty("who")?,
        from: fields.text_or_empty("from")?,
        opm: fields.text_or_empty("opm")?,
        message: fields.text("message")?,
        change: fields.text("change")?,
        result: LogResult::from_word(&fields.required("result")?),
        reason: fields.text("reason")?,
        counts: fields.nested("counts", counts)?.unwrap_or_default(),
        extra: fields.rest(),
    })
}

fn counts(fields: RecordFields<'_>) -> ReadResult<BTreeMap<String, u64>> {
    let key = fields.key();
    let each = fields.pairs().map(|(name, value)| match value.as_u64() {
        Some(count) => Ok((name, count)),
        None => Err(wrong(key, &name, "a whole number from zero up", &value)),
    });
    each.collect()
}

/// Reads a change's inventory that had moved into record Secrets.
pub fn decode_inventory(bytes: &[u8]) -> ReadResult<Inventory> {
    let value = super::fields::parse("inventory", bytes)?;
    inventory(RecordFields::of("inventory", value)?)
}

/// Reads pending objects that had moved into record Secrets.
pub fn decode_pending(bytes: &[u8]) -> ReadResult<Vec<PendingObject>> {
    let value = super::fields::parse("pending", bytes)?;
    Ok(pending(RecordFields::of("pending", value)?)?
        .objects()
        .to_vec())
}

/// Reads kept objects that had moved into record Secrets.
pub fn decode_kept(bytes: &[u8]) -> ReadResult<Vec<KeptObject>> {
    let value = super::fields::parse("kept", bytes)?;
    Ok(kept(RecordFields::of("kept", value)?)?.objects)
}

impl RecordRef {
    /// Whether the record Secrets have this part, or had it once.
    pub(super) fn mentions(&self, part: RecordPart) -> bool {
        self.parts.contains_key(&part) || self.dropped.contains_key(&part)
    }
}

impl Change {
    /// Whether the record Secrets have this part.
    pub fn holds(&self, part: RecordPart) -> bool {
        self.record
            .as_ref()
            .is_some_and(|record| record.parts.contains_key(&part))
    }
}
