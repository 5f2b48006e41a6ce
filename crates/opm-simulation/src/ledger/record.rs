//! The Secrets of releases through time, and who held their locks.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use opm_core::ids::ReleaseId;
use serde_json::Value;

use super::{Actor, Landing, Ledger};
use crate::coverage::Visit;
use crate::modules::{home, module_path, release_name};
use crate::plan::ReleaseIndex;
use crate::rules;

/// The record's Secret of a release, at one moment.
#[derive(Debug, Clone)]
pub(crate) struct RecordMoment {
    pub(crate) at: u64,
    pub(crate) by: Actor,
    pub(crate) secret: Option<Value>,
    /// Who holds it, by the lock in it.
    pub(crate) lock: Option<String>,
    /// Whether this write was about the lock: it renews it, takes it or gives it back.
    pub(crate) beats: bool,
}

impl RecordMoment {
    /// What stands under a key.
    pub(crate) fn part(&self, key: &str) -> Option<Value> {
        part(self.secret.as_ref()?, key)
    }

    /// The changes in the index, the current one first.
    pub(crate) fn index(&self) -> Vec<String> {
        let index = self.part("index").unwrap_or_default();
        let ids = index.as_array().into_iter().flatten();
        ids.filter_map(|id| id.as_str().map(str::to_owned))
            .collect()
    }

    /// Whether the release was deleted, and only its record is left.
    pub(crate) fn is_deleted(&self) -> bool {
        let metadata = self.part("metadata").unwrap_or_default();
        metadata["state"] == "deleted"
    }

    /// What the log says of a run.
    pub(crate) fn result_of(&self, run: &str) -> Option<String> {
        let log = self.part("log")?;
        let entry = log.as_array()?.iter().find(|entry| entry["id"] == run)?;
        entry["result"].as_str().map(str::to_owned)
    }
}

/// What stands under a key of a Secret.
pub(crate) fn part(secret: &Value, key: &str) -> Option<Value> {
    let bytes = BASE64_STANDARD.decode(secret["data"][key].as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The name of a release's Secret.
pub(crate) fn record_name(release: ReleaseIndex) -> &'static str {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let all = (0..ReleaseIndex::NAMES.len()).map(ReleaseIndex);
        let name = |release| {
            let name = release_name(release);
            ReleaseId::of(&module_path(release), &name, &home()).inventory_secret(&name)
        };
        all.map(name).collect()
    });
    &names[release.0 % names.len()]
}

/// The release whose Secret this is.
fn release_of_secret(path: &str) -> Option<ReleaseIndex> {
    let (_, name) = path.rsplit_once('/')?;
    let mut all = (0..ReleaseIndex::NAMES.len()).map(ReleaseIndex);
    all.find(|release| record_name(*release) == name)
}

/// Whether a path is that of a release's Secret, and not of one that keeps a change.
pub(crate) fn is_release_secret(path: &str) -> bool {
    release_of_secret(path).is_some()
}

impl Ledger {
    pub(super) fn land_record(&mut self, landing: &Landing) {
        rules::record_is_bounded(self, landing);
        let Some(release) = release_of_secret(&landing.path) else {
            return;
        };
        let secret = landing.after.clone();
        let held = secret.as_ref().and_then(|secret| part(secret, "lock"));
        let lock = held.as_ref().and_then(|lock| lock["id"].as_str());
        let lock = lock.map(str::to_owned);
        let before = self.last_moment(release).cloned();
        let before = before.as_ref();
        let old = before.and_then(|moment| moment.part("lock"));
        let beats = held != old;
        if let Some(id) = &lock
            && landing.actor != Actor::Meddler
            && !self.lock_owners.contains_key(id)
        {
            let taken = before.is_some_and(|moment| moment.lock.is_some());
            self.coverage.visit(match taken {
                true => Visit::TookOver,
                false => Visit::TookFreeLock,
            });
            self.figures.takeovers += u64::from(taken);
            if taken {
                rules::no_early_take_over(self, release, landing);
            }
            self.lock_owners.insert(id.clone(), landing.actor);
        } else if beats && lock.is_some() {
            self.coverage.visit(Visit::Renewed);
        }
        let moment = RecordMoment {
            at: landing.at,
            by: landing.actor,
            secret,
            lock,
            beats,
        };
        let action = self.steps.get(&landing.actor).map(|step| &step.action);
        self.coverage.record(before, &moment, action);
        rules::record_is_true(self, release, &moment);
        rules::record_is_its_own(self, release, landing);
        self.records.entry(release).or_default().push(moment);
    }

    /// How a release's Secret was written last.
    pub(crate) fn last_moment(&self, release: ReleaseIndex) -> Option<&RecordMoment> {
        self.records.get(&release)?.last()
    }

    /// All moments of a release's Secret.
    pub(crate) fn moments(&self, release: ReleaseIndex) -> &[RecordMoment] {
        self.records.get(&release).map_or(&[][..], Vec::as_slice)
    }

    /// Who holds a lock.
    pub(crate) fn holder(&self, lock: &str) -> Option<Actor> {
        self.lock_owners.get(lock).copied()
    }

    /// The locks that an actor took, and so the runs that its step consisted of.
    pub(crate) fn runs_of(&self, actor: Actor) -> Vec<&str> {
        let own = self.lock_owners.iter().filter(|(_, by)| **by == actor);
        own.map(|(id, _)| id.as_str()).collect()
    }

    /// Whether somebody else than a client wrote a release's Secret since then.
    pub(crate) fn meddled_since(&self, release: ReleaseIndex, from: u64) -> bool {
        let mut moments = self.moments(release).iter();
        moments.any(|moment| moment.at >= from && moment.by == Actor::Meddler)
    }

    /// The release's Secret at each moment of a span, beginning with how it stood then.
    pub(crate) fn record_during(
        &self,
        release: ReleaseIndex,
        from: u64,
        until: u64,
    ) -> Vec<Option<&RecordMoment>> {
        let moments = self.moments(release);
        let before = moments.iter().rfind(|moment| moment.at < from);
        let mut all = vec![before];
        let during = moments.iter().filter(|m| (from..=until).contains(&m.at));
        all.extend(during.map(Some));
        all
    }
}
