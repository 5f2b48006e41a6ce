//! What has become of a release as a whole.

use serde_json::Value;

use super::Finding;
use super::field::StoredValue;

/// The state of a release that is not simply there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseState {
    /// It was deleted; what its record still says is history, or about objects that were kept.
    Deleted,
    /// A word that this version does not know.
    Other(String),
}

impl ReleaseState {
    /// The word that stands for it in the record.
    pub fn word(&self) -> &str {
        match self {
            Self::Deleted => "deleted",
            Self::Other(word) => word,
        }
    }
}

impl StoredValue for ReleaseState {
    fn read(value: Value) -> Result<Self, Finding> {
        String::read(value).map(|word| match &*word {
            "deleted" => Self::Deleted,
            _ => Self::Other(word),
        })
    }

    fn write(&self) -> Value {
        self.word().into()
    }
}
