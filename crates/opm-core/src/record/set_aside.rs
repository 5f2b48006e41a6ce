//! Entries that cannot be objects, such as one named `..`. No cluster can be asked for them, so
//! no plan may see them; they stay in the record, where somebody can look at them.

use std::fmt;

use super::field::{StoredObject, StoredValue, stored_fields};
use super::{Extra, KeptObject, PendingObject, Record, RecordedEntry};
use crate::entry::Entry;
use crate::name::shorten;

/// An entry that cannot be an object.
#[derive(Debug, Clone, PartialEq)]
pub struct SetAsideEntry {
    /// Where it was: `inventory`, `pending` or `kept`.
    pub from: String,
    /// The entry.
    pub entry: Entry,
    /// The other fields that it had there.
    pub extra: Extra,
}

stored_fields!(SetAsideEntry {
    from: field("from"),
    entry: flat(),
    extra: rest(),
});

impl SetAsideEntry {
    fn new(from: &str, entry: Entry, object: &impl StoredObject) -> Self {
        let read = Self::read(object.write()).map(|read| read.extra);
        Self {
            from: from.to_owned(),
            entry,
            extra: read.unwrap_or_default(),
        }
    }
}

impl fmt::Display for SetAsideEntry {
    /// Quoted, because whatever is in there was never checked by anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = &self.entry.identity;
        let (kind, name) = (shorten(identity.kind()), shorten(&identity.name));
        write!(f, "the entry {kind:?}/{name:?}")?;
        if let Some(namespace) = &identity.namespace {
            write!(f, " in namespace {:?}", shorten(namespace))?;
        }
        let rule = self.entry.broken_rule();
        write!(
            f,
            " cannot be an object and is set aside: {}",
            rule.unwrap_or("it was set aside before")
        )
    }
}

impl Record {
    /// Sets aside what cannot be an object of what plans are made from: the current inventory,
    /// pending and kept.
    pub(crate) fn set_impossible_aside(&mut self) {
        let mut aside = std::mem::take(&mut self.set_aside);
        if let Some(change) = self.current_mut()
            && let Some(inventory) = change.inventory.here_mut()
        {
            let entry = |recorded: &RecordedEntry| recorded.entry.clone();
            part("inventory", &mut inventory.entries, entry, &mut aside);
        }
        if let Some(objects) = self.pending.objects.here_mut() {
            let entry = |object: &PendingObject| object.entry.clone();
            part("pending", objects, entry, &mut aside);
        }
        let entry = |object: &KeptObject| object.entry.clone();
        part("kept", &mut self.kept.objects, entry, &mut aside);
        self.set_aside = aside;
    }
}

/// Parts those that can be objects from those that cannot.
fn part<T: StoredObject>(
    from: &str,
    objects: &mut Vec<T>,
    entry: impl Fn(&T) -> Entry,
    aside: &mut Vec<SetAsideEntry>,
) {
    objects.retain(|object| {
        let entry = entry(object);
        let possible = entry.broken_rule().is_none();
        if !possible {
            let one = SetAsideEntry::new(from, entry, object);
            if !aside.contains(&one) {
                aside.push(one);
            }
        }
        possible
    });
}
