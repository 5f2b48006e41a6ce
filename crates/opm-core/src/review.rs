//! Plans that somebody has reviewed, so that what was reviewed is what happens.
//!
//! A reviewed plan says what would be done to which object, on top of which change and of which
//! live objects. It holds no manifests and no values: the change id and the digest stand for
//! them. Its file is JSON, with a version of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::event::{AnnouncedObject, PlannedAction};
use crate::identity::Identity;
use crate::packed::PackedObject;

/// The format of the file.
const FORMAT: &str = "opmodel.dev/plan/v1alpha1";

/// How many differences are told.
const TOLD: usize = 10;

/// When a plan is shown to somebody before it is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReviewMode {
    /// Always.
    Always,
    /// When it removes, recreates or takes over something.
    Destructive,
    /// Never.
    #[default]
    Never,
}

impl ReviewMode {
    /// Whether somebody has to look at this plan.
    pub fn applies_to(self, objects: &[AnnouncedObject], recreated: &BTreeSet<Identity>) -> bool {
        let destroys = |object: &AnnouncedObject| {
            matches!(object.planned, PlannedAction::Prune | PlannedAction::Adopt)
        };
        match self {
            Self::Always => true,
            Self::Destructive => !recreated.is_empty() || objects.iter().any(destroys),
            Self::Never => false,
        }
    }
}

/// A plan, as far as it has to be the same when it is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedPlan {
    format: String,
    release: String,
    change: String,
    digest: String,
    /// The change that was current.
    current: Option<String>,
    /// The last deployment.
    deployment: Option<String>,
    objects: BTreeMap<String, ReviewedObject>,
}

/// One object of such a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ReviewedObject {
    action: String,
    /// Which state of which live object it was; none where there was no such object.
    live: Option<String>,
}

/// What a plan stands on.
#[derive(Debug, Clone)]
pub struct PlanBasis {
    /// The id of the release.
    pub release: String,
    /// The id of the change that would be made.
    pub change: String,
    /// The digest of its manifests.
    pub digest: String,
    /// The change that is current.
    pub current: Option<String>,
    /// The last deployment that touched anything.
    pub deployment: Option<String>,
}

/// A file that holds no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("it is not a plan that `opm` saved: {0}")]
pub struct PlanFileError(String);

impl ReviewedPlan {
    /// The plan for these objects, with what is live of them.
    pub fn new(
        basis: PlanBasis,
        objects: &[AnnouncedObject],
        live: &BTreeMap<Identity, PackedObject>,
    ) -> Self {
        let objects = objects.iter().map(|object| {
            let reviewed = ReviewedObject {
                action: object.planned.word().to_owned(),
                live: live
                    .get(&object.identity)
                    .and_then(|live| state_of(&live.unpack())),
            };
            (object.identity.to_string(), reviewed)
        });
        Self {
            format: FORMAT.to_owned(),
            release: basis.release,
            change: basis.change,
            digest: basis.digest,
            current: basis.current,
            deployment: basis.deployment,
            objects: objects.collect(),
        }
    }

    /// How what would happen now differs from what was reviewed, in words.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let mut all = Vec::new();
        if self.release != now.release {
            return vec!["it is a plan for another release".to_owned()];
        }
        if (&self.change, &self.digest) != (&now.change, &now.digest) {
            all.push(format!(
                "the module or its values have changed: it would make {}, not {}",
                now.change, self.change
            ));
        }
        let none = || "none".to_owned();
        if self.current != now.current {
            let (before, now) = (self.current.clone(), now.current.clone());
            all.push(format!(
                "the current change is {}, not {}",
                now.unwrap_or_else(none),
                before.unwrap_or_else(none)
            ));
        } else if self.deployment != now.deployment {
            all.push("the release has been deployed in between".to_owned());
        }
        let names: BTreeSet<&String> = self.objects.keys().chain(now.objects.keys()).collect();
        for name in names {
            let words = match (self.objects.get(name), now.objects.get(name)) {
                (Some(before), Some(now)) if before == now => continue,
                (Some(before), Some(now)) if before.action != now.action => {
                    format!("{name}: {}, not {}", now.action, before.action)
                }
                (Some(_), Some(_)) => format!("{name} has been changed in between"),
                (Some(before), None) => format!("{name}: nothing to do, not {}", before.action),
                (None, Some(now)) => {
                    format!("{name}: {}, and the plan does not name it", now.action)
                }
                (None, None) => continue,
            };
            all.push(words);
        }
        if all.len() > TOLD {
            let more = all.len() - TOLD;
            all.truncate(TOLD);
            all.push(format!("and {more} more"));
        }
        all
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, PlanFileError> {
        let plan: Self =
            serde_json::from_slice(bytes).map_err(|error| PlanFileError(error.to_string()))?;
        match plan.format.as_str() {
            FORMAT => Ok(plan),
            other => {
                let other: String = other.chars().take(80).collect();
                Err(PlanFileError(format!("its format is {other:?}")))
            }
        }
    }
}

