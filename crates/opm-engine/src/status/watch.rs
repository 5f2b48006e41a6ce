//! `status --watch`: the same status again and again, as things change.
//!
//! Every kind in every namespace is watched once, from where the list was by which its objects were
//! seen. A change of an object is judged anew by itself; a change of the record begins everything
//! anew, because it may name other objects. A server that does not answer for a while is waited
//! for.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, select, try_join, try_join_all};
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::status::ReadObject;

use super::{Status, StatusInputs};
use crate::failure::{Failure, FailureKind};
use crate::observe::{FollowedChange, FollowedCollection, followed_change, metadata};
use crate::ports::{
    ApiError, ApiErrorKind, Collection, Detail, Observation, WantedObject, WatchEvent,
};
use crate::request::StatusRequest;
use crate::run::Run;

/// Changes that come within this time of each other are told as one.
const SETTLE: Duration = Duration::from_millis(100);
/// How long to wait before a server that does not answer is asked again.
const AGAIN: Duration = Duration::from_secs(2);
/// "Until the user has seen enough", for a port that wants a number.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Who looks on.
pub trait StatusObserver: Send {
    /// How the release stands now.
    fn status(&mut self, status: &Status);

    /// The cluster does not answer; it is asked again.
    fn trouble(&mut self, what: &str);

    /// These objects that the release tracks were looked at, and this is how it stands with them;
    /// none if that is the same as before.
    fn looked(&mut self, status: Option<&Status>, _objects: &ObjectVersions) {
        if let Some(status) = status {
            self.status(status);
        }
    }
}

/// The resourceVersions of objects; none where one is not there, or cannot be seen.
pub type ObjectVersions = BTreeMap<Identity, Option<String>>;

/// Why a watch has ended.
enum WatchEnd {
    /// The time is over.
    TimeOver,
    /// The record has changed.
    RecordChanged,
}

