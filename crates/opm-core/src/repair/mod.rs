//! A record that was lost or damaged, put together again: from what can still be read of it, from
//! the changes that its record Secrets keep, and from the objects that carry its labels.
//!
//! What can be read stays as it is. What cannot is replaced by what is certain: an object that
//! is in the cluster under this release's labels belongs to it, and nothing else does. Nothing
//! here looks at a cluster or writes.

mod current;
mod history;
mod log;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::entry::Entry;
use crate::identity::Identity;
use crate::labels::Owner;
use crate::protocol::Timing;
use crate::record::{
    Body, Change, Extra, Finding, Kept, KeptObject, KeptWhy, LogEntry, Metadata, Pending,
    PendingObject, PendingWhy, Record, SalvagedRecord, release_labels,
};
use crate::time::Timestamp;

pub use current::{ChangeMatch, compare};
use history::History;
pub use log::recovered_log;

/// Everything that is known of a release whose record may be damaged.
#[derive(Debug, Clone)]
pub struct RepairEvidence {
    /// Whose record it is.
    pub owner: Owner,
    /// What can be read of its Secret; none if there is no Secret.
    pub salvaged: Option<SalvagedRecord>,
    /// The changes that record Secrets keep, each verified by its digest and its id.
    pub kept_changes: Vec<Change>,
    /// What the stored objects of changes are beside the live ones, by change: of those that
    /// [`undetermined`] names.
    pub matches: BTreeMap<String, ChangeMatch>,
    /// The deployments that are known, newest first: those of the Secret, or else a copy.
    pub log: Vec<LogEntry>,
    /// The objects that carry the release's labels and were applied by it, with their uids.
    pub labelled: Vec<Entry>,
    /// The server's time.
    pub now: Timestamp,
}

impl RepairEvidence {
    /// Until when stored times are believed.
    fn latest(&self) -> Timestamp {
        Timing::default().latest(self.now)
    }
}

/// What a look at an object found that a recovered change names and that carries no label of the
/// release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnlabelledState {
    /// It is not there.
    Absent,
    /// It is there, and is not this release's.
    Foreign,
    /// Nobody could tell.
    Unknown,
}

/// Where a change comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeSource {
    /// It was readable in the release's Secret.
    Secret,
    /// A record Secret had kept it.
    Records,
}

/// A change of the repaired history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveredChange {
    /// Its id.
    pub id: String,
    /// Where it comes from.
    pub source: ChangeSource,
    /// How many objects its inventory names.
    pub objects: usize,
    /// Whether it is the current one from now on.
    #[serde(skip)]
    pub current: bool,
    /// What its objects are beside the live ones, where they had to be compared.
    #[serde(skip)]
    pub matched: Option<ChangeMatch>,
}

/// How an object found by its labels is remembered from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FoundAs {
    /// As an object of the current change.
    Inventory,
    /// As pending: the next apply keeps it if it renders it, and removes it if not.
    Pending,
    /// As kept: left standing until somebody says otherwise.
    Kept,
}

impl FoundAs {
    /// The word that scripts see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Pending => "pending",
            Self::Kept => "kept",
        }
    }
}

/// An object that the record did not know, or not for certain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundObject {
    /// Which object.
    #[serde(flatten)]
    pub entry: Entry,
    /// How it is remembered.
    #[serde(rename = "as")]
    pub taken: FoundAs,
}

/// A repaired record, and what was done to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The record to write.
    pub record: Record,
    /// What was wrong, key by key.
    pub findings: Vec<Finding>,
    /// The changes of its history, newest first.
    pub changes: Vec<RecoveredChange>,
    /// Changes that the index names and that nothing can bring back.
    pub lost: Vec<String>,
    /// Whether nobody can tell which of the changes is current, so that none is.
    pub undetermined: bool,
    /// Objects that it knows from now on.
    pub taken: Vec<FoundObject>,
    /// Objects that a recovered change names and that are not this release's: left out.
    pub foreign: Vec<Identity>,
    /// Whether anything is different from what is stored.
    pub changed: bool,
}

/// A record on its way: what is left is to look at objects that carry no label.
#[derive(Debug, Clone)]
pub struct Draft {
    evidence: RepairEvidence,
    history: History,
    doubtful: Vec<Entry>,
}

