//! Keeps the release's Secret below the limit of the API server, and says so in the record.
//!
//! This is a plan over sizes: what moves into record Secrets, in which order, and what the
//! slimmer record looks like. Compressing and writing the payloads is for the caller, who then
//! says where each one went with [`Fitted::place`].

use super::encode::{encode_inventory, encode_pending};
use super::{Body, Change, Content, Held, Part, Record, RecordRef, encode};

/// Past this, things move out of the release's Secret.
pub const MAX_RECORD_BYTES: usize = 800_000;

/// Whether record Secrets may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    /// They may.
    Used,
    /// They were switched off: history has to get shorter instead.
    Off,
}

/// Whose part moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// A part of the change with this id.
    Change(String, Part),
    /// The pending objects.
    Pending,
}

/// Something that moves into record Secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Moved {
    /// Whose part it is.
    pub owner: Owner,
    /// What to store there, not compressed yet.
    pub payload: Vec<u8>,
}

impl std::fmt::Debug for Moved {
    /// The size only: the payload may be values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Moved({:?}, {} bytes)", self.owner, self.payload.len())
    }
}

/// A record that fits, and what moved out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The record to write, once every move has its place.
    pub record: Record,
    /// What has to be stored in record Secrets first.
    pub moves: Vec<Moved>,
    /// What people should know about it, in words.
    pub notes: Vec<String>,
    /// Whether it still is too large: without records, one change alone can be.
    pub too_large: bool,
}

/// Makes a record fit. A record that fits already comes back unchanged.
pub fn fit(record: Record, records: Records, limit: usize) -> Fitted {
    let mut fitted = Fitted {
        record,
        moves: Vec::new(),
        notes: Vec::new(),
        too_large: false,
    };
    match records {
        Records::Used => fitted.move_out(limit),
        Records::Off => fitted.shorten(limit),
    }
    fitted.too_large = fitted.size() > limit;
    fitted
}

impl Fitted {
    fn size(&self) -> usize {
        encode(&self.record).size()
    }

    /// Says where a moved part went, and how large it is there.
    pub fn place(&mut self, owner: &Owner, places: &[u8], bytes: u64) {
        match owner {
            Owner::Pending => self.record.pending.places = places.iter().copied().collect(),
            Owner::Change(id, part) => {
                if let Some(change) = change_mut(&mut self.record, id) {
                    let held = Held {
                        places: places.to_vec(),
                        bytes,
                    };
                    change
                        .record
                        .get_or_insert_default()
                        .parts
                        .insert(*part, held);
                }
            }
        }
    }

    fn move_out(&mut self, limit: usize) {
        let older: Vec<String> = self
            .record
            .changes()
            .skip(1)
            .map(|c| c.id.clone())
            .collect();
        // The oldest first: it is the least likely to be looked at.
        for id in older.iter().rev() {
            for part in [Part::Values, Part::Inventory] {
                if self.size() <= limit {
                    return;
                }
                self.move_part(id, part);
            }
        }
        if self.size() > limit {
            self.move_pending();
        }
        let Some(current) = self.record.current().map(|change| change.id.clone()) else {
            return;
        };
        // Moving the current values loses a plain reader nothing it acts on; moving the current
        // inventory makes it refuse the record. So that comes last.
        for part in [Part::Values, Part::Inventory] {
            if self.size() > limit {
                self.move_part(&current, part);
            }
        }
    }

