//! Who looks at the same thing is told by one watch when it changes.
//!
//! A page bears the digest of what it shows, and is told the digest of what there is now: if they
//! differ, the browser asks for the page again. A watch begins with the first who looks and ends
//! soon after the last has gone, and a browser has to ask again after a while, so that nobody who
//! has fallen asleep holds one open for ever.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures::Stream;
use opm_engine::list::Listing;
use opm_engine::ports::{Backend, Caller};
use opm_engine::request::{ListRequest, StatusRequest};
use opm_engine::status::{Status, StatusObserver};
use serde::Serialize;
use tokio::sync::watch::{self, Receiver, Sender};

use crate::Page;

/// How long one browser is told anything before it has to ask again.
const LONGEST: Duration = Duration::from_secs(600);

/// How often releases are listed while somebody looks at the list.
const LIST_EVERY: Duration = Duration::from_secs(2);

/// How often the files of a module are looked at while somebody looks at its plan.
const FILES_EVERY: Duration = Duration::from_millis(500);

/// How soon a watch ends when nobody looks any more.
const LINGER: Duration = Duration::from_secs(5);

/// What somebody looks at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// All releases.
    Releases,
    /// The module that somebody works on.
    Plan,
    /// One of them: its namespace and name.
    Release(String, String),
}

/// What something looks like, in short: equal as long as nothing that is shown has changed.
pub(crate) fn digest(shown: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    let text = serde_json::to_vec(shown).unwrap_or_default();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The digest of a list of releases, with or without their health.
pub(crate) fn digest_of_list(listing: &Listing) -> u64 {
    let lines = listing.releases.iter().map(|release| &release.summary);
    digest(&(lines.collect::<Vec<_>>(), &listing.unseen))
}

/// What is being watched, each with the digest of what it looks like, once that is known.
#[derive(Default)]
pub(crate) struct Live {
    watched: Mutex<HashMap<Subject, Sender<Option<u64>>>>,
}

impl Live {
    fn watched(&self) -> MutexGuard<'_, HashMap<Subject, Sender<Option<u64>>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody more who looks; and the sender, if nobody did so far.
    fn look(&self, subject: &Subject) -> (Receiver<Option<u64>>, Option<Sender<Option<u64>>>) {
        let mut watched = self.watched();
        if let Some(sender) = watched.get(subject) {
            return (sender.subscribe(), None);
        }
        let (sender, receiver) = watch::channel(None);
        watched.insert(subject.clone(), sender.clone());
        (receiver, Some(sender))
    }

    /// Ends a watch, unless somebody looks again.
    fn end(&self, subject: &Subject) -> bool {
        let mut watched = self.watched();
        let unseen = watched.get(subject).is_none_or(Sender::is_closed);
        if unseen {
            watched.remove(subject);
        }
        unseen
    }
}

/// Tells a browser whenever what it looks at has changed.
pub(crate) fn tell<B>(
    page: &Arc<Page<B>>,
    subject: Subject,
    release: Option<StatusRequest>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<B>>
where
    B: Backend + Send + Sync + 'static,
{
    let (receiver, sender) = page.live.look(&subject);
    if let Some(sender) = sender {
        tokio::spawn(watch_subject(Arc::clone(page), subject, release, sender));
    }
    follow(receiver)
}

/// Tells what comes, and at first what there is.
pub(crate) fn follow(
    mut receiver: Receiver<Option<u64>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    receiver.mark_changed();
    let until = tokio::time::Instant::now() + LONGEST;
    let events = futures::stream::unfold(receiver, move |mut receiver| async move {
        let known = tokio::time::timeout_at(until, next_known(&mut receiver)).await;
        let digest = known.ok().flatten()?;
        let event = Event::default().data(format!("{digest:016x}"));
        Some((Ok(event), receiver))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// The next digest; none if nobody watches any more.
async fn next_known(receiver: &mut Receiver<Option<u64>>) -> Option<u64> {
    loop {
        receiver.changed().await.ok()?;
        if let Some(digest) = *receiver.borrow_and_update() {
            return Some(digest);
        }
    }
}

async fn watch_subject<B>(
    page: Arc<Page<B>>,
    subject: Subject,
    release: Option<StatusRequest>,
    sender: Sender<Option<u64>>,
) where
    B: Backend + Send + Sync + 'static,
{
    let stop = page.cancel.child_token();
    let unseen = async {
        loop {
            sender.closed().await;
            tokio::time::sleep(LINGER).await;
            if page.live.end(&subject) {
                return;
            }
        }
    };
    let caller = Caller {
        cancel: stop.clone(),
        ..Caller::default()
    };
    let watching = async {
        let mut teller = Teller(&sender);
        match (&release, &page.settings.plan) {
            (None, Some(plan)) if subject == Subject::Plan => loop {
                teller.tell(plan.stamp());
                tokio::time::sleep(FILES_EVERY).await;
            },
            (Some(request), _) => loop {
                let ended = page
                    .engine
                    .watch_status(request, None, &mut teller, &caller);
                if ended.await.is_err() {
                    // It may be there again later, and whoever looks should see why it is not.
                    teller.tell(0);
                    tokio::time::sleep(LIST_EVERY).await;
                }
                if caller.cancel.is_cancelled() {
                    return;
                }
            },
            (None, _) => loop {
                let request = ListRequest {
                    namespace: None,
                    home: page.settings.home.clone(),
                    health: false,
                    deleted: false,
                };
                if let Ok(listing) = page.engine.list(&request, &caller).await {
                    teller.tell(digest_of_list(&listing));
                }
                tokio::time::sleep(LIST_EVERY).await;
            },
        }
    };
    tokio::select! {
        () = unseen => {}
        () = watching => {}
        () = page.cancel.cancelled() => {}
    }
    stop.cancel();
    page.live.watched().remove(&subject);
}

/// Tells the digest of what there is now.
struct Teller<'a>(&'a Sender<Option<u64>>);

impl Teller<'_> {
    fn tell(&self, digest: u64) {
        self.0
            .send_if_modified(|known| known.replace(digest) != Some(digest));
    }
}

impl StatusObserver for Teller<'_> {
    fn status(&mut self, status: &Status) {
        self.tell(digest(status));
    }

    fn trouble(&mut self, what: &str) {
        self.tell(digest(&what));
    }
}
