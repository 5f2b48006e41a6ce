//! What a browser is told: a digest whenever it is another.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures::{Stream, StreamExt as _};
use opm_core::identity::Identity;
use tokio_util::sync::CancellationToken;

use super::{LiveReceiver, LiveState, Subject, receiver};
use crate::Page;

/// How long one browser is told anything before it has to ask again.
const LONGEST: Duration = Duration::from_secs(600);

/// Tells a browser whenever what it looks at has changed.
pub(crate) fn tell(
    page: &Arc<Page>,
    subject: &Subject,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
    follow(receiver(page, subject), page.cancel.clone())
}

/// The same of one object of what it looks at.
pub(crate) fn tell_object(
    page: &Arc<Page>,
    subject: &Subject,
    object: Identity,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
    let receiver = receiver(page, subject);
    digests(receiver, page.cancel.clone(), move |known| {
        known.digest_of(&object)
    })
}

/// Tells what comes, and at first what there is, until the page is no longer served.
pub(crate) fn follow(
    receiver: LiveReceiver,
    served: CancellationToken,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    digests(receiver, served, |known| known.digest)
}

fn digests(
    mut receiver: LiveReceiver,
    served: CancellationToken,
    digest_of: impl Fn(&LiveState) -> u64 + Send + Sync + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    receiver.mark_changed();
    let until = tokio::time::Instant::now() + LONGEST;
    let digest_of = Arc::new(digest_of);
    let events = futures::stream::unfold((receiver, None), move |(mut receiver, last)| {
        let digest_of = Arc::clone(&digest_of);
        async move {
            loop {
                let known = tokio::time::timeout_at(until, next_known(&mut receiver)).await;
                let digest = digest_of(&known.ok().flatten()?);
                if last != Some(digest) {
                    let event = Event::default().data(format!("{digest:016x}"));
                    return Some((Ok(event), (receiver, Some(digest))));
                }
            }
        }
    });
    let events = events.take_until(served.cancelled_owned());
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// What is known next; none if nobody watches any more.
pub(super) async fn next_known(receiver: &mut LiveReceiver) -> Option<LiveState> {
    loop {
        receiver.changed().await.ok()?;
        if let Some(known) = &*receiver.borrow_and_update() {
            return Some(known.clone());
        }
    }
}
