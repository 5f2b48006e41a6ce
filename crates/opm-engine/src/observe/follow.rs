//! Following a collection: every change since it was listed; where the server no longer knows
//! them, one more list.

use std::collections::BTreeSet;

use futures::channel::mpsc::UnboundedSender;
use opm_core::identity::Identity;
use opm_core::packed::PackedObject;
use opm_core::status::ReadObject;

use crate::ports::{ApiError, Collection, Detail, WatchEvent};
use crate::run::Run;

/// A collection that was listed, and from where a watch goes on.
#[derive(Debug, Clone)]
pub(crate) struct FollowedCollection {
    /// What is listed.
    pub(crate) listed: Collection,
    /// What is watched: the same, or more of it.
    pub(crate) watched: Collection,
    /// Where the list was.
    pub(crate) resource_version: String,
}

/// What became of objects that are followed.
#[derive(Debug)]
pub(crate) enum FollowedChange {
    /// It is like this now, as far as it was read.
    Seen(Identity, ReadObject),
    /// It is gone, or no longer in the collection.
    Gone(Identity),
    /// The collection was listed anew, and has these objects and no others.
    Listed(Box<Collection>, BTreeSet<Identity>),
}

impl Run<'_> {
    /// Follows a collection until that fails.
    pub(crate) async fn follow_collection(
        &self,
        followed: &FollowedCollection,
        changes: &UnboundedSender<FollowedChange>,
    ) -> ApiError {
        let (listed, watched) = (&followed.listed, &followed.watched);
        let mut version = followed.resource_version.clone();
        let mut pass_on = |event| {
            let change = followed_change(event, watched.detail);
            changes.unbounded_send(change).is_err()
        };
        loop {
            let watch = self
                .backend
                .watch_collection(watched, &version, &mut pass_on);
            match watch.await {
                // Nobody listens any more.
                Ok(true) => return futures::future::pending().await,
                Ok(false) => {}
                Err(error) => return error,
            }
            let list = match self.backend.list_collection(listed).await {
                Ok(list) => list,
                Err(error) => return error,
            };
            let mut identities = BTreeSet::new();
            for object in list.objects {
                if let Some(identity) = packed_identity(listed, &object) {
                    let whole = listed.detail == Detail::Whole;
                    let seen = ReadObject { object, whole };
                    identities.insert(identity.clone());
                    let _ = changes.unbounded_send(FollowedChange::Seen(identity, seen));
                }
            }
            let listed = FollowedChange::Listed(Box::new(listed.clone()), identities);
            let _ = changes.unbounded_send(listed);
            version = list.resource_version;
        }
    }
}

/// An event of a watch of objects that are read in this detail.
pub(crate) fn followed_change(event: WatchEvent, detail: Detail) -> FollowedChange {
    match event {
        WatchEvent::Seen(identity, object) => {
            let whole = detail == Detail::Whole;
            let object = PackedObject::new(&object);
            FollowedChange::Seen(identity, ReadObject { object, whole })
        }
        WatchEvent::Gone(identity) => FollowedChange::Gone(identity),
    }
}

/// The identity of an object of a collection.
pub(crate) fn packed_identity(of: &Collection, object: &PackedObject) -> Option<Identity> {
    Some(Identity::new(
        of.kind.clone(),
        object.text(&["metadata", "namespace"]),
        object.text(&["metadata", "name"])?,
    ))
}
