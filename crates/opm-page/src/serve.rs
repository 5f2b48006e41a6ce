//! Connections of the page: how many there are at a time, and how long a browser may take to ask.
//!
//! Who is no browser of this user's can connect all the same, before `admission` tells it away: half
//! a request must not hold a connection for ever, nor as many as there are descriptors.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How many connections there are at a time, and how long each may take. More have to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) connections: usize,
    /// For the head of a request, and until the next one.
    pub(crate) head: Duration,
    /// For answers that are on their way when the page ends.
    pub(crate) last: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(30),
            last: Duration::from_secs(2),
        }
    }
}

/// How long to wait after a failed accept: without a free descriptor the next one fails, too.
const AFTER_A_FAILURE: Duration = Duration::from_millis(100);

/// Serves until it is cancelled. A browser that holds a connection open does not hold the end up.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    cancel: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(bounds.connections));
    let connections = TaskTracker::new();
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = listener.accept().await else {
                sleep(AFTER_A_FAILURE).await;
                continue;
            };
            let connection = connection(stream, router.clone(), bounds, cancel.clone());
            connections.spawn(async move {
                connection.await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = cancel.cancelled() => {}
    }
    connections.close();
    // Nobody is told who is cut off: it is a browser that asks no more.
    let _ = timeout(bounds.last, connections.wait()).await;
}

async fn connection(stream: TcpStream, router: Router, bounds: Bounds, cancel: CancellationToken) {
    let mut serving = pin!(
        Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.head)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
    );
    // A browser that goes away in the middle is no error of ours.
    tokio::select! {
        _ = serving.as_mut() => return,
        () = cancel.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail loudly")]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const HANG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn half_a_request_holds_no_place_for_ever() {
        let bounds = Bounds {
            connections: 2,
            head: Duration::from_millis(300),
            ..Bounds::default()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "here"));
        let cancel = CancellationToken::new();
        let _end = cancel.clone().drop_guard();
        tokio::spawn(serve(listener, router, bounds, cancel));
        let mut held = Vec::new();
        for sent in ["", "GET / HTTP/1.1\r\nHost: a", "G", ""] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            held.push(stream);
        }
        let asked = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let answer = timeout(HANG, asked).await.unwrap();
        assert!(answer.ends_with("here"), "{answer}");
    }
}
