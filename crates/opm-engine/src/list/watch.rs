//! The list of releases, as it changes: the records by one list and one watch of Secrets, how
//! releases are doing by one list and one watch of each kind that they have objects of, in all
//! namespaces. A record is read when it is another; an object that is in no list is asked for by
//! name. Of a kind that may not be listed or watched everywhere, objects are looked at when the
//! record of their release is another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{BoxFuture, Either, select};
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use opm_core::health;
use opm_core::identity::{GroupKind, Identity};
use opm_core::labels;
use opm_core::packed::PackedObject;
use opm_core::status::ReadObject;

use super::overview::{ListedRecord, Observations};
use super::{
    CONCURRENT_NAMESPACES, ListedRelease, Listing, RecordDetail, ReleaseOverview, ReleaseSecret,
    UnreadableNamespace, is_record, key, listed,
};
use crate::concurrently::{concurrently, concurrently_in_order};
use crate::failure::Failure;
use crate::observe::{CONCURRENT_LISTS, FollowedChange, FollowedCollection, packed_identity};
use crate::ports::{
    ApiError, ApiErrorKind, Collection, CollectionLabel, Detail, ListedCollection, Observation,
    WantedObject,
};
use crate::request::ListRequest;
use crate::run::Run;

/// Changes that come within this time of each other are told as one.
const SETTLE: Duration = Duration::from_millis(100);

/// How many records are read before what has changed meanwhile is looked at.
const AT_A_TIME: usize = 200;

/// Who looks on.
pub trait ListObserver: Send {
    /// These are the releases now, with those that were deleted, and this is known of how they
    /// stand.
    fn releases(&mut self, listing: &Listing, overviews: &Overviews);
}

/// How releases stand, by their ids; none where that cannot be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overviews(HashMap<String, Option<ReleaseOverview>>);

impl Overviews {
    /// Of a listing for which all objects were looked at.
    pub fn of(listing: &Listing) -> Self {
        let releases = listing.releases.iter();
        let overviews = releases.map(|one| (one.summary.release_id.clone(), one.overview.clone()));
        Self(overviews.collect())
    }

    /// None where nobody has looked yet.
    pub fn get(&self, release: &ListedRelease) -> Option<Option<&ReleaseOverview>> {
        let found = self.0.get(&release.summary.release_id)?;
        Some(found.as_ref())
    }
}

/// What is known of all releases.
#[derive(Default)]
struct WatchedReleases {
    unseen: Vec<UnreadableNamespace>,
    /// The Secrets of releases, and the versions at which they were seen.
    secrets: BTreeMap<Identity, (ReleaseSecret, Option<String>)>,
    /// Those that were not read yet, or are others now.
    unread: BTreeSet<Identity>,
    /// Those whose objects are others now.
    unjudged: BTreeSet<Identity>,
    records: BTreeMap<Identity, ListedRecord>,
    overviews: BTreeMap<Identity, Option<ReleaseOverview>>,
    objects: Observations,
    /// Which records name an object.
    named_by: BTreeMap<Identity, BTreeSet<Identity>>,
    /// The objects that have to be asked for by name.
    again: BTreeSet<Identity>,
    /// The kinds that were listed.
    kinds: BTreeSet<GroupKind>,
    /// Those of them that cannot be followed.
    unfollowed: BTreeSet<GroupKind>,
}

/// What is followed, each until it fails.
type Watches<'s> = FuturesUnordered<BoxFuture<'s, (GroupKind, ApiError)>>;

