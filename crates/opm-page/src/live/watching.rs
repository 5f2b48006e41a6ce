//! One watch for all who look at the same thing, for as long as somebody does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use opm_core::identity::Identity;
use opm_engine::list::{ListObserver, Listing, Overviews};
use opm_engine::ports::Caller;
use opm_engine::request::{ListRequest, ReleaseRef, StatusRequest};
use opm_engine::status::{ObjectVersions, Status, StatusObserver};

use super::{LiveSender, LiveState, ReleaseList, Subject, digest};
use crate::Page;

/// How soon something that could not be watched is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// How often releases are listed for somebody who may not watch them.
const LIST_EVERY: Duration = Duration::from_secs(10);

/// How often the files of a module are looked at while somebody looks at its plan.
const FILES_EVERY: Duration = Duration::from_millis(500);

/// How soon a watch ends when nobody looks any more.
const LINGER: Duration = Duration::from_secs(5);

/// Watches something for as long as somebody looks.
pub(super) async fn watch(page: Arc<Page>, subject: Subject, sender: LiveSender) {
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
    let watching = page.watch(&subject, &sender, &caller);
    tokio::select! {
        () = unseen => {}
        () = watching => {}
        () = page.cancel.cancelled() => {}
    }
    stop.cancel();
    page.live.watched().remove(&subject);
}

impl Page {
    /// All releases, without a look at their objects.
    pub(crate) fn all_releases(&self) -> ListRequest {
        ListRequest {
            namespace: None,
            home: self.settings.home.clone(),
            health: false,
            deleted: false,
        }
    }

    async fn watch(&self, subject: &Subject, sender: &LiveSender, caller: &Caller<'_>) {
        let mut teller = Teller::new(sender);
        while !caller.cancel.is_cancelled() {
            match subject {
                Subject::Plan => match &self.settings.plan {
                    Some(plan) => {
                        teller.tell(plan.stamp());
                        tokio::time::sleep(FILES_EVERY).await;
                        continue;
                    }
                    None => return,
                },
                Subject::Releases => self.watch_releases(&mut teller, caller).await,
                Subject::Release(namespace, name) => {
                    let request = StatusRequest {
                        release: ReleaseRef::Name(name.clone()),
                        namespace: namespace.clone(),
                        scan: false,
                    };
                    let ended = self
                        .engine
                        .watch_status(&request, None, &mut teller, caller);
                    if ended.await.is_err() {
                        // It may be there again later, and whoever looks should see why it is not.
                        teller.tell(0);
                    }
                }
                Subject::Below(object) => {
                    let mut tell_version = |version: Option<&str>| teller.tell(digest(&version));
                    let watched = self.engine.watch_object(object, &mut tell_version, caller);
                    if watched.await.is_err() {
                        teller.tell(0);
                    }
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn watch_releases(&self, teller: &mut Teller<'_>, caller: &Caller<'_>) {
        let request = self.all_releases();
        let watched = self.engine.watch_list(&request, teller, caller).await;
        if watched.is_err() && !caller.cancel.is_cancelled() {
            // Who may not watch may list all the same.
            let request = ListRequest {
                health: true,
                ..request
            };
            match self.engine.list(&request, caller).await {
                Ok(listing) => {
                    let overviews = Overviews::of(&listing);
                    teller.releases(&listing, &overviews);
                    tokio::time::sleep(LIST_EVERY).await;
                }
                Err(_) => teller.tell(0),
            }
        }
    }
}

/// Tells what there is now.
struct Teller<'a> {
    sender: &'a LiveSender,
    versions: Arc<BTreeMap<Identity, String>>,
}

impl<'a> Teller<'a> {
    fn new(sender: &'a LiveSender) -> Self {
        Self {
            sender,
            versions: Arc::default(),
        }
    }

    fn tell(&self, digest: u64) {
        self.replace(LiveState::of(digest));
    }

    fn replace(&self, state: LiveState) {
        self.sender.send_replace(Some(state));
    }
}

impl StatusObserver for Teller<'_> {
    fn status(&mut self, status: &Status) {
        self.replace(LiveState {
            digest: digest(status),
            status: Some(Arc::new(status.clone())),
            versions: Arc::clone(&self.versions),
            releases: None,
        });
    }

    fn trouble(&mut self, what: &str) {
        self.tell(digest(&what));
    }

    fn looked(&mut self, status: Option<&Status>, objects: &ObjectVersions) {
        let versions = Arc::make_mut(&mut self.versions);
        for (identity, version) in objects {
            match version {
                Some(version) => versions.insert(identity.clone(), version.clone()),
                None => versions.remove(identity),
            };
        }
        match status {
            Some(status) => self.status(status),
            None => self.sender.send_modify(|known| {
                if let Some(known) = known {
                    known.versions = Arc::clone(&self.versions);
                }
            }),
        }
    }
}

impl ListObserver for Teller<'_> {
    fn releases(&mut self, listing: &Listing, overviews: &Overviews) {
        let releases = ReleaseList {
            listing: listing.clone(),
            overviews: overviews.clone(),
        };
        self.replace(LiveState {
            digest: releases.digest(),
            releases: Some(Arc::new(releases)),
            ..LiveState::default()
        });
    }
}
