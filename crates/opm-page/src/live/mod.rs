//! Who looks at the same thing is told by one watch when it changes.
//!
//! A page bears the digest of what it shows, and is told the digest of what there is now: if they
//! differ, the browser asks for the page again, which is made of what the watch has seen. A watch
//! begins with the first who looks and ends soon after the last has gone, and a browser has to ask
//! again after a while, so that nobody who has fallen asleep holds one open for ever.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures::{Stream, StreamExt as _};
use opm_core::health::HealthState;
use opm_engine::list::{ListedRelease, Listing};
use opm_engine::ports::{Backend, Caller};
use opm_engine::request::{ListRequest, StatusRequest};
use opm_engine::status::{Status, StatusObserver};
use serde::Serialize;
use tokio::sync::watch::{self, Receiver, Sender};
use tokio_util::sync::CancellationToken;

use crate::Page;

/// How long one browser is told anything before it has to ask again.
const LONGEST: Duration = Duration::from_secs(600);

/// How often releases are listed while somebody looks at the list.
const LIST_EVERY: Duration = Duration::from_secs(2);

/// How often all objects of all releases are looked at while somebody looks at the list.
const HEALTH_EVERY: Duration = Duration::from_secs(10);

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

/// The digest of a page that waits for what it is to show: never that of anything which is told.
pub(crate) const NOTHING_YET: u64 = u64::MAX;

/// What something looks like, in short: equal as long as nothing that is shown has changed.
pub(crate) fn digest(shown: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    let text = serde_json::to_vec(shown).unwrap_or_default();
    text.hash(&mut hasher);
    hasher.finish()
}

/// How releases are doing, by their ids; none where that cannot be told.
#[derive(Default)]
pub(crate) struct Healths(HashMap<String, Option<HealthState>>);

impl Healths {
    pub(crate) fn of(listing: &Listing) -> Self {
        let releases = listing.releases.iter();
        let healths = releases.map(|one| (one.summary.release_id.clone(), one.health));
        Self(healths.collect())
    }

    /// None where nobody has looked yet.
    pub(crate) fn get(&self, release: &ListedRelease) -> Option<Option<HealthState>> {
        self.0.get(&release.summary.release_id).copied()
    }
}

/// The digest of a list of releases, with what is known of their health.
pub(crate) fn digest_of_list(listing: &Listing, healths: &Healths) -> u64 {
    let word = |one| healths.get(one).map(|health| health.map(HealthState::word));
    let lines = listing.releases.iter().map(|one| (&one.summary, word(one)));
    digest(&(lines.collect::<Vec<_>>(), &listing.unseen))
}

/// What is known of what somebody looks at.
#[derive(Clone)]
pub(crate) struct LiveState {
    pub(crate) digest: u64,
    /// How a release stands, if it is one, and could be looked at.
    status: Option<Arc<Status>>,
}

impl LiveState {
    /// Something of which only that is told.
    pub(crate) fn of(digest: u64) -> Self {
        Self {
            digest,
            status: None,
        }
    }
}

/// Once it is known.
type LiveSender = Sender<Option<LiveState>>;
type LiveReceiver = Receiver<Option<LiveState>>;

/// What is being watched.
#[derive(Default)]
pub(crate) struct Live {
    watched: Mutex<HashMap<Subject, LiveSender>>,
    healths: Mutex<Arc<Healths>>,
}