/// Which state of which object it is. A status that moves on is no other state.
fn state_of(object: &Map<String, Value>) -> Option<String> {
    let metadata = object.get("metadata")?;
    let uid = metadata.get("uid")?.as_str()?;
    let state = match metadata.get("generation").and_then(Value::as_i64) {
        Some(generation) => format!("generation {generation}"),
        None => format!("version {}", metadata.get("resourceVersion")?.as_str()?),
    };
    Some(format!("{uid} {state}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::identity::GroupKind;

    fn object(name: &str, planned: PlannedAction) -> AnnouncedObject {
        AnnouncedObject {
            identity: Identity::new(GroupKind::new("", "ConfigMap"), Some("games"), name),
            component: "app".to_owned(),
            planned,
        }
    }

    fn plan(change: &str, objects: &[AnnouncedObject], version: &str) -> ReviewedPlan {
        let basis = PlanBasis {
            release: "r".to_owned(),
            change: change.to_owned(),
            digest: format!("sha256:{change}"),
            current: Some("before".to_owned()),
            deployment: Some("1".to_owned()),
        };
        let live = json!({"metadata": {"uid": "u", "resourceVersion": version}});
        let live = PackedObject::new(live.as_object().unwrap());
        let live = BTreeMap::from([(objects[0].identity.clone(), live)]);
        ReviewedPlan::new(basis, objects, &live)
    }

    #[test]
    fn what_moved_is_told() {
        use PlannedAction::{Prune, Update};
        let before = plan("one", &[object("a", Update), object("b", Prune)], "1");
        let differences = |now: &ReviewedPlan| before.differences(now).join("; ");
        assert_eq!(differences(&before.clone()), "");
        let changed = plan("two", &[object("a", Update), object("b", Prune)], "1");
        assert!(differences(&changed).contains("would make two, not one"));
        let edited = plan("one", &[object("a", Update), object("b", Prune)], "2");
        let said = "ConfigMap/a in namespace games has been changed in between";
        assert_eq!(differences(&edited), said);
        let more = plan("one", &[object("a", Prune), object("c", Prune)], "1");
        let said = differences(&more);
        for words in ["a in namespace games: prune, not update", "b in", "c in"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let mut other = before.clone();
        other.current = None;
        assert!(differences(&other).contains("the current change is none, not before"));
        other.release = "s".to_owned();
        assert_eq!(differences(&other), "it is a plan for another release");
    }

    #[test]
    fn a_file_is_read_back_and_others_are_not() {
        let saved = plan("one", &[object("a", PlannedAction::Create)], "1");
        assert_eq!(ReviewedPlan::decode(&saved.encode()), Ok(saved.clone()));
        assert!(ReviewedPlan::decode(b"{}").is_err());
        let later = String::from_utf8(saved.encode()).unwrap();
        let later = later.replace("v1alpha1", "v9");
        assert!(ReviewedPlan::decode(later.as_bytes()).is_err());
    }

    #[test]
    fn only_what_destroys_is_reviewed_unless_everything_is() {
        use ReviewMode::{Always, Destructive, Never};
        let none = BTreeSet::new();
        let recreated = BTreeSet::from([object("a", PlannedAction::Update).identity]);
        for (planned, recreated, expected) in [
            (PlannedAction::Create, &none, [true, false, false]),
            (PlannedAction::Update, &none, [true, false, false]),
            (PlannedAction::Keep, &none, [true, false, false]),
            (PlannedAction::Update, &recreated, [true, true, false]),
            (PlannedAction::Prune, &none, [true, true, false]),
            (PlannedAction::Adopt, &none, [true, true, false]),
        ] {
            let objects = [object("a", planned)];
            let found =
                [Always, Destructive, Never].map(|mode| mode.applies_to(&objects, recreated));
            assert_eq!(found, expected, "{planned:?}");
        }
    }
}
