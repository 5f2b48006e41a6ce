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
use opm_core::packed::PackedObject;
use opm_core::status::ReadObject;

use super::{Status, StatusInputs};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, ApiErrorKind, Backend, Observation, WatchEvent};
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
}

/// Why a watch has ended.
enum WatchEnd {
    /// The time is over.
    TimeOver,
    /// The record has changed.
    RecordChanged,
}

impl<B: Backend> Run<'_, B> {
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
            let mut gathered = match self.gather(request).await {
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
            tell(gathered.assemble(), &mut last, observer);
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
        let watching = self.backend.watch(&wanted, left, &mut pass_on).fuse();
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
            self.backend.sleep(SETTLE).await;
            let mut came = vec![first];
            while let Ok(next) = events.try_recv() {
                came.push(next);
            }
            let mut changed = Vec::new();
            let mut other_version = Vec::new();
            for event in came {
                let (identity, seen) = match event {
                    WatchEvent::Seen(identity, object) => {
                        // Nobody watches the content of a Secret.
                        let whole = !identity.group_kind.is("", "Secret");
                        let object = PackedObject::new(&object);
                        (identity, Observation::Present(ReadObject { object, whole }))
                    }
                    WatchEvent::Gone(identity) => (identity, Observation::Absent),
                };
                if identity == *record {
                    if gathered.is_another_record(&seen) {
                        return;
                    }
                } else {
                    if !gathered.is_read_as_applied(&identity, &seen) {
                        other_version.push(gathered.known.wanted(&identity));
                    }
                    if gathered.take(&identity, seen) {
                        changed.push(identity);
                    }
                }
            }
            // Fields may have other names in the version that is watched.
            other_version.retain(|wanted| changed.contains(&wanted.identity));
            let found = self.observe_objects(&other_version).await;
            gathered.seen.objects.extend(found);
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
        let hidden =
            |id: &&Identity| matches!(self.seen.objects.get(*id), Some(Observation::Failed(_)));
        let tracked = self.known.tracked.keys();
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

/// Tells a status unless it is what was told last.
fn tell(status: Status, last: &mut Option<Status>, observer: &mut dyn StatusObserver) {
    if last.as_ref() != Some(&status) {
        observer.status(&status);
        *last = Some(status);
    }
}