impl Live {
    fn watched(&self) -> MutexGuard<'_, HashMap<Subject, LiveSender>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn healths_now(&self) -> MutexGuard<'_, Arc<Healths>> {
        self.healths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How releases are doing, as far as that was seen.
    pub(crate) fn healths(&self) -> Arc<Healths> {
        self.healths_now().clone()
    }

    /// Somebody more who looks; and the sender, if nobody did so far.
    fn look(&self, subject: &Subject) -> (LiveReceiver, Option<LiveSender>) {
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
    follow(receiver(page, subject, release), page.cancel.clone())
}

/// What is known of how a release stands.
pub(crate) enum Look {
    /// This.
    Seen(Arc<Status>),
    /// It cannot be seen.
    Failed,
    /// Nothing yet.
    NotYet,
}

/// How a release stands, as the watch that all who look at it share has seen it, if that is known
/// soon enough.
pub(crate) async fn status_of<B>(
    page: &Arc<Page<B>>,
    subject: Subject,
    release: StatusRequest,
    patience: Duration,
) -> Look
where
    B: Backend + Send + Sync + 'static,
{
    let mut receiver = receiver(page, subject, Some(release));
    receiver.mark_changed();
    let known = tokio::time::timeout(patience, next_known(&mut receiver)).await;
    match known.map(|known| known.and_then(|known| known.status)) {
        Ok(Some(status)) => Look::Seen(status),
        Ok(None) => Look::Failed,
        Err(_) => Look::NotYet,
    }
}

fn receiver<B>(
    page: &Arc<Page<B>>,
    subject: Subject,
    release: Option<StatusRequest>,
) -> LiveReceiver
where
    B: Backend + Send + Sync + 'static,
{
    let (receiver, sender) = page.live.look(&subject);
    if let Some(sender) = sender {
        tokio::spawn(watch_subject(Arc::clone(page), subject, release, sender));
    }
    receiver
}

/// Tells what comes, and at first what there is, until the page is no longer served.
pub(crate) fn follow(
    mut receiver: LiveReceiver,
    served: CancellationToken,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    receiver.mark_changed();
    let until = tokio::time::Instant::now() + LONGEST;
    let events = futures::stream::unfold(receiver, move |mut receiver| async move {
        let known = tokio::time::timeout_at(until, next_known(&mut receiver)).await;
        let digest = known.ok().flatten()?.digest;
        let event = Event::default().data(format!("{digest:016x}"));
        Some((Ok(event), receiver))
    });
    let events = events.take_until(served.cancelled_owned());
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// What is known next; none if nobody watches any more.
async fn next_known(receiver: &mut LiveReceiver) -> Option<LiveState> {
    loop {
        receiver.changed().await.ok()?;
        if let Some(known) = &*receiver.borrow_and_update() {
            return Some(known.clone());
        }
    }
}

async fn watch_subject<B>(
    page: Arc<Page<B>>,
    subject: Subject,
    release: Option<StatusRequest>,
    sender: LiveSender,
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
            (None, _) => {
                let lists = async {
                    loop {
                        if let Ok(listing) = page.engine.list(&page.list(false), &caller).await {
                            teller.tell(digest_of_list(&listing, &page.live.healths()));
                        }
                        tokio::time::sleep(LIST_EVERY).await;
                    }
                };
                // It may take long, and nobody waits for it.
                let healths = async {
                    loop {
                        if let Ok(listing) = page.engine.list(&page.list(true), &caller).await {
                            let healths = Arc::new(Healths::of(&listing));
                            *page.live.healths_now() = Arc::clone(&healths);
                            teller.tell(digest_of_list(&listing, &healths));
                        }
                        tokio::time::sleep(HEALTH_EVERY).await;
                    }
                };
                futures::join!(lists, healths);
            }
        }
    };
    tokio::select! {
        () = unseen => {}
        () = watching => {}
        () = page.cancel.cancelled() => {}
    }
    stop.cancel();
    if subject == Subject::Releases {
        // What nobody follows any more is no longer known.
        *page.live.healths_now() = Arc::default();
    }
    page.live.watched().remove(&subject);
}

impl<B> Page<B> {
    /// All releases, with or without a look at their objects.
    fn list(&self, health: bool) -> ListRequest {
        ListRequest {
            namespace: None,
            home: self.settings.home.clone(),
            health,
            deleted: false,
        }
    }
}

/// Tells what there is now.
struct Teller<'a>(&'a LiveSender);

impl Teller<'_> {
    fn tell(&self, digest: u64) {
        self.replace(LiveState::of(digest));
    }

    fn replace(&self, state: LiveState) {
        self.0.send_if_modified(|known| {
            let digest = state.digest;
            known.replace(state).map(|known| known.digest) != Some(digest)
        });
    }
}

impl StatusObserver for Teller<'_> {
    fn status(&mut self, status: &Status) {
        self.replace(LiveState {
            digest: digest(status),
            status: Some(Arc::new(status.clone())),
        });
    }

    fn trouble(&mut self, what: &str) {
        self.tell(digest(&what));
    }
}