impl Run<'_> {
    /// Tells how a release stands, now and whenever that changes, until the time is over.
    pub(crate) async fn watch_status(
        &self,
        request: &StatusRequest,
        timeout: Option<Duration>,
        observer: &mut dyn StatusObserver,
    ) -> Result<Status, Failure> {
        let begin = self.backend.monotonic();
        let left = || {
            let gone = self.backend.monotonic().0.saturating_sub(begin.0);
            timeout.map_or(FOREVER, |timeout| timeout.saturating_sub(gone))
        };
        let mut last: Option<Status> = None;
        loop {
            self.unpacked.give_back_to(0);
            let mut gathered = match self.gather_to_watch(request).await {
                Ok(gathered) => gathered,
                // What could be reached once will be back.
                Err(failure) if failure.kind == FailureKind::Unreachable && last.is_some() => {
                    observer.trouble(&failure.message);
                    self.backend.sleep(AGAIN.min(left())).await;
                    match last.take_if(|_| left().is_zero()) {
                        Some(status) => return Ok(status),
                        None => continue,
                    }
                }
                Err(failure) => return Err(failure),
            };
            let versions = gathered.versions(gathered.known.tracked.keys());
            tell(gathered.assemble(), &versions, &mut last, observer);
            match self
                .follow(&mut gathered, left(), &mut last, observer)
                .await
            {
                Ok(WatchEnd::RecordChanged) => {}
                Ok(WatchEnd::TimeOver) => return Ok(gathered.assemble()),
                Err(error) if error.kind == ApiErrorKind::Unreachable => {
                    observer.trouble(&error.to_string());
                    self.backend.sleep(AGAIN.min(left())).await;
                }
                Err(error) => return Err(unwatched(&error)),
            }
        }
    }

    /// Tells the resourceVersion of an object, now and whenever it is another, until that fails.
    pub(crate) async fn watch_object(
        &self,
        object: &Identity,
        observer: &mut (dyn FnMut(Option<&str>) + Send),
    ) -> Result<Infallible, Failure> {
        let mut tell_version = |event: WatchEvent| {
            match &event {
                WatchEvent::Seen(_, object) => observer(metadata(object, "resourceVersion")),
                WatchEvent::Gone(_) => observer(None),
            }
            false
        };
        let wanted = std::slice::from_ref(object);
        let watched = self.backend.watch(wanted, FOREVER, &mut tell_version).await;
        match watched {
            Ok(_) => futures::future::pending().await,
            Err(error) => Err(unwatched(&error)),
        }
    }

    /// Follows the objects until the record changes.
    async fn follow(
        &self,
        gathered: &mut StatusInputs,
        left: Duration,
        last: &mut Option<Status>,
        observer: &mut dyn StatusObserver,
    ) -> Result<WatchEnd, ApiError> {
        let record = gathered.record_identity();
        let followed = std::mem::take(&mut gathered.seen.followed);
        let named = gathered.to_watch_by_name(&record, &followed);
        let tracked: Vec<Identity> = gathered.known.tracked.keys().cloned().collect();
        let (sender, changes) = unbounded();
        let collections = followed.iter().map(|one| {
            let fallback = tracked.iter().chain([&record]);
            let fallback = fallback.filter(|id| is_in(id, &one.listed));
            self.follow_or_poll(one, fallback.cloned().collect(), &sender)
        });
        let watching = try_join_all(collections);
        let watching = try_join(watching, self.watch_by_name(&named, &sender));
        let over = self.backend.sleep(left);
        let (watching, over) = (pin!(watching), pin!(over));
        let watching = select(watching, over);
        let telling = self.tell_changes(gathered, &record, changes, last, observer);
        match select(pin!(telling), watching).await {
            Either::Left(((), _)) => Ok(WatchEnd::RecordChanged),
            Either::Right((Either::Right(_), _)) => Ok(WatchEnd::TimeOver),
            Either::Right((Either::Left((failed, _)), _)) => {
                failed.map(|(_, never): (Vec<Infallible>, Infallible)| match never {})
            }
        }
    }

    /// Follows a collection, or, if it may not be watched, some of its objects by name.
    async fn follow_or_poll(
        &self,
        followed: &FollowedCollection,
        wanted: Vec<Identity>,
        changes: &UnboundedSender<FollowedChange>,
    ) -> Result<Infallible, ApiError> {
        let error = self.follow_collection(followed, changes).await;
        match error.kind {
            ApiErrorKind::Forbidden | ApiErrorKind::KindNotServed => {
                self.watch_by_name(&wanted, changes).await
            }
            _ => Err(error),
        }
    }

    /// Follows objects by name.
    async fn watch_by_name(
        &self,
        wanted: &[Identity],
        changes: &UnboundedSender<FollowedChange>,
    ) -> Result<Infallible, ApiError> {
        let mut pass_on = |event: WatchEvent| {
            // Nobody watches the content of a Secret.
            let detail = match &event {
                WatchEvent::Seen(id, _) if id.group_kind.is("", "Secret") => Detail::Metadata,
                _ => Detail::Whole,
            };
            let change = followed_change(event, detail);
            changes.unbounded_send(change).is_err()
        };
        if !wanted.is_empty() {
            self.backend.watch(wanted, FOREVER, &mut pass_on).await?;
        }
        futures::future::pending().await
    }

    /// Takes events as they come, and ends when the record has changed.
    async fn tell_changes(
        &self,
        gathered: &mut StatusInputs,
        record: &Identity,
        mut changes: UnboundedReceiver<FollowedChange>,
        last: &mut Option<Status>,
        observer: &mut dyn StatusObserver,
    ) {
        while let Some(first) = changes.next().await {
            self.backend.sleep(SETTLE).await;
            let mut news = News::default();
            let mut next = Some(first);
            while let Some(change) = next {
                if gathered.take_change(record, change, &mut news) {
                    return;
                }
                next = changes.try_recv().ok();
            }
            let again = news.again.iter().map(|id| gathered.known.wanted(id));
            let again: Vec<WantedObject> = again.collect();
            gathered
                .seen
                .objects
                .extend(self.observe_objects(&again).await);
            if news.any {
                let changed: Vec<Identity> = news.changed.into_iter().collect();
                self.look_closer(&gathered.known, &changed, &mut gathered.seen)
                    .await;
                let versions = gathered.versions(&changed);
                tell(gathered.assemble(), &versions, last, observer);
            }
        }
    }
}

/// What changes that came together have brought.
#[derive(Default)]
struct News {
    /// Whether anything did.
    any: bool,
    /// The tracked objects that are others now.
    changed: BTreeSet<Identity>,
    /// Those of them that have to be read once more.
    again: BTreeSet<Identity>,
}

fn unwatched(error: &ApiError) -> Failure {
    Failure::before_writing("cannot watch the release's objects", error)
}

/// Whether an object is in a collection, but for the label.
fn is_in(identity: &Identity, of: &Collection) -> bool {
    identity.group_kind == of.kind && identity.namespace == of.namespace
}

