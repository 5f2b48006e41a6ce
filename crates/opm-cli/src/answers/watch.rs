//! `status --watch` on a screen: drawn anew on a terminal, line by line elsewhere.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use opm_cluster::SystemClock;
use opm_core::identity::Identity;
use opm_engine::ports::Clock as _;
use opm_engine::request::StatusRequest;
use opm_engine::status::{Status, StatusObserver};

use super::failed;
use super::failure::document;
use super::status::{exit, lock_words, message, summary, table};
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::ui::{Format, Ui};

/// Shows how a release stands, again and again.
pub(crate) async fn answer(
    request: &StatusRequest,
    timeout: Option<Duration>,
    exit_code: bool,
    session: &Session,
) -> Result<Exit, CliError> {
    let mut watching = Watching::new(session.ui);
    let watched = session
        .engine
        .watch_status(request, timeout, &mut watching, &session.caller())
        .await;
    match watched {
        Ok(last) => {
            // Where tables go, everything has been shown by now.
            session.ui.json_or_yaml(&last)?;
            Ok(exit(&last, exit_code))
        }
        Err(failure) => {
            let mut error = failed(&failure, session);
            if let Some(last) = &watching.last {
                error.document = document(last);
            }
            Err(error)
        }
    }
}

/// Shows every status as it comes.
struct Watching {
    ui: Ui,
    format: Format,
    redraws: bool,
    /// What was said last of each object.
    said: BTreeMap<Identity, String>,
    summary: String,
    /// The last status.
    last: Option<Status>,
}

impl Watching {
    fn new(ui: Ui) -> Self {
        let format = ui.format_or(Format::Table);
        let tables = matches!(format, Format::Table | Format::Wide);
        Self {
            ui,
            format,
            redraws: tables && stdout().is_terminal(),
            said: BTreeMap::new(),
            summary: String::new(),
            last: None,
        }
    }

    fn lines(&mut self, status: &Status) {
        let mut lines = Vec::new();
        let mut said = BTreeMap::new();
        for object in status.objects() {
            let words = match message(object, self.format) {
                words if words.is_empty() => object.word().to_owned(),
                words => format!("{}: {words}", object.word()),
            };
            let identity = object.entry.identity.clone();
            if self.said.get(&identity) != Some(&words) {
                lines.push(format!("{identity}: {words}"));
            }
            said.insert(identity, words);
        }
        let mut gone = self
            .said
            .keys()
            .filter(|identity| !said.contains_key(identity));
        lines.extend(
            gone.by_ref()
                .map(|identity| format!("{identity}: no longer tracked")),
        );
        let mut summary = summary(status);
        if let Some(lock) = &status.lock {
            summary = format!("{summary}; {}", lock_words(lock));
        }
        if summary != self.summary {
            lines.push(summary.clone());
        }
        (self.said, self.summary) = (said, summary);
        let now = SystemClock::default().wall();
        for line in lines {
            self.ui.line(self.format, &format!("{now} {line}"));
        }
    }
}

impl StatusObserver for Watching {
    fn status(&mut self, status: &Status) {
        if self.redraws {
            let lock = status.lock.as_ref().map(lock_words).unwrap_or_default();
            let text = format!(
                "{}\n{lock}\n{}",
                summary(status),
                table(status, self.format)
            );
            self.ui.redraw(&text);
        } else {
            self.lines(status);
        }
        self.last = Some(status.clone());
    }

    fn trouble(&mut self, what: &str) {
        self.ui.warn(&format!("{what}; asking again"));
    }
}
