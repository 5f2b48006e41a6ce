//! Parts of a record that live in record Secrets: whose they are, where they are, and how they
//! come back.
//!
//! A record in memory is whole; only the stored one is slim. The engine asks for what is
//! [`missing`] when it loads a record and puts it back with [`put_back`]; before every write it
//! makes the record fit again ([`super::size::fit`]), so a record that shrinks moves back into
//! its Secret.

use super::{
    Body, Change, Finding, FindingKind, PartLocation, Record, RecordPart, RecordRef, Values,
    decode_inventory, decode_kept, decode_pending,
};

/// Whose part moves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartOwner {
    /// A part of the change with this id.
    Change(String, RecordPart),
    /// The pending objects.
    Pending,
    /// The kept objects.
    Kept,
}

impl PartOwner {
    /// What it is called in a record Secret and in messages.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Change(_, part) => part.word(),
            Self::Pending => "pending",
            Self::Kept => "kept",
        }
    }
}

/// Where a record says that a part is.
pub fn held<'a>(record: &'a Record, owner: &PartOwner) -> Option<&'a PartLocation> {
    match owner {
        PartOwner::Change(id, part) => record.change(id)?.record.as_ref()?.parts.get(part),
        PartOwner::Pending => record.pending.held.as_ref(),
        PartOwner::Kept => record.kept.held.as_ref(),
    }
}

/// What has to be fetched before anything can be planned: all of the current change, and the
/// objects outside it.
pub fn missing(record: &Record) -> Vec<(PartOwner, PartLocation)> {
    let current = record.current();
    let mut owners: Vec<PartOwner> = current.map(missing_of).unwrap_or_default();
    if record.pending.objects.moved() {
        owners.push(PartOwner::Pending);
    }
    owners.extend(record.kept.held.is_some().then_some(PartOwner::Kept));
    let found = |owner: PartOwner| held(record, &owner).cloned().map(|held| (owner, held));
    owners.into_iter().filter_map(found).collect()
}

/// The parts of a change that are in record Secrets; dropped parts are not among them.
pub fn missing_of(change: &Change) -> Vec<PartOwner> {
    let values = change.values.moved().then_some(RecordPart::Values);
    let inventory = change.inventory.moved().then_some(RecordPart::Inventory);
    values
        .into_iter()
        .chain(inventory)
        .filter(|part| change.holds(*part))
        .map(|part| PartOwner::Change(change.id.clone(), part))
        .collect()
}

/// Puts a fetched part back into the record, which then no longer names a place for it.
pub fn put_back(record: &mut Record, owner: &PartOwner, payload: &[u8]) -> Result<(), Finding> {
    match owner {
        PartOwner::Pending => {
            record.pending.objects = Body::Here(decode_pending(payload)?);
            (record.pending.held, record.pending.count) = (None, None);
        }
        PartOwner::Kept => {
            record.kept.objects = decode_kept(payload)?;
            (record.kept.held, record.kept.count) = (None, None);
        }
        PartOwner::Change(id, part) => {
            if let Some(change) = record.change_mut(id) {
                put_back_part(change, *part, payload)?;
            }
        }
    }
    record.set_impossible_aside();
    Ok(())
}

/// Puts a part back into one change, wherever that is.
pub fn put_back_part(change: &mut Change, part: RecordPart, payload: &[u8]) -> Result<(), Finding> {
    match part {
        RecordPart::Values => change.values = Body::Here(Values(text(payload)?)),
        RecordPart::Inventory => change.inventory = Body::Here(decode_inventory(payload)?),
        // These are never part of the release's own Secret.
        RecordPart::Manifests | RecordPart::Applied => return Ok(()),
    }
    if let Some(held) = &mut change.record {
        held.parts.remove(&part);
        if part == RecordPart::Inventory {
            held.objects = None;
        }
    }
    if change.record == Some(RecordRef::default()) {
        change.record = None;
    }
    Ok(())
}

fn text(payload: &[u8]) -> Result<String, Finding> {
    String::from_utf8(payload.to_vec()).map_err(|_| {
        let (expected, found) = ("a text", "something else");
        Finding::new("values", "", FindingKind::WrongType { expected, found })
    })
}
