//! Connections that are opened before there are requests for them.
//!
//! A connection takes round trips of its own before it carries a request. Who knows that many
//! requests are about to be sent at a time says so one request earlier, and the connections for them
//! are opened while that is on its way.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::{BoxError, Service, ServiceExt as _};

/// How long a connection that nobody takes is kept: a server closes those that say nothing.
const KEPT: Duration = Duration::from_secs(5);

/// Opens connections to one server, some of them early.
#[derive(Debug)]
pub(crate) struct EarlyConnector<C: Service<Uri>> {
    connector: C,
    state: Arc<EarlyState<C::Response>>,
}

#[derive(Debug)]
struct EarlyState<T> {
    early: Mutex<VecDeque<EarlyConnection<T>>>,
    /// How many were opened so far, early or not.
    opened: AtomicUsize,
}

/// A connection that is open, or about to be.
#[derive(Debug)]
struct EarlyConnection<T> {
    since: Instant,
    opening: JoinHandle<Result<T, BoxError>>,
}

/// What opens connections early.
pub(crate) type OpenEarly = Arc<dyn Fn(usize) + Send + Sync>;

impl<C: Service<Uri> + Clone> Clone for EarlyConnector<C> {
    fn clone(&self) -> Self {
        Self {
            connector: self.connector.clone(),
            state: Arc::clone(&self.state),
        }
    }
}

impl<T> EarlyState<T> {
    /// Those that are not too old to be used.
    fn early(&self) -> MutexGuard<'_, VecDeque<EarlyConnection<T>>> {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        while early.front().is_some_and(|one| one.since.elapsed() >= KEPT) {
            early.pop_front();
        }
        early
    }
}

impl<C> EarlyConnector<C>
where
    C: Service<Uri, Error = BoxError> + Clone + Send + Sync + 'static,
    C::Response: Send + 'static,
    C::Future: Send + 'static,
{
    pub(crate) fn new(connector: C) -> Self {
        let state = EarlyState {
            early: Mutex::default(),
            opened: AtomicUsize::new(0),
        };
        Self {
            connector,
            state: Arc::new(state),
        }
    }

    /// What makes sure that so many connections to this server are open, or are being opened.
    pub(crate) fn opening(&self, server: Uri) -> OpenEarly {
        let this = self.clone();
        Arc::new(move |count| this.open(&server, count))
    }

    fn open(&self, server: &Uri, count: usize) {
        let opened = self.state.opened.fetch_max(count, Ordering::Relaxed);
        let missing = opened..count;
        if missing.is_empty() {
            return;
        }
        let since = Instant::now();
        self.state.early().extend(missing.map(|_| {
            let opening = self.connector.clone().oneshot(server.clone());
            let opening = tokio::spawn(opening);
            EarlyConnection { since, opening }
        }));
        let state = Arc::clone(&self.state);
        tokio::spawn(async move {
            sleep(KEPT).await;
            drop(state.early());
        });
    }
}

impl<C> Service<Uri> for EarlyConnector<C>
where
    C: Service<Uri, Error = BoxError> + Clone + Send + 'static,
    C::Response: Send + 'static,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let early = self.state.early().pop_front();
        let connector = self.connector.clone();
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            if let Some(EarlyConnection { opening, .. }) = early
                && let Ok(Ok(open)) = opening.await
            {
                return Ok(open);
            }
            state.opened.fetch_add(1, Ordering::Relaxed);
            connector.oneshot(server).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connector that counts, whose connections are numbers.
    fn counting() -> (
        EarlyConnector<
            impl Service<Uri, Response = usize, Error = BoxError, Future: Send> + Clone + Send + Sync,
        >,
        Arc<AtomicUsize>,
    ) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let connector = tower::service_fn(move |_: Uri| {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            async move { Ok::<_, BoxError>(number) }
        });
        (EarlyConnector::new(connector), count)
    }

    fn server() -> Uri {
        Uri::from_static("https://server")
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_are_opened_as_are_missing() {
        let (connector, count) = counting();
        let opened = || count.load(Ordering::Relaxed);
        assert_eq!(connector.clone().oneshot(server()).await.unwrap(), 0);
        let open = connector.opening(server());
        open(3);
        tokio::task::yield_now().await;
        assert_eq!(opened(), 3, "one is there already");
        open(3);
        open(2);
        tokio::task::yield_now().await;
        assert_eq!(opened(), 3);
        for expected in 1..=3 {
            let taken = connector.clone().oneshot(server()).await.unwrap();
            assert_eq!(taken, expected, "two are open, then another one is made");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_closed() {
        let (connector, _) = counting();
        connector.opening(server())(2);
        sleep(KEPT * 2).await;
        assert!(connector.state.early().is_empty());
        assert_eq!(connector.clone().oneshot(server()).await.unwrap(), 2);
    }
}