/// Whether the record Secrets have to be read: only if the release's Secret does not have
/// everything that it names.
pub fn needs_records(salvaged: Option<&SalvagedRecord>) -> bool {
    let Some(salvaged) = salvaged else {
        return true;
    };
    if salvaged.findings.iter().any(|finding| finding.key == "log") {
        return true;
    }
    match &salvaged.index {
        None => true,
        Some(ids) => ids.iter().any(|id| !salvaged.changes.contains_key(id)),
    }
}

/// The changes that have to be compared with the live objects first, because nothing that can
/// be read says which one is current.
pub fn undetermined(evidence: &RepairEvidence) -> Vec<Change> {
    let nothing = BTreeMap::new();
    let evidence = &RepairEvidence {
        matches: nothing,
        ..evidence.clone()
    };
    History::of(evidence).undetermined().cloned().collect()
}

/// Puts the history together, and says which objects have to be looked at.
pub fn draft(evidence: RepairEvidence) -> Draft {
    let history = History::of(&evidence);
    let labelled: BTreeSet<&Identity> = evidence.labelled.iter().map(|e| &e.identity).collect();
    let doubtful = match (history.intact, history.current()) {
        (false, Some(current)) => {
            let entries = current.entries().iter().map(|recorded| &recorded.entry);
            let doubtful = entries.filter(|entry| !labelled.contains(&entry.identity));
            doubtful.cloned().collect()
        }
        _ => Vec::new(),
    };
    Draft {
        history,
        doubtful,
        evidence,
    }
}

impl Draft {
    /// Objects of the recovered current change that carry no label of the release.
    pub fn doubtful(&self) -> impl Iterator<Item = &Identity> {
        self.doubtful.iter().map(|entry| &entry.identity)
    }

    /// The repaired record, given what was found of the doubtful objects.
    pub fn reconcile(self, looks: &HashMap<Identity, UnlabelledState>) -> Repaired {
        let Self {
            evidence, history, ..
        } = self;
        let salvaged = evidence.salvaged.clone().unwrap_or_default();
        let stored = evidence.salvaged.is_some();
        let mut record = Record::new(
            metadata(&evidence, &history),
            labels(&evidence.owner, &salvaged),
        );
        record.pending = salvaged.pending.clone().unwrap_or_default();
        record.kept = salvaged.kept.clone().unwrap_or_default();
        record.set_aside = salvaged.set_aside.clone();
        record.lock = salvaged.lock.clone();
        record.log = evidence.log.clone();
        record.unknown = salvaged.unknown.clone();
        record.annotations = salvaged.annotations.clone();
        let intact = history.intact;
        let undetermined = history.undetermined;
        let (changes, lost) = (history.told(&evidence.matches), history.lost.clone());
        (record.history, record.past) = history.into_slots();

        let mut taking = ObjectIntake::new(&evidence, &mut record);
        if !intact {
            taking.confirm(looks);
        }
        taking.outside(kept_alone_is_lost(&salvaged, stored));
        let (taken, foreign) = (taking.taken, taking.foreign);
        record.set_impossible_aside();
        let relabelled = record.labels != salvaged.labels;
        let findings = salvaged.findings;
        let unread = salvaged.pending.is_none() || salvaged.kept.is_none();
        let nothing = findings.is_empty() && taken.is_empty() && !unread && !relabelled;
        let changed = !(stored && intact && nothing);
        Repaired {
            record,
            findings,
            changes,
            lost,
            undetermined,
            taken,
            foreign,
            changed,
        }
    }
}

/// Whether what was kept is the only thing that is not known: then what the rest of the record
/// does not name was left standing on purpose.
fn kept_alone_is_lost(salvaged: &SalvagedRecord, stored: bool) -> bool {
    stored && salvaged.kept.is_none() && salvaged.pending.is_some() && salvaged.index.is_some()
}

fn metadata(evidence: &RepairEvidence, history: &History) -> Metadata {
    let owner = &evidence.owner;
    let salvaged = evidence.salvaged.as_ref();
    let before = salvaged.and_then(|salvaged| salvaged.metadata.clone());
    Metadata {
        name: owner.release.to_string(),
        namespace: owner.namespace.to_string(),
        release_id: owner.id.to_string(),
        last_transition_time: before
            .as_ref()
            .and_then(|before| before.last_transition_time.clone())
            .or_else(|| {
                let newest = history.newest(evidence.latest());
                newest.map(|time| time.to_string())
            }),
        // A history that had to be rebuilt is that of a release that is there.
        state: before
            .as_ref()
            .filter(|_| history.intact)
            .map(|before| before.state.clone())
            .unwrap_or_default(),
        extra: before.map(|before| before.extra).unwrap_or_default(),
    }
}

