//! What goes wrong, and what others do.

use serde::{Deserialize, Serialize};

use super::{Kind, ObjectPlan, ReleaseIndex};

/// What goes wrong, and with which request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AimedFault {
    /// Among which requests.
    pub aim: FaultTarget,
    /// How many of them come before it.
    pub at: usize,
    /// What goes wrong.
    pub fault: Fault,
}

/// Requests of a step that a fault can be aimed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FaultTarget {
    /// All.
    Any,
    /// Writes of a release's record.
    Record,
    /// Removals of a record.
    Removal,
    /// Writes of objects.
    Object,
    /// All about an object, once the record was written.
    Held,
    /// Watches.
    Watch,
}

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// It takes so many milliseconds more to arrive.
    Slow(u64),
    /// It never arrives; the connection breaks.
    LostRequest,
    /// It is carried out; the connection breaks before the answer.
    LostAnswer,
    /// Just before it arrives, somebody replaces the object that it names, or makes one.
    Replaced,
    /// The connection breaks; it is carried out so many milliseconds later.
    LandsLate(u64),
    /// It is carried out, the connection breaks before the answer, and so many milliseconds later
    /// it is carried out once more.
    Twice(u64),
    /// It is carried out, and the answer takes so many milliseconds more.
    LateAnswer(u64),
    /// Nobody ever answers, and it is not carried out.
    Hangs,
    /// It is carried out, and nobody ever answers.
    HangsAfter,
    /// The server answers this instead of carrying it out.
    Status(u16),
    /// It is carried out, and the server answers that it timed out.
    TimedOut,
    /// It is carried out, and the answer breaks off.
    CutShort,
    /// The client dies before it is sent.
    DieBefore,
    /// It is carried out, and the client dies before it hears of it.
    DieAfter,
    /// The client dies, and it is carried out so many milliseconds later.
    DieLate(u64),
    /// The client stands still for so many seconds before it is sent.
    Pause(u64),
    /// A watch breaks off so many milliseconds after it began.
    WatchBreaks(u64),
    /// So many milliseconds after it began, a watch hears that its version is too old (410).
    WatchExpires(u64),
}

impl Fault {
    /// Whether it befalls nothing but watches.
    pub(crate) fn is_of_a_watch(self) -> bool {
        matches!(self, Self::WatchBreaks(_) | Self::WatchExpires(_))
    }

    /// Whether the client never hears what became of its request.
    pub(crate) fn loses_the_answer(self) -> bool {
        matches!(
            self,
            Self::LostAnswer
                | Self::LandsLate(_)
                | Self::Twice(_)
                | Self::HangsAfter
                | Self::CutShort
                | Self::DieLate(_)
        )
    }
}

/// What becomes of a client in the middle of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It dies when it has been woken up so many times.
    DiesAtWake(usize),
    /// The user interrupts it after so many milliseconds.
    Interrupted(u64),
    /// Its wall clock jumps by so many seconds after so many milliseconds.
    ClockJumps(u64, i64),
}

/// What somebody else does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Meddling {
    /// When, in milliseconds.
    pub at: u64,
    /// What.
    pub what: Meddle,
}

/// Deeds of others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Meddle {
    /// kubectl changes a field that the module sets.
    Edit(ObjectPlan),
    /// kubectl deletes an object.
    Delete(ObjectPlan),
    /// kubectl creates an object of that name.
    Create(ObjectPlan),
    /// Somebody takes all labels off.
    StripLabels(ObjectPlan),
    /// Somebody takes all labels off, and with them who has set what.
    StripAll(ObjectPlan),
    /// A controller puts a finalizer on it, and takes it off so many milliseconds later.
    Finalizer(ObjectPlan, u64),
    /// Helm brings an object of that name.
    Helm(ObjectPlan),
    /// Somebody applies an object of that name with kubectl.
    Kubectl(ObjectPlan),
    /// A controller works on an object, so many milliseconds apart.
    Controller(Controller, ObjectPlan, u64),
    /// A ClusterRole is deleted, and the controller of aggregated ones writes its rules once more.
    Rebuild(ObjectPlan),
    /// The record's Secret is deleted.
    DeleteRecord(ReleaseIndex),
    /// The record's Secret loses its current change.
    TruncateRecord(ReleaseIndex),
    /// Somebody edits the record's Secret.
    EditRecord(ReleaseIndex, RecordEdit),
    /// One of the Secrets that keep changes is deleted.
    DeleteRecordSecret(ReleaseIndex),
    /// The record is put back to how it was so many milliseconds ago.
    RestoreRecord(ReleaseIndex, u64),
}

/// What controllers do to objects that are not theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Controller {
    /// Fills in fields that nobody has set.
    Defaults,
    /// Changes what the module has set, again and again.
    Edits,
    /// Deletes the object and creates it again as it was, labels and all.
    Recreates,
}

/// What people do to a record by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordEdit {
    /// Its times are set far ahead.
    TimesAhead,
    /// It gets a key that nobody knows.
    UnknownKey,
    /// Its log is emptied.
    NoLog,
    /// Its index breaks off in the middle.
    CutShort,
}

/// What the server does not do for a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Weather {
    /// From when, in milliseconds.
    pub from: u64,
    /// Until when.
    pub until: u64,
    /// What.
    pub what: Outage,
}

/// Kinds of outages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outage {
    /// It is down: requests do not arrive, watches end.
    Down,
    /// This kind may not be written.
    NoWrites(Kind),
    /// This kind may not be read.
    NoReads(Kind),
    /// A webhook for this kind does not answer.
    Webhook(Kind),
    /// Records may not be written.
    NoRecordWrites,
    /// Records may not be read.
    NoRecordReads,
}
