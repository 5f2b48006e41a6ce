//! How a resource stands from now on, and the patch that says so: nothing, if nothing is new.

use opm_core::ids::ReleaseId;
use opm_core::rendered::Module;
use opm_engine::report::{Action, Report, TrackedObject};
use serde_json::{Map, Value, json};

use crate::resource::{LastAttempt, ModuleReleaseStatus, ModuleStatus, ObjectCounts};
use crate::verdict::Verdict;

/// How many pending and kept objects are named.
const NAMED: usize = 20;

/// What an attempt found out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    pub(crate) release: Option<ReleaseId>,
    pub(crate) module: Option<Module>,
    /// What was applied, if it was.
    pub(crate) applied: Option<Report>,
    /// What could not be applied.
    pub(crate) failed: Option<Report>,
}

/// The status from now on.
pub(crate) fn next(
    before: &ModuleReleaseStatus,
    generation: Option<i64>,
    verdict: &Verdict,
    findings: &Findings,
    now: &str,
) -> ModuleReleaseStatus {
    let mut status = before.clone();
    status.observed_generation = generation;
    status.conditions = verdict.conditions(before, generation, now);
    if let (None, Some(release)) = (&status.release_id, &findings.release) {
        status.release_id = Some(release.to_string());
    }
    if let Some(module) = &findings.module
        && (findings.applied.is_some() || status.module.is_none())
    {
        status.module = Some(ModuleStatus {
            path: module.path.as_str().to_owned(),
            version: module.version.clone(),
        });
    }
    if let Some(report) = &findings.applied {
        status.change = report.change_id.as_ref().map(ToString::to_string);
        status.digest.clone_from(&report.manifest_digest);
    }
    if let Some(report) = findings.applied.as_ref().or(findings.failed.as_ref()) {
        status.pending = named(&report.pending);
        status.kept = named(&report.kept);
        let objects = match findings.applied {
            Some(_) => count(
                report
                    .resources
                    .iter()
                    .filter(|one| is_there(one.action))
                    .count(),
            ),
            None => before.counts.unwrap_or_default().objects,
        };
        status.counts = Some(ObjectCounts {
            objects,
            pending: count(report.pending.len()),
            kept: count(report.kept.len()),
        });
    }
    let changed = ModuleReleaseStatus {
        last_attempt: None,
        ..status.clone()
    } != ModuleReleaseStatus {
        last_attempt: None,
        ..before.clone()
    };
    if changed {
        let report = findings.applied.as_ref().or(findings.failed.as_ref());
        let change = report.and_then(|report| report.change_id.as_ref());
        status.last_attempt = Some(LastAttempt {
            time: now.to_owned(),
            change: change.map(ToString::to_string),
            result: verdict.reason.word().to_owned(),
        });
    }
    status
}

/// Whether an object is part of the release after this.
pub(crate) fn is_there(action: Action) -> bool {
    !matches!(action, Action::Pruned | Action::Deleted | Action::Kept)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn named(objects: &[TrackedObject]) -> Vec<String> {
    let all = objects.iter().take(NAMED);
    let mut named: Vec<String> = all.map(|one| one.identity.to_string()).collect();
    let more = objects.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named
}

/// The merge patch from one status to another; none if they are the same.
pub(crate) fn patch(before: &ModuleReleaseStatus, next: &ModuleReleaseStatus) -> Option<Value> {
    if before == next {
        return None;
    }
    let fields = |status| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (old, mut new) = (fields(before), fields(next));
    for key in old.keys() {
        new.entry(key.clone()).or_insert(Value::Null);
    }
    Some(json!({ "status": new }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;

    #[test]
    fn the_same_again_changes_nothing() {
        let verdict = Verdict::ready(Reason::Applied, "all applied");
        let findings = Findings {
            applied: Some(Report::default()),
            ..Findings::default()
        };
        let first = next(
            &ModuleReleaseStatus::default(),
            Some(1),
            &verdict,
            &findings,
            "t1",
        );
        assert_eq!(
            first.last_attempt.as_ref().map(|one| one.time.as_str()),
            Some("t1")
        );
        let again = next(&first, Some(1), &verdict, &findings, "t2");
        assert_eq!(patch(&first, &again), None);
        let other = next(&first, Some(2), &verdict, &findings, "t3");
        assert_eq!(
            other.last_attempt.as_ref().map(|one| one.time.as_str()),
            Some("t3")
        );
    }

    #[test]
    fn what_is_no_longer_said_is_removed() {
        let before = ModuleReleaseStatus {
            pending: vec!["Service/web".to_owned()],
            observed_generation: Some(1),
            ..ModuleReleaseStatus::default()
        };
        let after = ModuleReleaseStatus {
            observed_generation: Some(2),
            ..ModuleReleaseStatus::default()
        };
        let expected = json!({"status": {"pending": null, "observedGeneration": 2}});
        assert_eq!(patch(&before, &after), Some(expected));
    }

    #[test]
    fn a_release_keeps_its_id() {
        let verdict = Verdict::ready(Reason::Applied, "");
        let before = ModuleReleaseStatus {
            release_id: Some("first".to_owned()),
            ..ModuleReleaseStatus::default()
        };
        let findings = Findings {
            release: "ba7ef080-f6d7-5049-9ee5-a5e34cd652de".parse().ok(),
            ..Findings::default()
        };
        let after = next(&before, None, &verdict, &findings, "t");
        assert_eq!(after.release_id.as_deref(), Some("first"));
    }
}