/// What the Secret is labelled with, and everything that it has to be labelled with.
fn labels(owner: &Owner, salvaged: &SalvagedRecord) -> BTreeMap<String, String> {
    let mut labels = salvaged.labels.clone();
    labels.extend(release_labels(owner));
    labels
}

/// Takes found objects into a record.
struct ObjectIntake<'a> {
    evidence: &'a RepairEvidence,
    record: &'a mut Record,
    taken: Vec<FoundObject>,
    foreign: Vec<Identity>,
}

impl<'a> ObjectIntake<'a> {
    fn new(evidence: &'a RepairEvidence, record: &'a mut Record) -> Self {
        Self {
            evidence,
            record,
            taken: Vec::new(),
            foreign: Vec::new(),
        }
    }

    /// The inventory of a recovered current change: only what is certainly this release's stays.
    fn confirm(&mut self, looks: &HashMap<Identity, UnlabelledState>) {
        let found: HashMap<&Identity, &Entry> = self
            .evidence
            .labelled
            .iter()
            .map(|entry| (&entry.identity, entry))
            .collect();
        let outside = outside(&self.record.pending, &self.record.kept);
        let Some(inventory) = self.record.current_inventory_mut() else {
            return;
        };
        let (mut unknown, mut foreign, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        inventory.retain_mut(|recorded| {
            let entry = &mut recorded.entry;
            // What was left behind later on was no longer part of the release.
            if outside.contains(&entry.identity) {
                return false;
            }
            if let Some(live) = found.get(&entry.identity) {
                entry.uid = live.uid.clone();
                taken.push(entry.clone());
                return true;
            }
            match looks.get(&entry.identity) {
                // A Job that is done and gone must not run again.
                Some(UnlabelledState::Absent) => entry.identity.group_kind.is("batch", "Job"),
                Some(UnlabelledState::Foreign) => {
                    foreign.push(entry.identity.clone());
                    false
                }
                Some(UnlabelledState::Unknown) | None => {
                    unknown.push(entry.clone());
                    false
                }
            }
        });
        self.foreign = foreign;
        for entry in taken {
            let taken = FoundAs::Inventory;
            self.taken.push(FoundObject { entry, taken });
        }
        for entry in unknown {
            self.pending(entry);
        }
    }

    /// Labelled objects that the record does not know.
    fn outside(&mut self, as_kept: bool) {
        let mut known: BTreeSet<Identity> = outside(&self.record.pending, &self.record.kept);
        let inventory = self.record.inventory().iter();
        known.extend(inventory.map(|recorded| recorded.entry.identity.clone()));
        for entry in &self.evidence.labelled {
            if known.insert(entry.identity.clone()) {
                match as_kept {
                    true => self.kept(entry.clone()),
                    false => self.pending(entry.clone()),
                }
            }
        }
    }

    fn pending(&mut self, entry: Entry) {
        let entry = Entry {
            hash: None,
            template: None,
            ..entry
        };
        let object = PendingObject {
            entry: entry.clone(),
            why: PendingWhy::Repair,
            change: self.change(),
            since: self.evidence.now.to_string(),
            reason: Some("found by its labels".to_owned()),
            late: false,
            extra: Extra::default(),
        };
        if let Body::Here(objects) = &mut self.record.pending.objects {
            objects.push(object);
            let taken = FoundAs::Pending;
            self.taken.push(FoundObject { entry, taken });
        }
    }

    fn kept(&mut self, entry: Entry) {
        let object = KeptObject {
            entry: entry.clone(),
            why: KeptWhy::NoPrune,
            change: self.change(),
            since: self.evidence.now.to_string(),
            reason: Some("found by its labels; what was kept could not be read".to_owned()),
            extra: Extra::default(),
        };
        self.record.kept.objects.push(object);
        let taken = FoundAs::Kept;
        self.taken.push(FoundObject { entry, taken });
    }

    fn change(&self) -> String {
        let current = self.record.current();
        current.map(|change| change.id.clone()).unwrap_or_default()
    }
}

fn outside(pending: &Pending, kept: &Kept) -> BTreeSet<Identity> {
    let pending = pending.objects().iter().map(|object| &object.entry);
    let kept = kept.objects.iter().map(|object| &object.entry);
    pending
        .chain(kept)
        .map(|entry| entry.identity.clone())
        .collect()
}