    fn move_part(&mut self, id: &str, part: Part) {
        let Some(change) = change_mut(&mut self.record, id) else {
            return;
        };
        let payload = match part {
            Part::Values => change
                .values
                .here()
                .map(|values| values.0.clone().into_bytes()),
            Part::Inventory => change.inventory.here().map(encode_inventory),
            Part::Manifests | Part::Applied => None,
        };
        // Saying where a part went takes about as much room as the smallest parts.
        let Some(payload) = payload.filter(|payload| payload.len() > 64) else {
            return;
        };
        let held = change.record.get_or_insert_default();
        held.parts.insert(part, Held::default());
        match part {
            Part::Values => change.values = Body::InRecord,
            _ => {
                held.objects = Some(
                    change
                        .inventory
                        .here()
                        .map_or(0, |i| i.entries.len() as u64),
                );
                change.inventory = Body::InRecord;
            }
        }
        let owner = Owner::Change(id.to_owned(), part);
        self.notes.push(format!(
            "{id}: the {} moved into record Secrets",
            part.word()
        ));
        self.moves.push(Moved { owner, payload });
    }

    fn move_pending(&mut self) {
        let pending = &mut self.record.pending;
        if pending.objects().is_empty() {
            return;
        }
        let payload = encode_pending(pending.objects());
        pending.count = Some(pending.counted().count() as u64);
        pending.objects = Body::InRecord;
        self.notes
            .push("the pending objects moved into record Secrets".to_owned());
        self.moves.push(Moved {
            owner: Owner::Pending,
            payload,
        });
    }

    fn shorten(&mut self, limit: usize) {
        let full = self.record.history.len();
        while self.size() > limit && self.record.history.len() > 1 {
            self.record.cut_history(self.record.history.len() - 1);
        }
        let left = self.record.history.len();
        if left < full {
            self.say(format!(
                "history was cut from {full} to {left} changes, because records are switched off \
                 and the Secret would have become too large"
            ));
        }
        if self.size() > limit {
            self.drop_current_values();
        }
    }

    fn drop_current_values(&mut self) {
        let Some(current) = current_mut(&mut self.record) else {
            return;
        };
        let reason = "too large for the Secret, and records are switched off".to_owned();
        current.values = Body::InRecord;
        current
            .record
            .get_or_insert_default()
            .dropped
            .insert(Part::Values, reason);
        self.notes
            .push("the values were not recorded: they are too large".to_owned());
    }

    /// A fact for people now and for readers of the record later.
    fn say(&mut self, note: String) {
        if let Some(current) = current_mut(&mut self.record) {
            current.record.get_or_insert_default().note = Some(note.clone());
        }
        self.notes.push(note);
    }
}

/// Drops the oldest manifests until the record Secrets hold no more than `limit` bytes; each
/// change that loses its manifests says so. Returns the ids of those changes.
pub fn limit_records(record: &mut Record, limit: u64) -> Vec<String> {
    let total = |record: &Record| -> u64 {
        record
            .changes()
            .filter_map(|change| change.record.as_ref())
            .map(RecordRef::bytes)
            .sum()
    };
    let ids: Vec<String> = record
        .changes()
        .skip(1)
        .map(|change| change.id.clone())
        .collect();
    let mut lost = Vec::new();
    for id in ids.iter().rev() {
        if total(record) <= limit {
            break;
        }
        let Some(held) = change_mut(record, id).and_then(|change| change.record.as_mut()) else {
            continue;
        };
        if drop_manifests(held) {
            lost.push(id.clone());
        }
    }
    lost
}

fn drop_manifests(held: &mut RecordRef) -> bool {
    if held.parts.remove(&Part::Manifests).is_none() {
        return false;
    }
    held.dropped.insert(
        Part::Manifests,
        "the record Secrets had become too large".to_owned(),
    );
    true
}

fn change_mut<'a>(record: &'a mut Record, id: &str) -> Option<&'a mut Change> {
    let slot = record.history.iter_mut().find(|slot| slot.id == id)?;
    match &mut slot.content {
        Content::Read(change) => Some(change),
        Content::Damaged(_) | Content::Absent => None,
    }
}

fn current_mut(record: &mut Record) -> Option<&mut Change> {
    match &mut record.history.first_mut()?.content {
        Content::Read(change) => Some(change),
        Content::Damaged(_) | Content::Absent => None,
    }
}
