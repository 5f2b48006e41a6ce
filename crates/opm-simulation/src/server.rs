//! The API server of the simulated world: the sandbox in memory, an outage now and then, and a
//! ledger of everything that was ever done to it, which no client sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::Frame;
use opm_sandbox::Sandbox;
use serde_json::{Value, json};
use tower::Service as _;

use crate::ledger::{Actor, Landing, Ledger};
use crate::machine::WorldTime;
use crate::plan::{Kind, Outage, Weather};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A request, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Sent {
    fn get(path: &str) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            query: String::new(),
            headers: http::HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        let in_options = || String::from_utf8_lossy(&self.body).contains(r#""dryRun":["All"]"#);
        self.query.contains("dryRun=All") || (self.method == Method::DELETE && in_options())
    }

    /// Whether it may change something.
    pub(crate) fn writes(&self) -> bool {
        self.method != Method::GET && !self.is_dry_run() && !self.path.contains("selfsubject")
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=")
    }

    /// The name of the release's Secret or record Secret that it is about.
    pub(crate) fn record_secret(&self) -> Option<&str> {
        let (_, name) = self.path.rsplit_once("/secrets/")?;
        name.starts_with("opm.").then_some(name)
    }
}

/// An answer that is the same in all histories, but for its date.
#[derive(Clone)]
struct Document {
    head: http::response::Parts,
    bytes: Bytes,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Server {
    sandbox: Sandbox,
    pub(crate) time: WorldTime,
    weather: Arc<Mutex<Vec<Weather>>>,
    ledger: Arc<Mutex<Ledger>>,
    /// Whether it serves, or has served, more than every server does.
    extended: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(time: WorldTime, seed: u64, weather: Vec<Weather>) -> Self {
        let clock = Arc::new(move || time.server_wall());
        Self {
            sandbox: Sandbox::simulated(clock, seed).expect("SQLite works in memory"),
            time,
            weather: Arc::new(Mutex::new(weather)),
            ledger: Arc::default(),
            extended: Arc::default(),
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// From now on the server does everything it is asked.
    pub(crate) fn clear_weather(&self) {
        lock(&self.weather).clear();
    }

    fn outages(&self) -> Vec<Outage> {
        let now = self.time.millis();
        let weather = lock(&self.weather);
        let now = weather.iter().filter(|w| (w.from..w.until).contains(&now));
        now.map(|weather| weather.what).collect()
    }

    /// A request arrives. An error means that the connection broke.
    pub(crate) async fn land(&self, actor: Actor, sent: Sent) -> Result<Response<Body>, BoxError> {
        for outage in self.outages() {
            if actor == Actor::Meddler {
                break;
            }
            if let Some(refusal) = refused(outage, &sent) {
                let status = refusal
                    .as_ref()
                    .map_or(0, |answer| answer.status().as_u16());
                self.ledger().refuse(actor, status);
                return refusal;
            }
        }
        if Kind::at(&sent.path) == Some(Kind::Definition) && sent.writes() {
            self.extended.store(true, Ordering::Relaxed);
        }
        if let Some(document) = self.document(&sent).await {
            return document;
        }
        let target = sent.writes().then(|| target(&sent)).flatten();
        // What a record was, the ledger knows.
        let before = match &target {
            Some(path) if sent.record_secret().is_none() => self.get(path).await,
            _ => None,
        };
        let response = self.ask(&sent).await?;
        let status = response.status().as_u16();
        if sent.is_watch() {
            return Ok(self.watched(response));
        }
        let (head, body) = response.into_parts();
        let bytes = body.collect().await?.to_bytes();
        match target {
            Some(path) => {
                let done = (200..300).contains(&status);
                // What a write that succeeds answers is what is there, unless that goes by it.
                let goes = |old: &Value| !old["metadata"]["deletionTimestamp"].is_null();
                let goes = sent.method == Method::DELETE || before.as_ref().is_some_and(goes);
                let after = match (done, goes) {
                    (true, false) => serde_json::from_slice(&bytes).ok(),
                    (true, true) => self.get(&path).await,
                    (false, _) => None,
                };
                let landing = Landing {
                    at: self.time.millis(),
                    actor,
                    method: sent.method.clone(),
                    path,
                    status,
                    before,
                    after,
                    body: serde_json::from_slice(&sent.body).unwrap_or(Value::Null),
                };
                self.ledger().land(&landing);
            }
            None => self.ledger().show(actor, status, &bytes),
        }
        Ok(Response::from_parts(head, full(bytes)))
    }

    /// What the server says about itself: the same in all histories, so it is made once.
    async fn document(&self, sent: &Sent) -> Option<Result<Response<Body>, BoxError>> {
        static DOCUMENTS: Mutex<BTreeMap<String, Document>> = Mutex::new(BTreeMap::new());
        let is_document = ["/api", "/apis", "/openapi/v3"].contains(&sent.path.as_str());
        if !is_document || self.extended.load(Ordering::Relaxed) {
            return None;
        }
        let accept = sent.headers.get(http::header::ACCEPT);
        let key = format!("{} {accept:?}", sent.path);
        let known = lock(&DOCUMENTS).get(&key).cloned();
        let document = match known {
            Some(document) => document,
            None => {
                let response = match self.ask(sent).await {
                    Ok(response) => response,
                    Err(error) => return Some(Err(error)),
                };
                let (head, body) = response.into_parts();
                let bytes = body.collect().await.ok()?.to_bytes();
                let document = Document { head, bytes };
                lock(&DOCUMENTS).insert(key, document.clone());
                document
            }
        };
        let mut response = Response::from_parts(document.head, full(document.bytes));
        let now = self.ask(&Sent::get("/version")).await.ok()?;
        let date = now.headers().get(http::header::DATE)?;
        response
            .headers_mut()
            .insert(http::header::DATE, date.clone());
        Some(Ok(response))
    }

    /// A watch lasts until the server goes down.
    fn watched(&self, response: Response<Body>) -> Response<Body> {
        let now = self.time.millis();
        let weather = lock(&self.weather);
        let downs = weather.iter().filter(|w| w.what == Outage::Down);
        let Some(down) = downs.map(|w| w.from).filter(|from| *from > now).min() else {
            return response;
        };
        let ends = tokio::time::sleep(Duration::from_millis(down - now));
        response.map(|body| {
            let frames = BodyStream::new(body).take_until(ends);
            let broken = futures::stream::once(async {
                Err::<Frame<Bytes>, BoxError>("connection reset by peer".into())
            });
            Body::new(StreamBody::new(frames.chain(broken)))
        })
    }

    /// The object at this place, for the world's own eyes.
    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        let response = self.ask(&Sent::get(path)).await.ok()?;
        if response.status() != StatusCode::OK {
            return None;
        }
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        serde_json::from_slice(&bytes).ok()
    }

    async fn ask(&self, sent: &Sent) -> Result<Response<Body>, BoxError> {
        let mut uri = sent.path.clone();
        if !sent.query.is_empty() {
            uri = format!("{uri}?{}", sent.query);
        }
        let mut request = Request::builder().method(sent.method.clone()).uri(uri);
        if let Some(headers) = request.headers_mut() {
            headers.extend(sent.headers.clone());
        }
        let request = request.body(Full::new(sent.body.clone()))?;
        let response = self.sandbox.clone().call(request).await?;
        Ok(response.map(|body| UnsyncBoxBody::new(body.map_err(Into::into))))
    }

    /// Something that somebody else does, at once and without any trouble.
    pub(crate) async fn meddle(
        &self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: &Value,
    ) -> u16 {
        let query = "fieldManager=kubectl-edit";
        self.ask_as(method, path, query, content_type, body).await
    }

    /// The same, by this field manager.
    pub(crate) async fn others(
        &self,
        manager: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> u16 {
        let query = format!("fieldManager={manager}");
        self.ask_as(method, path, &query, "application/json", body)
            .await
    }

    /// What the controller of aggregated ClusterRoles applies.
    pub(crate) async fn rebuild(&self, path: &str, body: &Value) -> u16 {
        let query = "fieldManager=clusterrole-aggregation-controller&force=true";
        let content_type = "application/apply-patch+yaml";
        self.ask_as(Method::PATCH, path, query, content_type, body)
            .await
    }

    async fn ask_as(
        &self,
        method: Method,
        path: &str,
        query: &str,
        content_type: &'static str,
        body: &Value,
    ) -> u16 {
        let mut headers = http::HeaderMap::new();
        headers.insert(
            http::header::CONTENT_TYPE,
            http::HeaderValue::from_static(content_type),
        );
        headers.insert(
            http::header::USER_AGENT,
            http::HeaderValue::from_static("kubectl"),
        );
        let sent = Sent {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: Bytes::from(body.to_string()),
        };
        match self.land(Actor::Meddler, sent).await {
            Ok(response) => response.status().as_u16(),
            Err(_) => 0,
        }
    }
}

/// The object that a write is about.
fn target(sent: &Sent) -> Option<String> {
    match sent.method {
        Method::POST => {
            let body: Value = serde_json::from_slice(&sent.body).ok()?;
            let name = body["metadata"]["name"].as_str()?;
            Some(format!("{}/{name}", sent.path))
        }
        _ => Some(sent.path.clone()),
    }
}

fn refused(outage: Outage, sent: &Sent) -> Option<Result<Response<Body>, BoxError>> {
    let record = sent.record_secret().is_some();
    // The records are Secrets as well, and are the business of other outages.
    let about = |kind: Kind| Kind::at(&sent.path) == Some(kind) && !record;
    let reads = sent.method == Method::GET;
    match outage {
        Outage::Down => Some(Err("connection refused".into())),
        Outage::NoWrites(kind) if !reads && about(kind) => {
            Some(Ok(status(403, "Forbidden", "you may not write this kind")))
        }
        Outage::NoReads(kind) if reads && about(kind) => {
            let record_list = sent.query.contains("opmodel.dev");
            (!record_list).then(|| Ok(status(403, "Forbidden", "you may not read this kind")))
        }
        Outage::NoRecordWrites if !reads && record => Some(Ok(status(
            403,
            "Forbidden",
            "you may not write this record",
        ))),
        Outage::NoRecordReads if reads && (record || about(Kind::Secret)) => {
            Some(Ok(status(403, "Forbidden", "you may not read this record")))
        }
        Outage::Webhook(kind) if !reads && about(kind) => Some(Ok(status(
            500,
            "InternalError",
            "Internal error occurred: failed calling webhook \"check.example.com\": failed to \
             call webhook: Post \"https://check.default.svc:443/\": dial tcp: connect: \
             connection refused",
        ))),
        _ => None,
    }
}

/// An answer of the server's own making.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> Response<Body> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    let mut response = Response::new(full(Bytes::from(body.to_string())));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    if code == 429 {
        headers.insert(
            http::header::RETRY_AFTER,
            http::HeaderValue::from_static("1"),
        );
    }
    response
}

pub(crate) fn full(bytes: Bytes) -> Body {
    UnsyncBoxBody::new(Full::new(bytes).map_err(|never| match never {}))
}

/// All uids in an answer, without reading the rest of it.
pub(crate) fn uids(bytes: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = BTreeSet::new();
    for part in text.split("\"uid\":\"").skip(1) {
        if let Some((uid, _)) = part.split_once('"') {
            found.insert(uid.to_owned());
        }
    }
    found
}
