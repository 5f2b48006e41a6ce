//! The event stream, as a person follows it: drawn live on a terminal, in calm lines elsewhere,
//! or as lines of JSON.

mod model;
mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use opm_core::event::{Action, Event};
use opm_core::identity::Identity;
use opm_core::words::count;
use opm_engine::ports::Events;

use crate::ui::Ui;
use model::RunModel;

/// How often a log hears of what takes its time.
const STILL: Duration = Duration::from_secs(10);

/// How often it is looked whether a log should hear again.
const LOOK: Duration = Duration::from_millis(250);

/// What is drawn while something goes on that has no events: what it is, and for how long.
pub(crate) fn busy(words: &'static str) -> impl Fn() -> Vec<String> + Send + Sync + 'static {
    let begin = Instant::now();
    move || vec![view::busy_line(words, begin.elapsed())]
}

/// Shows events as they come.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    ui: Ui,
    json: bool,
    run: Arc<Mutex<RunModel>>,
}

impl Progress {
    /// Through `ui`; `json` is `--events`.
    pub(super) fn new(ui: Ui, json: bool) -> Self {
        let run = Arc::new(Mutex::new(RunModel::new(Instant::now())));
        Self { ui, json, run }
    }

    fn run(&self) -> MutexGuard<'_, RunModel> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A use case begins.
    pub(super) fn begin(&self) {
        *self.run() = RunModel::new(Instant::now());
        if !self.json {
            self.show();
            if !self.ui.is_live() {
                let (run, ui) = (Arc::downgrade(&self.run), self.ui);
                thread::spawn(move || tell_what_lasts(&run, ui));
            }
        }
    }

    fn show(&self) {
        let run = Arc::clone(&self.run);
        self.ui.show_live(move || {
            let run = run.lock().unwrap_or_else(PoisonError::into_inner);
            view::lines(&run, Instant::now())
        });
    }

    /// A question stands: nothing is drawn meanwhile.
    pub(super) fn asks(&self) {
        self.run().asking = true;
        self.ui.clear_live();
    }

    /// The question is answered.
    pub(super) fn answered(&self) {
        self.run().asking = false;
        if !self.json {
            self.show();
        }
    }

    /// The user wants to stop: says what happens next.
    pub(crate) fn interrupted(&self) {
        let words = {
            let mut run = self.run();
            run.interrupted = true;
            run.interrupt_words()
        };
        match words {
            Some(words) => self.ui.info(&words),
            // The cursor stands behind the question.
            None => self.ui.ask("\n"),
        }
    }
}

impl Events for Progress {
    fn emit(&self, event: Event) {
        if self.json {
            self.run().take(&event, Instant::now());
            self.ui.event(&event);
            return;
        }
        self.run().take(&event, Instant::now());
        self.tell(event);
    }
}

impl Progress {
    fn tell(&self, event: Event) {
        match event {
            Event::Planned { objects, .. } => self
                .ui
                .detail(&format!("planned {}", count(objects.len(), "object"))),
            Event::Phase { phase, objects } => {
                if !self.ui.is_live()
                    && let Some(line) = view::begin_line(phase, objects)
                {
                    self.ui.info(&line);
                }
            }
            Event::GoingBack { change, why } => self.ui.info(&match change {
                Some(change) => format!("going back to {change}: {why}"),
                None => format!("removing again what was created: {why}"),
            }),
            Event::TookOver { holder } => {
                self.ui.warn(&format!(
                    "the lock of {holder} had expired, and was taken over"
                ));
            }
            Event::Begun => self
                .ui
                .detail("the lock is held, and the intent is recorded"),
            Event::Sent { .. } | Event::Health { .. } => {}
            Event::Object {
                identity,
                action,
                reason,
                ..
            } => self.object(&identity, action, reason.as_deref()),
            Event::Waiting(wait) => {
                if !self.ui.is_live() {
                    self.ui.info(&wait.to_string());
                }
            }
            Event::Recorded { change } => {
                self.ui.detail(&format!(
                    "recorded {}",
                    change.as_deref().unwrap_or("that it is gone")
                ));
            }
        }
    }

    fn object(&self, identity: &Identity, action: Action, reason: Option<&str>) {
        let why = reason
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        self.ui
            .detail(&format!("{identity} {}{why}", action.word()));
    }
}

/// Tells a log every now and then what takes its time, until the run is over.
fn tell_what_lasts(run: &Weak<Mutex<RunModel>>, ui: Ui) {
    let mut told = Instant::now();
    let mut since = told;
    loop {
        thread::sleep(LOOK);
        let Some(run) = run.upgrade() else { return };
        let run = run.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if run.since != since {
            (since, told) = (run.since, run.since);
        }
        if !run.asking && now.saturating_duration_since(told) >= STILL {
            told = now;
            ui.info(&view::still_line(&run, now));
        }
    }
}
