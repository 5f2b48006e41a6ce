//! `/metrics`, `/healthz` and `/readyz`, and nothing else.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// How many connections there are at a time.
const CONNECTIONS: usize = 64;

/// What is told about this process.
pub(crate) trait ProbeSource: Send + Sync + 'static {
    /// The counters.
    fn metrics(&self) -> String;
    /// Whether everything has been read that has to be known before it can work.
    fn is_ready(&self) -> bool;
}

/// Listens, and says where.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Answers for as long as it is not dropped.
pub(crate) async fn serve(listener: TcpListener, told: Arc<impl ProbeSource>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let told = Arc::clone(&told);
        tokio::spawn(async move {
            let _place = place;
            let answer = service_fn(move |request: Request<Incoming>| {
                let response = answer(request.method(), request.uri().path(), &*told);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            // Who asks for counters asks in one go.
            let serving = server
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            let limit = std::time::Duration::from_secs(10);
            let _ = tokio::time::timeout(limit, serving).await;
        });
    }
}

fn answer(method: &Method, path: &str, told: &impl ProbeSource) -> Response<Full<Bytes>> {
    let (status, text) = match (method, path) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, told.metrics()),
        (&Method::GET | &Method::HEAD, "/healthz") => (StatusCode::OK, "ok\n".to_owned()),
        (&Method::GET | &Method::HEAD, "/readyz") => match told.is_ready() {
            true => (StatusCode::OK, "ok\n".to_owned()),
            false => (StatusCode::SERVICE_UNAVAILABLE, "not yet\n".to_owned()),
        },
        (&Method::GET | &Method::HEAD, _) => (StatusCode::NOT_FOUND, "not found\n".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(bool);

    impl ProbeSource for Fixed {
        fn metrics(&self) -> String {
            "opm_up 1\n".to_owned()
        }

        fn is_ready(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn every_path_has_its_answer() {
        for (method, path, ready, status) in [
            (Method::GET, "/metrics", false, 200),
            (Method::GET, "/healthz", false, 200),
            (Method::GET, "/readyz", true, 200),
            (Method::GET, "/readyz", false, 503),
            (Method::GET, "/", true, 404),
            (Method::POST, "/metrics", true, 405),
        ] {
            let answered = answer(&method, path, &Fixed(ready));
            assert_eq!(answered.status().as_u16(), status, "{method} {path}");
        }
    }
}
