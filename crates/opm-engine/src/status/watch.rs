//! `status --watch`: the same status again and again, as things change.
//!
//! One watch follows every object and the record itself. A change of an object is judged anew by
//! itself; a change of the record begins everything anew, because it may name other objects. A
//! server that does not answer for a while is waited for.

use std::time::Duration;

use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::future::{Either, select};
use futures::{FutureExt as _, StreamExt as _, pin_mut};
use opm_core::identity::{GroupKind, Identity};
use opm_core::status::Sight;

use super::{Status, StatusInputs};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::observe::metadata;
use crate::ports::{ApiError, Clock, Cluster, ErrorKind, SecretStore, WatchEvent};
use crate::request::StatusRequest;

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
}

/// Why a watch has ended.
enum WatchEnd {
    /// The time is over.
    TimeOver,
    /// The record has changed.
    RecordChanged,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Tells how a release stands, now and whenever that changes, until the time is over or the
    /// user interrupts. Answers with the last status.
    pub async fn watch_status(
        &self,
        request: &StatusRequest,
        timeout: Option<Duration>,
        observer: &mut dyn StatusObserver,
    ) -> Result<Status, Failure> {
        let watching = self.keep_watching(request, timeout, observer);
        match self.unless_stopped(watching).await {
            Ok(ended) => ended,
            Err(_) => Err(Failure::new(
                FailureKind::Interrupted,
                "interrupted: no longer watching",
            )),
        }
    }

    async fn keep_watching(
        &self,
        request: &StatusRequest,
        timeout: Option<Duration>,
        observer: &mut dyn StatusObserver,
    ) -> Result<Status, Failure> {
        let begin = self.clock.monotonic();
        let left = || {
            let gone = self.clock.monotonic().0.saturating_sub(begin.0);
            timeout.map_or(FOREVER, |timeout| timeout.saturating_sub(gone))
        };
        let mut last: Option<Status> = None;
        loop {
            let mut gathered = match self.gather(request).await {
                Ok(gathered) => gathered,
                // What could be reached once will be back.
                Err(failure) if failure.kind == FailureKind::Unreachable && last.is_some() => {
                    observer.trouble(&failure.message);
                    self.clock.sleep(AGAIN.min(left())).await;
                    match last.take_if(|_| left().is_zero()) {
                        Some(status) => return Ok(status),
                        None => continue,
                    }
                }
                Err(failure) => return Err(failure),
            };
            tell(gathered.assemble(), &mut last, observer);
            match self
                .follow(&mut gathered, left(), &mut last, observer)
                .await
            {
                Ok(WatchEnd::RecordChanged) => {}
                Ok(WatchEnd::TimeOver) => return Ok(gathered.assemble()),
                Err(error) if error.kind == ErrorKind::Unreachable => {
                    observer.trouble(&error.to_string());
                    self.clock.sleep(AGAIN.min(left())).await;
                }
                Err(error) => {
                    return Err(Failure::before_writing(
                        "cannot watch the release's objects",
                        &error,
                    ));
                }
            }
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
        let mut wanted = gathered.to_watch();
        wanted.push(record.clone());
        let (sender, events) = unbounded();
        let mut pass_on = |event| sender.unbounded_send(event).is_err();
        let watching = self.cluster.watch(&wanted, left, &mut pass_on).fuse();
        let telling = self
            .tell_changes(gathered, &record, events, last, observer)
            .fuse();
        pin_mut!(watching, telling);
        match select(telling, watching).await {
            Either::Left(((), _)) => Ok(WatchEnd::RecordChanged),
            Either::Right((watched, _)) => watched.map(|_| WatchEnd::TimeOver),
        }
    }

    /// Takes events as they come, and ends when the record has changed.
    async fn tell_changes(
        &self,
        gathered: &mut StatusInputs,
        record: &Identity,
        mut events: UnboundedReceiver<WatchEvent>,
        last: &mut Option<Status>,
        observer: &mut dyn StatusObserver,
    ) {
        while let Some(first) = events.next().await {
            self.clock.sleep(SETTLE).await;
            let mut came = vec![first];
            while let Ok(next) = events.try_recv() {
                came.push(next);
            }
            let mut changed = Vec::new();
            for event in came {
                let (identity, sight) = match event {
                    WatchEvent::Seen(identity, object) => {
                        // Nobody watches the content of a Secret.
                        let whole = !identity.group_kind.is("", "Secret");
                        (identity, Sight::Present { object, whole })
                    }
                    WatchEvent::Gone(identity) => (identity, Sight::Absent),
                };
                if identity == *record {
                    if gathered.is_another_record(&sight) {
                        return;
                    }
                } else if gathered.take(&identity, sight) {
                    changed.push(identity);
                }
            }
            if !changed.is_empty() {
                self.look_closer(&gathered.known, &changed, &mut gathered.seen)
                    .await;
                tell(gathered.assemble(), last, observer);
            }
        }
    }
}

impl StatusInputs {
    /// What can be watched: what may not even be read would end the watch of everything else.
    fn to_watch(&self) -> Vec<Identity> {
        let hidden = |id: &&Identity| matches!(self.seen.sights.get(*id), Some(Sight::Hidden(_)));
        let tracked = self.known.tracked.iter();
        tracked.filter(|id| !hidden(id)).cloned().collect()
    }

    fn record_identity(&self) -> Identity {
        let release = &self.known.release;
        Identity::new(
            GroupKind::new("", "Secret"),
            Some(release.namespace.as_str()),
            release.id.inventory_secret(&release.name),
        )
    }

    fn is_another_record(&self, sight: &Sight) -> bool {
        let version = match sight {
            Sight::Present { object, .. } => metadata(object, "resourceVersion"),
            Sight::Absent | Sight::Hidden(_) => None,
        };
        version != self.known.version.as_deref()
    }

    /// Takes in what was seen of an object, and says whether that is news.
    fn take(&mut self, identity: &Identity, sight: Sight) -> bool {
        let version = |sight: &Sight| match sight {
            Sight::Present { object, .. } => metadata(object, "resourceVersion").map(str::to_owned),
            Sight::Absent | Sight::Hidden(_) => None,
        };
        let same = self.seen.sights.get(identity).is_some_and(|known| {
            version(known) == version(&sight) && is_there(known) == is_there(&sight)
        });
        if !same {
            self.seen.sights.insert(identity.clone(), sight);
        }
        !same
    }
}

fn is_there(sight: &Sight) -> bool {
    matches!(sight, Sight::Present { .. })
}

/// Tells a status unless it is what was told last.
fn tell(status: Status, last: &mut Option<Status>, observer: &mut dyn StatusObserver) {
    if last.as_ref() != Some(&status) {
        observer.status(&status);
        *last = Some(status);
    }
}
