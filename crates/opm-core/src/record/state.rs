//! Whether a release is there, or deleted with something left of it.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::field::StoredValue;
use super::{Finding, Record};

/// What became of a release as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReleaseState {
    /// It is there; nothing is written for it.
    #[default]
    Live,
    /// It was deleted, and its record stays because of what was kept. The current change's
    /// inventory, if it still has one, counts as empty.
    Deleted,
    /// A word that this version does not know; such a release counts as there.
    Other(String),
}

/// The word; a live release has none and is left out.
impl Serialize for ReleaseState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word().unwrap_or_default())
    }
}

impl ReleaseState {
    /// Whether the release is there.
    pub fn is_live(&self) -> bool {
        *self == Self::Live
    }

    /// The word that stands for it in the record; none for a release that is there.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Live => None,
            Self::Deleted => Some("deleted"),
            Self::Other(word) => Some(word),
        }
    }

    /// The state that a word stands for.
    pub fn from_word(word: &str) -> Self {
        match word {
            "" => Self::Live,
            "deleted" => Self::Deleted,
            other => Self::Other(other.to_owned()),
        }
    }

    /// For people: the word, with how many objects are kept.
    pub fn told(&self, kept: u64) -> Option<String> {
        match self {
            Self::Deleted if kept == 0 => Some("deleted".to_owned()),
            Self::Deleted => Some(format!("deleted ({kept} kept)")),
            Self::Live | Self::Other(_) => None,
        }
    }
}

impl StoredValue for ReleaseState {
    fn absent() -> Option<Self> {
        Some(Self::Live)
    }

    fn read(value: Value) -> Result<Self, Finding> {
        String::read(value).map(|word| Self::from_word(&word))
    }

    fn write(&self) -> Value {
        self.word().map_or(Value::Null, Value::from)
    }
}

impl Record {
    /// Whether the release was deleted, and its record stays because of what was kept.
    pub fn is_deleted(&self) -> bool {
        self.metadata.state == ReleaseState::Deleted
    }

    /// Whether the record of a deleted release is needed for nothing any more: it tracks no
    /// object, late ones included, keeps no history, and nothing may still land.
    pub(crate) fn is_spent(&self) -> bool {
        let pending = &self.pending;
        self.is_deleted()
            && self.history.is_empty()
            && pending.objects.here().is_some_and(Vec::is_empty)
            && pending.until.is_none()
            && self.kept.objects.is_empty()
            && self.kept.held.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_back() {
        for (state, word, told) in [
            (ReleaseState::Live, None, None),
            (
                ReleaseState::Deleted,
                Some("deleted"),
                Some("deleted (2 kept)"),
            ),
            (
                ReleaseState::Other("archived".to_owned()),
                Some("archived"),
                None,
            ),
        ] {
            assert_eq!(state.word(), word);
            assert_eq!(ReleaseState::from_word(word.unwrap_or_default()), state);
            assert_eq!(
                ReleaseState::read(Value::from(word)).ok().as_ref(),
                word.map(|_| &state)
            );
            assert_eq!(state.told(2).as_deref(), told);
        }
    }
}
