//! What a listing of releases shows, kept as an annotation so that no Secret data is read for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Body, Change, Record, ReleaseState};
use crate::ids::ReleaseId;
use crate::labels;

pub use crate::labels::SUMMARY as SUMMARY_ANNOTATION;

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Summary {
    /// The release name.
    pub name: String,
    /// The release's namespace.
    pub namespace: String,
    /// The release id.
    pub release_id: String,
    /// The module's name, empty before the first change.
    pub module: String,
    /// The module's path, empty before the first change.
    pub path: String,
    /// The module's version; none for a local one.
    pub version: Option<String>,
    /// The current change.
    pub change_id: Option<String>,
    /// How many objects the current change has.
    pub objects: u64,
    /// How many objects are pending; late ones do not count.
    pub pending: u64,
    /// How many objects were left standing.
    pub kept: u64,
    /// When a change was last recorded.
    pub last_transition_time: Option<String>,
    /// What became of the release as a whole; none for one that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How the last deployment ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_result: Option<String>,
}

impl Summary {
    /// The summary of a record. A moved inventory has left its count behind.
    pub fn of(record: &Record) -> Self {
        let current = record.current();
        let module = current.map(|change| &change.module);
        // After a failed first apply, the log says what was to be deployed.
        let logged = record.log.iter().find_map(|entry| entry.module.as_ref());
        let module = module.or(logged);
        let last = record.log.first();
        Self {
            name: record.metadata.name.clone(),
            namespace: record.metadata.namespace.clone(),
            release_id: record.metadata.release_id.clone(),
            module: module
                .map(|module| module.name.clone())
                .or_else(|| labelled_module(record))
                .unwrap_or_default(),
            path: module.map(|module| module.path.clone()).unwrap_or_default(),
            version: module.and_then(|module| module.version.clone()),
            change_id: current.map(|change| change.id.clone()),
            objects: current
                .filter(|_| !record.is_deleted())
                .map(objects)
                .unwrap_or_default(),
            pending: record
                .pending
                .count
                .unwrap_or(record.pending.counted().count() as u64),
            kept: record
                .kept
                .count
                .unwrap_or(record.kept.objects.len() as u64),
            last_transition_time: record.metadata.last_transition_time.clone(),
            state: record.metadata.state.word().map(str::to_owned),
            last_result: last.map(|entry| entry.result.word().to_owned()),
        }
    }

    /// What became of the release as a whole, for people; none for one that is there.
    pub fn told_state(&self) -> Option<String> {
        ReleaseState::from_word(self.state.as_deref()?).told(self.kept)
    }

    /// As annotation text.
    pub fn to_text(&self) -> String {
        json!(self).to_string()
    }

    /// From annotation text; none if it is not one.
    pub fn from_text(text: &str) -> Option<Self> {
        let summary: Self = serde_json::from_str(text).ok()?;
        let named = [&summary.name, &summary.namespace, &summary.release_id];
        (!named.iter().any(|text| text.is_empty())).then_some(summary)
    }

    /// What the name and the labels of a release's Secret say by themselves: which release it
    /// is, and of which module. None if they name no release.
    pub fn by_name(
        secret: &str,
        namespace: &str,
        labelled: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let label = |key: &str| labelled.get(key).cloned();
        let named = secret
            .strip_prefix("opm.")
            .and_then(|rest| rest.split_once('.'))
            .filter(|(name, id)| !name.is_empty() && id.parse::<ReleaseId>().is_ok());
        let (name, release_id) = match named {
            Some((name, id)) => (name.to_owned(), id.to_owned()),
            // A Secret that somebody renamed is found by its labels, as apply finds it.
            None => (
                label(labels::RELEASE_NAME).unwrap_or_else(|| secret.to_owned()),
                label(labels::RELEASE_ID)?,
            ),
        };
        Some(Self {
            name,
            namespace: namespace.to_owned(),
            release_id,
            module: label(labels::MODULE_NAME).unwrap_or_default(),
            ..Self::default()
        })
    }
}

/// The module of a deleted release that keeps no change to tell it.
fn labelled_module(record: &Record) -> Option<String> {
    let module = record.labels.get(labels::MODULE_NAME);
    module.filter(|_| record.is_deleted()).cloned()
}

fn objects(change: &Change) -> u64 {
    match &change.inventory {
        Body::Here(inventory) => inventory.entries.len() as u64,
        Body::InRecord => change
            .record
            .as_ref()
            .and_then(|held| held.objects)
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_names_its_release_whatever_became_of_its_summary() {
        let id = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de";
        let labelled = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            pairs.iter().map(owned).collect()
        };
        let module = (labels::MODULE_NAME, "minecraft");
        for (secret, given, expected) in [
            (
                format!("opm.web.{id}"),
                labelled(&[module]),
                Some(("web", "minecraft")),
            ),
            (format!("opm.web.{id}"), labelled(&[]), Some(("web", ""))),
            (
                "renamed".to_owned(),
                labelled(&[(labels::RELEASE_ID, id), (labels::RELEASE_NAME, "web")]),
                Some(("web", "")),
            ),
            (
                "renamed".to_owned(),
                labelled(&[(labels::RELEASE_ID, id)]),
                Some(("renamed", "")),
            ),
            ("opm.web.nonsense".to_owned(), labelled(&[module]), None),
            (format!("opm..{id}"), labelled(&[]), None),
        ] {
            let found = Summary::by_name(&secret, "games", &given);
            let seen = found.as_ref().map(|s| (s.name.as_str(), s.module.as_str()));
            assert_eq!(seen, expected, "{secret} {given:?}");
            assert!(found.is_none_or(|s| s.release_id == id && s.namespace == "games"));
        }
    }
}