impl Run<'_> {
    /// Tells which releases there are and how they stand, whenever that changes, until it
    /// fails.
    pub(crate) async fn watch_list(
        &self,
        request: &ListRequest,
        observer: &mut dyn ListObserver,
    ) -> Result<Infallible, Failure> {
        let (lists, unseen) = self.record_lists(request, RecordDetail::Followed).await?;
        let mut watched = WatchedReleases {
            unseen,
            ..WatchedReleases::default()
        };
        watched.kinds.insert(GroupKind::new("", "Secret"));
        let (sender, changes) = unbounded();
        let watches = Watches::new();
        for (followed, objects) in lists.into_iter().filter_map(|list| list.followed) {
            for object in objects {
                watched.take_listed(&followed.listed, object);
            }
            watches.push(self.follow_owned(followed, sender.clone()).boxed());
        }
        self.tell_releases(&watched, observer);
        self.keep_watching(watched, watches, (sender, changes), observer)
            .await
    }

    async fn keep_watching<'s>(
        &'s self,
        mut watched: WatchedReleases,
        mut watches: Watches<'s>,
        (sender, mut changes): (
            UnboundedSender<FollowedChange>,
            UnboundedReceiver<FollowedChange>,
        ),
        observer: &mut dyn ListObserver,
    ) -> Result<Infallible, Failure> {
        loop {
            let mut unwatched = BTreeSet::new();
            let followed = {
                let work = async {
                    if watched.is_up_to_date() {
                        let first = changes.next().await;
                        self.backend.sleep(SETTLE).await;
                        first.into_iter().for_each(|change| watched.take(change));
                    }
                    while let Ok(change) = changes.try_recv() {
                        watched.take(change);
                    }
                    self.catch_up(&mut watched).await
                };
                // What is watched goes on while it is worked.
                let watching = watch_until_failed(&mut watches, &mut unwatched);
                match select(pin!(work), pin!(watching)).await {
                    Either::Left((followed, _)) => followed,
                    Either::Right((error, _)) => return Err(super::unlisted(&error)),
                }
            };
            watched.unfollowed.append(&mut unwatched);
            for one in followed {
                watches.push(self.follow_owned(one, sender.clone()).boxed());
            }
            self.tell_releases(&watched, observer);
        }
    }

    async fn follow_owned(
        &self,
        followed: FollowedCollection,
        changes: UnboundedSender<FollowedChange>,
    ) -> (GroupKind, ApiError) {
        let error = self.follow_collection(&followed, &changes).await;
        (followed.listed.kind, error)
    }

    fn tell_releases(&self, watched: &WatchedReleases, observer: &mut dyn ListObserver) {
        let mut overviews = Overviews::default();
        let mut releases = Vec::with_capacity(watched.secrets.len());
        for (record, (secret, _)) in &watched.secrets {
            if let Some(release) = listed(secret, None) {
                if let Some(overview) = watched.overviews.get(record) {
                    let id = release.summary.release_id.clone();
                    overviews.0.insert(id, overview.clone());
                }
                releases.push(release);
            }
        }
        releases.sort_by(|a, b| key(a).cmp(&key(b)));
        let listing = Listing {
            releases,
            unseen: watched.unseen.clone(),
            now: self.server_now(),
        };
        observer.releases(&listing, &overviews);
    }

    /// Reads what is not known yet or no longer, and says what is to be followed from now on.
    async fn catch_up(&self, watched: &mut WatchedReleases) -> Vec<FollowedCollection> {
        let unread: Vec<Identity> = watched.unread.iter().take(AT_A_TIME).cloned().collect();
        let records = concurrently(CONCURRENT_NAMESPACES, unread.len(), |at| {
            let record = &unread[at];
            async move { (record.clone(), self.record_at(record).await) }
        });
        let records: Vec<_> = records.collect().await;
        for (place, record) in records {
            watched.unread.remove(&place);
            watched.take_record(place, record);
        }
        let followed = self.follow_kinds(watched).await;
        let again = std::mem::take(&mut watched.again);
        let again: Vec<WantedObject> = again.iter().map(WantedObject::from).collect();
        let found = self.observe_objects(&again).await;
        watched.objects.extend(found);
        for record in std::mem::take(&mut watched.unjudged) {
            let overview = match watched.records.get(&record) {
                Some(listed) => Some(self.overview_of(listed, &watched.objects).await),
                None => None,
            };
            if watched.secrets.contains_key(&record) {
                watched.overviews.insert(record, overview);
            }
        }
        followed
    }

    /// The record in a Secret; none if it cannot be read.
    async fn record_at(&self, place: &Identity) -> Option<ListedRecord> {
        let namespace = place.namespace.as_deref()?;
        let stored = self.backend.get_secret(namespace, &place.name).await;
        let unpacked = self.unpacked.used();
        let record = self.listed_record(stored.ok()??).await;
        self.unpacked.give_back_to(unpacked);
        record
    }

    /// Lists the kinds that are not followed yet.
    async fn follow_kinds(&self, watched: &mut WatchedReleases) -> Vec<FollowedCollection> {
        let kinds = watched.named_by.keys().map(|id| &id.group_kind);
        let new: BTreeSet<&GroupKind> = kinds
            .filter(|kind| !watched.kinds.contains(*kind))
            .collect();
        let new = new
            .into_iter()
            .map(|kind| labelled(kind, &watched.named_by));
        let new: Vec<Collection> = new.collect();
        let lists = concurrently_in_order(CONCURRENT_LISTS, new.len(), |at| {
            self.backend.list_collection(&new[at])
        });
        let lists: Vec<Result<ListedCollection, ApiError>> = lists.collect().await;
        let mut followed = Vec::new();
        for (collection, list) in new.into_iter().zip(lists) {
            watched.kinds.insert(collection.kind.clone());
            let Ok(list) = list else {
                watched.unfollowed.insert(collection.kind);
                continue;
            };
            for object in list.objects {
                watched.take_listed(&collection, object);
            }
            followed.push(FollowedCollection {
                watched: collection.clone(),
                listed: collection,
                resource_version: list.resource_version,
            });
        }
        // What no list had may be there without its label.
        let unseen = watched.named_by.keys();
        let unseen = unseen.filter(|id| !watched.objects.contains_key(*id));
        watched.again.extend(unseen.cloned());
        followed
    }
}

