//! What an attempt came to: conditions, and when to try again. Nothing here asks or writes
//! anything.

use opm_core::failure::FailureKind;

use crate::reason::Reason;
use crate::resource::{Condition, ModuleReleaseStatus};

/// The longest message of a condition.
const LONGEST: usize = 1500;

/// Whether a release is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    NotReady,
    /// As it was before, or unknown: nothing new was found out.
    AsBefore,
}

/// What is being done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing has to be.
    Done,
    /// It is tried again, or goes on.
    Reconciling,
    /// It takes somebody to change something. It is tried again all the same, seldom.
    Stalled,
}

/// When it is looked at again, unless something happens before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextAttempt {
    /// After the interval.
    AtInterval,
    /// Later with every failure.
    AfterFailure,
    /// In a moment: it only has to be waited.
    Soon,
    /// Only when something happens.
    OnChange,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) readiness: Readiness,
    pub(crate) progress: Progress,
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// Whether there is drift, and what; none if nobody wants to know.
    pub(crate) drift: Option<Result<(), String>>,
    pub(crate) again: NextAttempt,
}

impl Verdict {
    /// The release is as it should be.
    pub(crate) fn ready(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            readiness: Readiness::Ready,
            progress: Progress::Done,
            reason,
            message: message.into(),
            drift: None,
            again: NextAttempt::AtInterval,
        }
    }

    /// Something has to be waited for.
    pub(crate) fn waiting(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            readiness: Readiness::NotReady,
            progress: Progress::Reconciling,
            again: NextAttempt::Soon,
            ..Self::ready(reason, message)
        }
    }

    /// Somebody has to change something.
    pub(crate) fn stalled(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            readiness: Readiness::NotReady,
            progress: Progress::Stalled,
            again: NextAttempt::AfterFailure,
            ..Self::ready(reason, message)
        }
    }

    /// A use case of the engine failed. `went_back` says that the change before is back.
    pub(crate) fn of_failure(kind: FailureKind, message: &str, went_back: bool) -> Self {
        let waiting = |reason| Self {
            readiness: Readiness::AsBefore,
            ..Self::waiting(reason, message)
        };
        let failed = |reason| Self {
            again: NextAttempt::AfterFailure,
            ..Self::waiting(reason, message)
        };
        match kind {
            FailureKind::Interrupted => waiting(Reason::Interrupted),
            FailureKind::Locked | FailureKind::LockLost => waiting(Reason::Locked),
            FailureKind::NotPermitted => Self::stalled(Reason::NotPermitted, message),
            FailureKind::Unreachable => Self {
                readiness: Readiness::AsBefore,
                ..failed(Reason::Unreachable)
            },
            FailureKind::NotFound | FailureKind::Refused => Self::stalled(Reason::Refused, message),
            FailureKind::Failed if went_back => Self {
                again: NextAttempt::AtInterval,
                ..Self::stalled(Reason::RolledBack, message)
            },
            FailureKind::Failed => failed(Reason::ApplyFailed),
            FailureKind::Incomplete => failed(Reason::PruneIncomplete),
        }
    }

    /// The conditions of a resource from now on. A condition whose status does not change keeps
    /// its time.
    pub(crate) fn conditions(
        &self,
        before: &ModuleReleaseStatus,
        generation: Option<i64>,
        now: &str,
    ) -> Vec<Condition> {
        let message = shortened(&self.message);
        let word = |yes: bool| if yes { "True" } else { "False" };
        let mut conditions = Vec::new();
        let mut put = |kind: &str, status: &str, reason: Reason, message: &str| {
            let known = before.condition(kind);
            let since = known.filter(|known| known.status == status);
            let since = since.map_or(now, |known| &known.last_transition_time);
            conditions.push(Condition {
                kind: kind.to_owned(),
                status: status.to_owned(),
                reason: reason.word().to_owned(),
                message: message.to_owned(),
                observed_generation: generation,
                last_transition_time: since.to_owned(),
            });
        };
        let ready = match self.readiness {
            Readiness::Ready => "True",
            Readiness::NotReady => "False",
            Readiness::AsBefore => before
                .condition("Ready")
                .map_or("Unknown", |known| &known.status),
        };
        put("Ready", ready, self.reason, &message);
        let reconciling = self.progress == Progress::Reconciling;
        put("Reconciling", word(reconciling), self.reason, "");
        let stalled = self.progress == Progress::Stalled;
        put(
            "Stalled",
            word(stalled),
            self.reason,
            if stalled { &message } else { "" },
        );
        match &self.drift {
            Some(Ok(())) => put("Drifted", "False", Reason::NoDrift, ""),
            Some(Err(what)) => {
                put("Drifted", "True", Reason::DriftDetected, &shortened(what));
            }
            None => {}
        }
        conditions
    }
}

