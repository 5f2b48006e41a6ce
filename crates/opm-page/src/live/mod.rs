//! Who looks at the same thing is told by one watch when it changes.
//!
//! A page bears the digest of what it shows, and is told the digest of what there is now: if they
//! differ, the browser asks for the page again, which is made of what the watch has seen. A watch
//! begins with the first who looks and ends soon after the last has gone, and a browser has to ask
//! again after a while, so that nobody who has fallen asleep holds one open for ever.

mod told;
mod watching;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opm_core::identity::Identity;
use opm_core::name::{NamespaceName, ReleaseName};
use opm_engine::list::{Listing, Overviews};
use opm_engine::status::Status;
use serde::Serialize;
use tokio::sync::watch::{self, Receiver, Sender};

use crate::Page;

pub(crate) use told::{follow, tell, tell_object};

/// What somebody looks at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// All releases.
    Releases,
    /// The module that somebody works on.
    Plan,
    /// One of the releases.
    Release(NamespaceName, ReleaseName),
    /// An object that no record names: something of a release owns it.
    Below(Identity),
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

/// All releases, and what is known of how they stand.
pub(crate) struct ReleaseList {
    pub(crate) listing: Listing,
    pub(crate) overviews: Overviews,
}

impl ReleaseList {
    /// A listing for which nobody looked at objects.
    pub(crate) fn of(listing: Listing) -> Self {
        let overviews = Overviews::default();
        Self { listing, overviews }
    }

    /// Whether nothing is left to be looked at.
    fn is_whole(&self) -> bool {
        let mut releases = self.listing.releases.iter();
        releases.all(|one| self.overviews.get(one).is_some())
    }

    pub(crate) fn digest(&self) -> u64 {
        let lines = self.listing.releases.iter();
        let lines = lines.map(|one| (&one.summary, self.overviews.get(one)));
        digest(&(lines.collect::<Vec<_>>(), &self.listing.unseen))
    }
}

/// What is known of what somebody looks at.
#[derive(Clone, Default)]
pub(crate) struct LiveState {
    pub(crate) digest: u64,
    /// How a release stands, if it is one, and could be looked at.
    pub(crate) status: Option<Arc<Status>>,
    /// The versions of its objects.
    versions: Arc<BTreeMap<Identity, String>>,
    /// All releases, if it is these, and they could be listed.
    pub(crate) releases: Option<Arc<ReleaseList>>,
}

impl LiveState {
    /// Something of which only that is told.
    pub(crate) fn of(digest: u64) -> Self {
        Self {
            digest,
            ..Self::default()
        }
    }

    /// What one object of a release looks like, in short.
    pub(crate) fn digest_of(&self, identity: &Identity) -> u64 {
        let Some(status) = &self.status else {
            return self.digest;
        };
        let judged = status.objects().find(|one| one.entry.identity == *identity);
        let version = self.versions.get(identity);
        digest(&(version, judged, &status.change_id))
    }
}

/// Once it is known.
type LiveSender = Sender<Option<LiveState>>;
type LiveReceiver = Receiver<Option<LiveState>>;

/// What is being watched.
#[derive(Default)]
pub(crate) struct Live {
    watched: Mutex<HashMap<Subject, LiveSender>>,
}

impl Live {
    fn watched(&self) -> MutexGuard<'_, HashMap<Subject, LiveSender>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
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

fn receiver(page: &Arc<Page>, subject: &Subject) -> LiveReceiver {
    let (receiver, sender) = page.live.look(subject);
    if let Some(sender) = sender {
        let (page, subject) = (Arc::clone(page), subject.clone());
        tokio::spawn(watching::watch(page, subject, sender));
    }
    receiver
}

/// How much has to be known before something is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Whatever there is.
    Anything,
    /// How each release is doing, too.
    Whole,
}

/// What is known of something, as the watch that all who look at it share has seen it; none if
/// that is not known soon enough.
pub(crate) async fn known(
    page: &Arc<Page>,
    subject: &Subject,
    wanted: Wanted,
    patience: Duration,
) -> Option<LiveState> {
    let mut receiver = receiver(page, subject);
    receiver.mark_changed();
    let known = async {
        loop {
            let known = told::next_known(&mut receiver).await.unwrap_or_default();
            let releases = known.releases.as_ref();
            if wanted == Wanted::Anything || releases.is_none_or(|list| list.is_whole()) {
                return known;
            }
        }
    };
    tokio::time::timeout(patience, known).await.ok()
}
