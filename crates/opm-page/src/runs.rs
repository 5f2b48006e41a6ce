//! What was begun from the page: each run goes on by itself, and whoever looks is told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use opm_core::event::Event;
use opm_engine::ports::{Answer, Events, Prompt, Question};
use opm_engine::{Failure, Report};
use tokio::sync::watch::Sender;

use crate::live::LiveState;

/// How many runs are remembered.
const REMEMBERED: usize = 50;

/// How much of a run is shown, from its end.
const LINES: usize = 1_000;

/// The runs that were begun, newest last.
#[derive(Default)]
pub(crate) struct Runs(Mutex<Vec<Arc<PageRun>>>);

/// One run.
pub(crate) struct PageRun {
    pub(crate) id: u64,
    /// What was begun, in words.
    pub(crate) title: String,
    /// Where its release is.
    pub(crate) address: String,
    told: Mutex<RunTold>,
    /// The number of things that were told, for whoever looks on.
    changed: Sender<Option<LiveState>>,
}

/// What was told of a run so far.
#[derive(Default)]
pub(crate) struct RunTold {
    pub(crate) lines: Vec<String>,
    pub(crate) end: Option<Result<Report, Failure>>,
    count: u64,
}

impl Runs {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<PageRun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a new run.
    pub(crate) fn begin(&self, title: String, address: String) -> Arc<PageRun> {
        let mut all = self.all();
        let run = Arc::new(PageRun {
            id: all.last().map_or(1, |last| last.id + 1),
            title,
            address,
            told: Mutex::default(),
            changed: Sender::new(Some(LiveState::of(0))),
        });
        if all.len() == REMEMBERED {
            all.remove(0);
        }
        all.push(Arc::clone(&run));
        run
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<PageRun>> {
        let all = self.all();
        all.iter().find(|run| run.id == id).cloned()
    }
}

impl PageRun {
    pub(crate) fn told(&self) -> MutexGuard<'_, RunTold> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a page that shows it now bears.
    pub(crate) fn digest(&self) -> u64 {
        self.told().count
    }

    pub(crate) fn watched(&self) -> tokio::sync::watch::Receiver<Option<LiveState>> {
        self.changed.subscribe()
    }

    /// It is over.
    pub(crate) fn end(&self, end: Result<Report, Failure>) {
        self.change(|told| told.end = Some(end));
    }

    fn change(&self, change: impl FnOnce(&mut RunTold)) {
        let count = {
            let mut told = self.told();
            change(&mut told);
            told.count += 1;
            told.count
        };
        self.changed.send_replace(Some(LiveState::of(count)));
    }
}

impl Events for PageRun {
    fn emit(&self, event: Event) {
        let line = match &event {
            Event::Phase { phase, objects } => format!("{}: {objects}", phase.word()),
            Event::GoingBack { why, .. } => why.clone(),
            Event::TookOver { holder } => format!("took over the lock of {holder}"),
            Event::Object {
                identity,
                action,
                reason,
                ..
            } => match reason {
                Some(reason) => format!("{identity}: {}, {reason}", action.word()),
                None => format!("{identity}: {}", action.word()),
            },
            Event::Waiting(wait) => wait.to_string(),
            _ => return,
        };
        self.change(|told| {
            if told.lines.len() == LINES {
                told.lines.remove(0);
            }
            told.lines.push(line);
        });
    }
}

/// Whoever has seen a plan and typed the name of its release has agreed to it. What needs an
/// option of its own is refused, in the words that say so.
pub(crate) struct Agreed;

impl Prompt for Agreed {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let answer = match question {
            Question::Review { .. }
            | Question::Delete { .. }
            | Question::PruneKept { .. }
            | Question::VolumeData { .. }
            | Question::Unlock { .. } => Answer::Yes,
            _ => Answer::CannotAsk,
        };
        Box::pin(async move { answer })
    }
}
