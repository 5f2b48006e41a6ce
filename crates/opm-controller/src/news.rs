//! What was told of a release, so that events do not repeat themselves: decided here, told elsewhere.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::reason::Reason;
use crate::resource::Condition;

/// How long no event tells of the same trouble again.
const QUIET: Duration = Duration::from_secs(600);

/// How much trouble is remembered: messages have names and numbers in them.
const MOST: usize = 16;

/// What is no trouble, and news whenever it comes about.
const SOUND: [Reason; 2] = [Reason::Applied, Reason::Suspended];

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Told {
    status: String,
    reason: String,
    message: String,
}

/// How new something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// It was told last.
    Nothing,
    /// It was told not long ago: a line of the log is enough.
    Again,
    /// An event is due.
    New,
}

/// What was told of one release.
#[derive(Debug, Clone, Default)]
pub(crate) struct News {
    ready: Option<Told>,
    repeated: HashMap<Told, Instant>,
}

impl News {
    /// How new it is what the condition `Ready` says, which said `before` when this process began.
    /// What went wrong is not new again within a while, whatever was told in between.
    pub(crate) fn of_ready(
        &mut self,
        before: Option<&Condition>,
        ready: &Condition,
        now: Instant,
    ) -> Novelty {
        let told = |one: &Condition| Told {
            status: one.status.clone(),
            reason: one.reason.clone(),
            message: one.message.clone(),
        };
        let last = self.ready.take().or_else(|| before.map(told));
        let ready = told(ready);
        self.ready = Some(ready.clone());
        let is_trouble = !SOUND.iter().any(|one| one.word() == ready.reason);
        if last.as_ref() == Some(&ready) {
            Novelty::Nothing
        } else if is_trouble && !self.is_rare(ready, now) {
            Novelty::Again
        } else {
            Novelty::New
        }
    }

    /// Whether these corrections of drift have not been told lately.
    pub(crate) fn of_drift(&mut self, objects: &str, now: Instant) -> bool {
        let told = Told {
            status: String::new(),
            reason: Reason::DriftCorrected.word().to_owned(),
            message: objects.to_owned(),
        };
        self.is_rare(told, now)
    }

    fn is_rare(&mut self, told: Told, now: Instant) -> bool {
        self.repeated
            .retain(|_, at| now.saturating_duration_since(*at) < QUIET);
        if self.repeated.contains_key(&told) || self.repeated.len() >= MOST {
            return false;
        }
        self.repeated.insert(told, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str, reason: Reason, message: &str) -> Condition {
        Condition {
            kind: "Ready".to_owned(),
            status: status.to_owned(),
            reason: reason.word().to_owned(),
            message: message.to_owned(),
            observed_generation: Some(1),
            last_transition_time: "t".to_owned(),
        }
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let applied = condition("True", Reason::Applied, "2 objects applied");
        let failed = |why| condition("False", Reason::ApplyFailed, why);
        let (start, mut news) = (Instant::now(), News::default());
        for (ready, seconds, expected) in [
            (&applied, 0, Novelty::New),
            (&applied, 1, Novelty::Nothing),
            (&failed("no"), 2, Novelty::New),
            (&failed("no"), 3, Novelty::Nothing),
            // Two causes that take turns are told once each, and that it is well again each time.
            (&failed("other"), 4, Novelty::New),
            (&failed("no"), 5, Novelty::Again),
            (&applied, 6, Novelty::New),
            (&failed("other"), 7, Novelty::Again),
            (&applied, 8, Novelty::New),
            (&failed("no"), 602, Novelty::New),
        ] {
            let at = start + Duration::from_secs(seconds);
            let found = news.of_ready(None, ready, at);
            assert_eq!(found, expected, "{} {seconds}", ready.message);
        }
    }

    #[test]
    fn a_new_process_does_not_tell_what_the_one_before_has_told() {
        let applied = condition("True", Reason::Applied, "2 objects applied");
        let now = Instant::now();
        let of_ready = |before| News::default().of_ready(Some(before), &applied, now);
        assert_eq!(of_ready(&applied), Novelty::Nothing);
        let progressing = condition("True", Reason::Progressing, "an attempt goes on");
        assert_eq!(of_ready(&progressing), Novelty::New);
    }

    #[test]
    fn there_is_an_end_to_causes_that_are_new_each_time() {
        let (now, mut news) = (Instant::now(), News::default());
        let told = (0..100).filter(|n| {
            let failed = condition("False", Reason::ApplyFailed, &format!("request {n} failed"));
            news.of_ready(None, &failed, now) == Novelty::New
        });
        assert_eq!(told.count(), MOST);
    }

    #[test]
    fn the_same_drift_is_told_once_in_a_while() {
        let (start, mut news) = (Instant::now(), News::default());
        for (objects, seconds, expected) in [
            ("ConfigMap/a", 0, true),
            ("ConfigMap/b", 1, true),
            ("ConfigMap/a", 2, false),
            ("ConfigMap/a", 600, true),
        ] {
            let at = start + Duration::from_secs(seconds);
            assert_eq!(news.of_drift(objects, at), expected, "{objects} {seconds}");
        }
    }
}