/// What releases have applied of a kind, wherever it is.
fn labelled(kind: &GroupKind, named: &BTreeMap<Identity, BTreeSet<Identity>>) -> Collection {
    Collection {
        kind: kind.clone(),
        namespace: None,
        version: None,
        label: Some(CollectionLabel {
            name: labels::RELEASE_ID.to_owned(),
            value: None,
            without: None,
        }),
        detail: match health::says_nothing(kind) {
            true => Detail::Metadata,
            false => Detail::Whole,
        },
        expected: named.keys().filter(|id| id.group_kind == *kind).count(),
    }
}

/// Goes on watching until something fails that all depends on. What may not be watched is left
/// out.
async fn watch_until_failed(
    watches: &mut Watches<'_>,
    unwatched: &mut BTreeSet<GroupKind>,
) -> ApiError {
    while let Some((kind, error)) = watches.next().await {
        let refused = [ApiErrorKind::Forbidden, ApiErrorKind::KindNotServed];
        if kind.is("", "Secret") || !refused.contains(&error.kind) {
            return error;
        }
        unwatched.insert(kind);
    }
    futures::future::pending().await
}

impl WatchedReleases {
    /// Whether nothing is left to be read.
    fn is_up_to_date(&self) -> bool {
        self.unread.is_empty() && self.unjudged.is_empty() && self.again.is_empty()
    }

    fn take_listed(&mut self, of: &Collection, object: PackedObject) {
        if let Some(identity) = packed_identity(of, &object) {
            let whole = of.detail == Detail::Whole;
            self.take(FollowedChange::Seen(identity, ReadObject { object, whole }));
        }
    }

    /// Takes in a change.
    fn take(&mut self, change: FollowedChange) {
        match change {
            FollowedChange::Seen(identity, read) if is_record(&read.object) => {
                let version = read.object.text(&["metadata", "resourceVersion"]);
                let version = version.map(str::to_owned);
                let known = self.secrets.get(&identity);
                if known.is_some_and(|(_, known)| *known == version) {
                    return;
                }
                if let Some(secret) = ReleaseSecret::of_metadata(&read.object.unpack()) {
                    self.unread.insert(identity.clone());
                    self.secrets.insert(identity, (secret, version));
                }
            }
            FollowedChange::Seen(identity, read) => {
                let records = self.named_by.get(&identity);
                self.unjudged.extend(records.into_iter().flatten().cloned());
                self.objects.insert(identity, Observation::Present(read));
            }
            FollowedChange::Gone(identity) => self.take_gone(identity),
            FollowedChange::Listed(of, listed) => {
                let records = self.secrets.keys();
                let gone = records.chain(self.objects.keys()).filter(|id| {
                    let within = of.namespace.is_none() || id.namespace == of.namespace;
                    id.group_kind == of.kind && within && !listed.contains(*id)
                });
                let gone: Vec<Identity> = gone.cloned().collect();
                gone.into_iter().for_each(|id| self.take_gone(id));
            }
        }
    }

    fn take_gone(&mut self, identity: Identity) {
        if self.secrets.remove(&identity).is_some() {
            self.unread.remove(&identity);
            self.overviews.remove(&identity);
            self.forget_objects_of(&identity);
            return;
        }
        self.objects.remove(&identity);
        // It may only have lost its label.
        if let Some(records) = self.named_by.get(&identity) {
            self.unjudged.extend(records.iter().cloned());
            self.again.insert(identity);
        }
    }

    /// Takes in what a record says, if it can be read.
    fn take_record(&mut self, place: Identity, record: Option<ListedRecord>) {
        self.forget_objects_of(&place);
        if !self.secrets.contains_key(&place) {
            return;
        }
        self.unjudged.insert(place.clone());
        if let Some(record) = record {
            for object in record.objects() {
                if self.unfollowed.contains(&object.group_kind) {
                    self.again.insert(object.clone());
                }
                let named = self.named_by.entry(object.clone()).or_default();
                named.insert(place.clone());
            }
            self.records.insert(place, record);
        }
    }

    fn forget_objects_of(&mut self, record: &Identity) {
        let before = self.records.remove(record);
        for object in before.iter().flat_map(ListedRecord::objects) {
            if let Some(records) = self.named_by.get_mut(object) {
                records.remove(record);
                if records.is_empty() {
                    self.named_by.remove(object);
                }
            }
        }
    }
}
