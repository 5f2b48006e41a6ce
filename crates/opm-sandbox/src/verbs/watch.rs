//! WATCH: the log of changes as a stream, resumable at any revision that is still kept.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::select::Selector;
use super::view::{self, ResponseForm};
use super::{Scope, list, options};
use crate::life;
use crate::sandbox::Sandbox;
use crate::status::{ApiError, ErrorBody};
use crate::store::{Event, EventKind};
use crate::wire::call::Call;
use crate::wire::reply::{Payload, Reply};
use crate::wire::route::Target;

/// Other processes write without telling us: look again this often.
const POLL: Duration = Duration::from_millis(50);
/// In memory there is nobody else; only what is due by itself has to be looked for.
const POLL_ALONE: Duration = Duration::from_millis(500);
const BOOKMARK_EVERY: Duration = Duration::from_secs(30);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45 * 60);

struct Watcher {
    sandbox: Sandbox,
    target: Target,
    selector: Selector,
    form: ResponseForm,
    bookmarks: bool,
    /// The last revision that was looked at.
    seen: i64,
    sender: mpsc::Sender<Bytes>,
}

pub(crate) fn watch(
    sandbox: &Sandbox,
    scope: &Scope<'_>,
    call: &Call,
    target: &Target,
) -> Result<Reply, ApiError> {
    options::check_list(call, true)?;
    let selector = Selector::read(call, &target.resource)?;
    let form = view::form(call);
    let current = scope.tx.revision()?;
    let version = options::version(call).map_err(ApiError::untyped)?;
    let initial_events = call.query.flag("sendInitialEvents");
    let from_now = version.is_none_or(|v| v == 0);
    let mut first = Vec::new();
    let seen = if from_now || initial_events {
        let all = list::matching(scope, &target.resource, &target.namespace, &selector)?;
        first.extend(
            all.into_iter()
                .map(|object| line("ADDED", &view::project_as(form, &target.resource, object))),
        );
        if initial_events {
            first.push(bookmark(target, current, true));
        }
        current
    } else {
        version
            .and_then(|v| i64::try_from(v).ok())
            .unwrap_or(i64::MAX)
    };
    let compacted = scope.tx.meta("compacted")?;
    let (sender, receiver) = mpsc::channel(64);
    let reply = Reply {
        code: 200,
        payload: Payload::Stream(receiver),
        warnings: Vec::new(),
    };
    if seen < compacted {
        let error = ApiError::expired(format!("too old resource version: {seen} ({compacted})"));
        if let ErrorBody::Status(status) = error.body {
            let _ = sender.try_send(line("ERROR", &status));
        }
        return Ok(reply);
    }
    let timeout = options::number(call, "timeoutSeconds")?;
    let timeout = timeout
        .and_then(|t| u64::try_from(t).ok())
        .filter(|t| *t > 0);
    let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
    let watcher = Watcher {
        sandbox: sandbox.clone(),
        target: target.clone(),
        selector,
        form,
        bookmarks: call.query.flag("allowWatchBookmarks"),
        seen,
        sender,
    };
    tokio::runtime::Handle::current().spawn(async move {
        // An ended client drops the receiver, which ends the watcher.
        let _ = tokio::time::timeout(timeout, watcher.run(first)).await;
    });
    Ok(reply)
}

impl Watcher {
    async fn run(mut self, first: Vec<Bytes>) {
        for event in first {
            if self.sender.send(event).await.is_err() {
                return;
            }
        }
        let mut changed = self.sandbox.inner.store.subscribe();
        let poll = match self.sandbox.inner.store.is_shared() {
            true => POLL,
            false => POLL_ALONE,
        };
        let mut last_bookmark = tokio::time::Instant::now();
        loop {
            let Some(events) = self.next().await else {
                return;
            };
            for event in events {
                if self.sender.send(event).await.is_err() {
                    return;
                }
            }
            if self.bookmarks && last_bookmark.elapsed() >= BOOKMARK_EVERY {
                last_bookmark = tokio::time::Instant::now();
                if self
                    .sender
                    .send(bookmark(&self.target, self.seen, false))
                    .await
                    .is_err()
                {
                    return;
                }
            }
            tokio::select! {
                biased;
                _ = changed.changed() => {}
                () = tokio::time::sleep(poll) => {}
                () = self.sender.closed() => return,
            }
        }
    }

    /// What happened since the last look; `None` ends the watch.
    async fn next(&mut self) -> Option<Vec<Bytes>> {
        let (sandbox, target, seen) = (self.sandbox.clone(), self.target.clone(), self.seen);
        let work = self.sandbox.clone();
        let looked = work.answer(move || {
            life::catch_up(&sandbox.inner, sandbox.inner.store.chance().now())?;
            sandbox.inner.store.read(|tx| {
                let current = tx.revision()?;
                if current == seen {
                    return Ok::<_, ApiError>((current, 0, Vec::new()));
                }
                let (group, plural) = (&target.resource.group, &target.resource.plural);
                Ok((
                    current,
                    tx.meta("compacted")?,
                    tx.events_after(group, plural, seen)?,
                ))
            })
        });
        let (current, compacted, events) = looked.await?.ok()?;
        if compacted > self.seen {
            return None;
        }
        self.seen = current;
        Some(events.into_iter().filter_map(|e| self.show(e)).collect())
    }

    /// An event as this watch sees it: entering or leaving the selection is adding or deleting.
    fn show(&self, event: Event) -> Option<Bytes> {
        let namespace = event.body["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default();
        if !self.target.namespace.is_empty() && namespace != self.target.namespace {
            return None;
        }
        let now = self.selector.matches(&event.body);
        let before = event
            .before
            .as_ref()
            .is_some_and(|b| self.selector.matches(b));
        let kind = match (event.kind, before, now) {
            (EventKind::Added, _, true) | (EventKind::Modified, false, true) => "ADDED",
            (EventKind::Modified, true, true) => "MODIFIED",
            (EventKind::Modified, true, false) | (EventKind::Deleted, true, _) => "DELETED",
            _ => return None,
        };
        let mut object = view::project_as(self.form, &self.target.resource, event.body);
        object["metadata"]["resourceVersion"] = json!(event.revision.to_string());
        Some(line(kind, &object))
    }
}

fn line(kind: &str, object: &Value) -> Bytes {
    let mut text = json!({"type": kind, "object": object}).to_string();
    text.push('\n');
    Bytes::from(text)
}

fn bookmark(target: &Target, revision: i64, initial_end: bool) -> Bytes {
    let resource = &target.resource;
    let mut object = json!({
        "kind": resource.kind,
        "apiVersion": resource.api_version(),
        "metadata": {"resourceVersion": revision.to_string()}
    });
    if initial_end {
        object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    line("BOOKMARK", &object)
}