impl StatusInputs {
    /// What is in no collection that is followed. What may not even be read would end the watch
    /// of everything else.
    fn to_watch_by_name(
        &self,
        record: &Identity,
        followed: &[FollowedCollection],
    ) -> Vec<Identity> {
        let hidden =
            |id: &Identity| matches!(self.seen.objects.get(id), Some(Observation::Failed(_)));
        let elsewhere = |id: &Identity| !followed.iter().any(|one| is_in(id, &one.listed));
        let wanted = self.known.tracked.keys().chain([record]);
        let wanted = wanted.filter(|id| elsewhere(id) && !hidden(id));
        wanted.cloned().collect()
    }

    /// Takes in a change, and says whether it is one of the record, which begins everything anew.
    fn take_change(&mut self, record: &Identity, change: FollowedChange, news: &mut News) -> bool {
        match change {
            FollowedChange::Seen(identity, read) => {
                let orphan = self.known.orphan(&identity, &read.object);
                self.take_seen(record, identity, Observation::Present(read), orphan, news)
            }
            FollowedChange::Gone(identity) => {
                self.take_seen(record, identity, Observation::Absent, None, news)
            }
            FollowedChange::Listed(of, listed) => {
                let unlisted = |id: &Identity| is_in(id, &of) && !listed.contains(id);
                let tracked = self.known.tracked.keys().filter(|id| unlisted(id));
                news.again.extend(tracked.cloned());
                news.changed.extend(news.again.iter().cloned());
                let before = self.seen.orphans.len();
                self.seen.orphans.retain(|id, _| !unlisted(id));
                news.any |= self.seen.orphans.len() != before || !news.again.is_empty();
                unlisted(record)
            }
        }
    }

    fn take_seen(
        &mut self,
        record: &Identity,
        identity: Identity,
        seen: Observation<ReadObject>,
        orphan: Option<Entry>,
        news: &mut News,
    ) -> bool {
        if identity == *record {
            return self.is_another_record(&seen);
        }
        if self.known.tracked.contains_key(&identity) {
            // Fields may have other names in the version that is watched.
            let as_applied = self.is_read_as_applied(&identity, &seen);
            if self.take(&identity, seen) {
                news.any = true;
                if !as_applied {
                    news.again.insert(identity.clone());
                }
                news.changed.insert(identity);
            }
        } else {
            let before = self.seen.orphans.remove(&identity);
            news.any |= before != orphan;
            self.seen
                .orphans
                .extend(orphan.map(|orphan| (identity, orphan)));
        }
        false
    }

    fn versions<'a>(&self, of: impl IntoIterator<Item = &'a Identity>) -> ObjectVersions {
        let versions = of.into_iter().map(|identity| {
            let seen = self.seen.objects.get(identity);
            let version = seen.and_then(version).map(str::to_owned);
            (identity.clone(), version)
        });
        versions.collect()
    }

    fn record_identity(&self) -> Identity {
        let release = &self.known.release;
        Identity::new(
            GroupKind::new("", "Secret"),
            Some(release.namespace.as_str()),
            release.id.inventory_secret(&release.name),
        )
    }

    /// Whether an object was seen in the version in which it was applied.
    fn is_read_as_applied(&self, identity: &Identity, seen: &Observation<ReadObject>) -> bool {
        let (applied, seen) = (self.seen.applied.get(identity), seen.present());
        let version = ["apiVersion"];
        let mut both = applied.zip(seen).into_iter();
        both.all(|(applied, seen)| applied.text(&version) == seen.object.text(&version))
    }

    fn is_another_record(&self, seen: &Observation<ReadObject>) -> bool {
        version(seen) != self.known.version.as_deref()
    }

    /// Takes in what was seen of an object, and says whether that is news.
    fn take(&mut self, identity: &Identity, seen: Observation<ReadObject>) -> bool {
        let same = self.seen.objects.get(identity).is_some_and(|known| {
            version(known) == version(&seen)
                && known.present().is_some() == seen.present().is_some()
        });
        if !same {
            self.seen.objects.insert(identity.clone(), seen);
        }
        !same
    }
}

fn version(seen: &Observation<ReadObject>) -> Option<&str> {
    let object = &seen.present()?.object;
    object.text(&["metadata", "resourceVersion"])
}

/// Tells a status, unless it is what was told last, and the objects that it was made of.
fn tell(
    status: Status,
    objects: &ObjectVersions,
    last: &mut Option<Status>,
    observer: &mut dyn StatusObserver,
) {
    let is_news = last.as_ref() != Some(&status);
    observer.looked(is_news.then_some(&status), objects);
    if is_news {
        *last = Some(status);
    }
}