/// No more of a text than a status should hold.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_says_what_is_done_about_it() {
        use FailureKind as Kind;
        for (kind, went_back, reason, readiness, progress, again) in [
            (
                Kind::Interrupted,
                false,
                "Interrupted",
                Readiness::AsBefore,
                Progress::Reconciling,
                NextAttempt::Soon,
            ),
            (
                Kind::Locked,
                false,
                "Locked",
                Readiness::AsBefore,
                Progress::Reconciling,
                NextAttempt::Soon,
            ),
            (
                Kind::LockLost,
                false,
                "Locked",
                Readiness::AsBefore,
                Progress::Reconciling,
                NextAttempt::Soon,
            ),
            (
                Kind::NotPermitted,
                false,
                "NotPermitted",
                Readiness::NotReady,
                Progress::Stalled,
                NextAttempt::AfterFailure,
            ),
            (
                Kind::Unreachable,
                false,
                "Unreachable",
                Readiness::AsBefore,
                Progress::Reconciling,
                NextAttempt::AfterFailure,
            ),
            (
                Kind::NotFound,
                false,
                "Refused",
                Readiness::NotReady,
                Progress::Stalled,
                NextAttempt::AfterFailure,
            ),
            (
                Kind::Refused,
                false,
                "Refused",
                Readiness::NotReady,
                Progress::Stalled,
                NextAttempt::AfterFailure,
            ),
            (
                Kind::Failed,
                false,
                "ApplyFailed",
                Readiness::NotReady,
                Progress::Reconciling,
                NextAttempt::AfterFailure,
            ),
            (
                Kind::Failed,
                true,
                "RolledBack",
                Readiness::NotReady,
                Progress::Stalled,
                NextAttempt::AtInterval,
            ),
            (
                Kind::Incomplete,
                false,
                "PruneIncomplete",
                Readiness::NotReady,
                Progress::Reconciling,
                NextAttempt::AfterFailure,
            ),
        ] {
            let verdict = Verdict::of_failure(kind, "why", went_back);
            assert_eq!(verdict.reason.word(), reason, "{kind:?}");
            assert_eq!(
                (verdict.readiness, verdict.progress, verdict.again),
                (readiness, progress, again),
                "{kind:?}"
            );
            assert_eq!(verdict.message, "why");
        }
    }

    fn shown(conditions: &[Condition]) -> Vec<String> {
        let words = |one: &Condition| {
            format!(
                "{}={} {} {} {}",
                one.kind, one.status, one.reason, one.message, one.last_transition_time
            )
        };
        conditions.iter().map(words).collect()
    }

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut status = ModuleReleaseStatus::default();
        let first = Verdict::ready(Reason::Applied, "all applied");
        status.conditions = first.conditions(&status, Some(1), "t1");
        assert_eq!(
            shown(&status.conditions),
            [
                "Ready=True Applied all applied t1",
                "Reconciling=False Applied  t1",
                "Stalled=False Applied  t1"
            ]
        );
        let again = Verdict {
            drift: Some(Ok(())),
            ..first
        };
        status.conditions = again.conditions(&status, Some(2), "t2");
        assert_eq!(
            shown(&status.conditions),
            [
                "Ready=True Applied all applied t1",
                "Reconciling=False Applied  t1",
                "Stalled=False Applied  t1",
                "Drifted=False NoDrift  t2"
            ]
        );
        assert!(
            status
                .conditions
                .iter()
                .all(|one| one.observed_generation == Some(2))
        );
        let locked = Verdict::of_failure(FailureKind::Locked, "somebody writes", false);
        let conditions = locked.conditions(&status, Some(2), "t3");
        assert_eq!(
            shown(&conditions),
            [
                "Ready=True Locked somebody writes t1",
                "Reconciling=True Locked  t3",
                "Stalled=False Locked  t1"
            ]
        );
        let stalled = Verdict::stalled(Reason::Refused, "no");
        assert_eq!(
            shown(&stalled.conditions(&status, Some(2), "t4")),
            [
                "Ready=False Refused no t4",
                "Reconciling=False Refused  t1",
                "Stalled=True Refused no t4"
            ]
        );
        let unknown = locked.conditions(&ModuleReleaseStatus::default(), None, "t");
        assert_eq!(shown(&unknown)[0], "Ready=Unknown Locked somebody writes t");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let long = "ä".repeat(LONGEST + 1);
        let cut = shortened(&long);
        assert_eq!(cut.chars().count(), LONGEST + 1);
        assert!(cut.ends_with('…'));
        assert_eq!(shortened("short"), "short");
    }
}
