//! What goes wrong beside the reconciles, where no condition can say so: a line of the log, and
//! not the same one over and over.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::run::{ControllerLog, LogLine};

/// How long the same is not told again.
const QUIET: Duration = Duration::from_secs(600);

/// How many things are remembered: what is told has names in it.
const MOST: usize = 256;

/// Tells what goes wrong, each thing once in a while.
pub(crate) struct Notices {
    log: Arc<dyn ControllerLog>,
    told: Mutex<HashMap<String, Instant>>,
}

impl Notices {
    pub(crate) fn new(log: Arc<dyn ControllerLog>) -> Self {
        Self {
            log,
            told: Mutex::default(),
        }
    }

    /// Something was tried in vain.
    pub(crate) fn failed(&self, what: &str, error: &dyn Display) {
        let message = format!("{what}: {error}");
        if self.is_news(&message, Instant::now()) {
            self.log.write(&LogLine {
                time: jiff::Timestamp::now().to_string(),
                level: "error",
                message,
                reason: None,
                namespace: None,
                release: None,
                generation: None,
                run: None,
            });
        }
    }

    fn is_news(&self, message: &str, now: Instant) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| now.saturating_duration_since(*at) < QUIET);
        if told.contains_key(message) || told.len() >= MOST {
            return false;
        }
        told.insert(message.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl ControllerLog for Nobody {
        fn write(&self, _: &LogLine) {}
    }

    #[test]
    fn the_same_is_told_once_in_a_while() {
        let notices = Notices::new(Arc::new(Nobody));
        let start = Instant::now();
        for (message, seconds, news) in [
            ("a", 0, true),
            ("a", 599, false),
            ("b", 599, true),
            ("a", 600, true),
        ] {
            let at = start + Duration::from_secs(seconds);
            assert_eq!(notices.is_news(message, at), news, "{message} {seconds}");
        }
    }
}
