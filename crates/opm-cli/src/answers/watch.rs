//! `status --watch` on a screen: drawn anew on a terminal, line by line elsewhere.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opm_cluster::SystemClock;
use opm_core::identity::Identity;
use opm_engine::ports::Clock as _;
use opm_engine::request::StatusRequest;
use opm_engine::status::{Status, StatusObserver};
use tokio::signal::unix::{SignalKind, signal};

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
    let shared = Mutex::new(Watching::new(session.ui));
    let (mut screen, caller) = (SharedScreen(&shared), session.observer());
    let watched = tokio::select! {
        watched = session.engine.watch_status(request, timeout, &mut screen, &caller) => watched,
        never = draw_when_resized(&shared) => match never {},
    };
    let watching = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    watching.leave();
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

/// The screen, which is drawn when there is news, and when the terminal becomes another.
struct SharedScreen<'a>(&'a Mutex<Watching>);

impl StatusObserver for SharedScreen<'_> {
    fn status(&mut self, status: &Status) {
        locked(self.0).status(status);
    }

    fn trouble(&mut self, what: &str) {
        locked(self.0).trouble(what);
    }
}

fn locked(watching: &Mutex<Watching>) -> MutexGuard<'_, Watching> {
    watching.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws the last status anew whenever the terminal becomes wider or narrower.
async fn draw_when_resized(watching: &Mutex<Watching>) -> Infallible {
    let Ok(mut resized) = signal(SignalKind::window_change()) else {
        return pending().await;
    };
    while resized.recv().await.is_some() {
        let watching = locked(watching);
        if watching.redraws {
            watching.draw();
        }
    }
    pending().await
}

/// Shows every status as it comes.
struct Watching {
    ui: Ui,
    format: Format,
    redraws: bool,
    /// What went wrong since the last status.
    trouble: String,
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
            redraws: tables && ui.has_screen(),
            trouble: String::new(),
            said: BTreeMap::new(),
            summary: String::new(),
            last: None,
        }
    }

    /// Draws the last status on the whole screen.
    fn draw(&self) {
        let Some(status) = &self.last else { return };
        let mut lines = vec![summary(status)];
        lines.extend(status.lock.as_ref().map(lock_words));
        lines.push(String::new());
        let last = match self.trouble.as_str() {
            "" => "Ctrl-C ends the watch",
            trouble => trouble,
        };
        self.ui.redraw(&lines, table(status, self.format), last);
    }

    /// Gives the terminal back, with what was seen last.
    fn leave(&self) {
        if let (true, Some(status)) = (self.redraws, &self.last) {
            let _ = self.ui.table(&table(status, self.format), self.format);
            self.ui.info(&summary(status));
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

impl Watching {
    fn status(&mut self, status: &Status) {
        if !self.redraws {
            self.lines(status);
        }
        self.trouble.clear();
        self.last = Some(status.clone());
        if self.redraws {
            self.draw();
        }
    }

    fn trouble(&mut self, what: &str) {
        self.trouble = format!("{what}; asking again");
        match self.redraws {
            true => self.draw(),
            false => self.ui.warn(&self.trouble),
        }
    }
}
