//! Keeps the release's Secret below the limit of the API server, and says so in the record.
//!
//! This plans by size: what moves into record Secrets, in which order, and what the slimmer
//! record looks like. The caller compresses and writes the payloads, and then enters the place
//! of each with [`FittedRecord::place`].

use crate::words;

pub use super::moved::PartOwner;
use super::{
    Body, PartLocation, Record, RecordPart, encode, encode_inventory, encode_kept, encode_pending,
};

/// Past this, things move out of the release's Secret.
pub const MAX_RECORD_BYTES: usize = 800_000;

/// More than this the API server does not take: its limit is 1 MiB.
const LARGEST_RECORD: usize = 1_000_000;

/// Whether record Secrets may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    /// They may.
    Used,
    /// They were switched off: history has to get shorter instead.
    Off,
}

/// Something that moves into record Secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct MovedPart {
    /// Whose part it is.
    pub owner: PartOwner,
    /// What to store there, not compressed yet.
    pub payload: Vec<u8>,
}

impl std::fmt::Debug for MovedPart {
    /// The size only: the payload may be values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "MovedPart({:?}, {} bytes)",
            self.owner,
            self.payload.len()
        )
    }
}

/// A record that fits, and what moved out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedRecord {
    /// The record to write, once every move has its place.
    pub record: Record,
    /// What has to be stored in record Secrets first.
    pub moves: Vec<MovedPart>,
    /// What was dropped, in words.
    pub notes: Vec<String>,
    /// Whether no Secret can hold it: without records, one change alone can be too large.
    pub too_large: bool,
}

/// Makes a record fit. A record that fits already comes back unchanged.
pub fn fit(record: Record, records: Records, limit: usize) -> FittedRecord {
    let mut fitted = FittedRecord {
        record,
        moves: Vec::new(),
        notes: Vec::new(),
        too_large: false,
    };
    // Most records fit, and to know how large one is means to write it.
    if fitted.size() <= limit {
        return fitted;
    }
    match records {
        Records::Used => fitted.move_out(limit),
        Records::Off => fitted.shorten(limit),
    }
    if fitted.size() > limit {
        fitted.drop_set_aside();
    }
    fitted.too_large = fitted.size() > limit.max(LARGEST_RECORD);
    fitted
}

impl FittedRecord {
    fn size(&self) -> usize {
        encode(&self.record).size()
    }

    /// Enters where a moved part is stored.
    pub fn place(&mut self, owner: &PartOwner, held: PartLocation) {
        match owner {
            PartOwner::Pending => self.record.pending.held = Some(held),
            PartOwner::Kept => self.record.kept.held = Some(held),
            PartOwner::Change(id, part) => {
                if let Some(change) = self.record.change_mut(id) {
                    let parts = &mut change.record.get_or_insert_default().parts;
                    parts.insert(*part, held);
                }
            }
        }
    }

    fn move_out(&mut self, limit: usize) {
        let current = self.record.current().map(|change| change.id.clone());
        let all = self.record.changes().map(|change| change.id.clone());
        let older: Vec<String> = all.filter(|id| Some(id) != current.as_ref()).collect();
        // The oldest first: it is the least likely to be looked at.
        for id in older.iter().rev() {
            for part in [RecordPart::Values, RecordPart::Inventory] {
                if self.size() <= limit {
                    return;
                }
                self.move_part(id, part);
            }
        }
        if self.size() > limit {
            self.move_pending();
        }
        if self.size() > limit {
            self.move_kept();
        }
        let Some(current) = current else {
            return;
        };
        // Moving the current values loses a plain reader nothing it acts on; moving the current
        // inventory makes it refuse the record. So that comes last.
        for part in [RecordPart::Values, RecordPart::Inventory] {
            if self.size() > limit {
                self.move_part(&current, part);
            }
        }
    }

    fn move_part(&mut self, id: &str, part: RecordPart) {
        let Some(change) = self.record.change_mut(id) else {
            return;
        };
        let payload = match part {
            RecordPart::Values => change
                .values
                .here()
                .map(|values| values.0.clone().into_bytes()),
            RecordPart::Inventory => change.inventory.here().map(encode_inventory),
            RecordPart::Manifests | RecordPart::Applied => None,
        };
        // Saying where a part went takes about as much room as the smallest parts.
        let Some(payload) = payload.filter(|payload| payload.len() > 100) else {
            return;
        };
        let objects = change.entries().len() as u64;
        let held = change.record.get_or_insert_default();
        held.parts.insert(part, PartLocation::default());
        match part {
            RecordPart::Values => change.values = Body::InRecord,
            _ => {
                held.objects = Some(objects);
                change.inventory = Body::InRecord;
            }
        }
        let owner = PartOwner::Change(id.to_owned(), part);
        self.moves.push(MovedPart { owner, payload });
    }

    fn move_pending(&mut self) {
        let pending = &mut self.record.pending;
        if pending.objects().is_empty() {
            return;
        }
        let payload = encode_pending(pending.objects());
        pending.count = Some(pending.counted().count() as u64);
        pending.objects = Body::InRecord;
        pending.held = Some(PartLocation::default());
        let owner = PartOwner::Pending;
        self.moves.push(MovedPart { owner, payload });
    }

    fn move_kept(&mut self) {
        let kept = &mut self.record.kept;
        if kept.objects.is_empty() {
            return;
        }
        let payload = encode_kept(&kept.objects);
        kept.count = Some(kept.objects.len() as u64);
        kept.objects = Vec::new();
        kept.held = Some(PartLocation::default());
        let owner = PartOwner::Kept;
        self.moves.push(MovedPart { owner, payload });
    }

    fn shorten(&mut self, limit: usize) {
        while self.size() > limit && self.record.past.pop().is_some() {}
        let full = self.record.history.len();
        while self.size() > limit && self.record.history.len() > 1 {
            self.record.cut_history(self.record.history.len() - 1);
        }
        let left = self.record.history.len();
        if left < full {
            self.say(format!(
                "history was cut from {full} to {}, because records are switched off \
                 and the Secret would have become too large",
                words::count(left, "change")
            ));
        }
        if self.size() > limit {
            self.drop_current_values();
        }
    }

    /// What cannot be an object is the last thing that a record needs.
    fn drop_set_aside(&mut self) {
        let dropped = std::mem::take(&mut self.record.set_aside).len();
        if dropped > 0 {
            self.notes.push(format!(
                "what cannot be an object was dropped from the record ({dropped} in all): the Secret would have \
                 become too large"
            ));
        }
    }

    fn drop_current_values(&mut self) {
        let Some(current) = self.record.current_mut() else {
            return;
        };
        let reason = "too large for the Secret, and records are switched off".to_owned();
        current.values = Body::InRecord;
        current
            .record
            .get_or_insert_default()
            .dropped
            .insert(RecordPart::Values, reason);
        self.notes
            .push("the values were not recorded: they are too large".to_owned());
    }

    /// Notes something for the user now and for readers of the record later.
    fn say(&mut self, note: String) {
        if let Some(current) = self.record.current_mut() {
            current.record.get_or_insert_default().note = Some(note.clone());
        }
        self.notes.push(note);
    }
}
