//! Between a client and the server: every request takes its time, and some get lost.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response};
use http_body_util::{BodyStream, StreamBody};
use hyper::body::Frame;
use tokio::sync::oneshot;
use tower::Service;

use crate::ledger::{Actor, is_release_secret};
use crate::machine::Machine;
use crate::meddler;
use crate::modules::names_an_object;
use crate::plan::{AimedFault, Fault, FaultTarget};
use crate::server::{Body, BoxError, Sent, Server, status};

/// The connection of one client.
#[derive(Clone)]
pub(crate) struct Network {
    server: Server,
    machine: Arc<Machine>,
    state: Arc<Mutex<ConnectionState>>,
}

struct ConnectionState {
    actor: Actor,
    /// How many requests of each kind the current step has sent.
    sent: BTreeMap<FaultTarget, usize>,
    faults: Vec<AimedFault>,
}

/// What a request can be hit as.
fn aims(sent: &Sent, record_written: bool) -> Vec<FaultTarget> {
    let record = sent.record_secret().is_some();
    let mut aims = vec![FaultTarget::Any];
    if record && sent.writes() {
        aims.push(FaultTarget::Record);
    }
    if sent.method == Method::DELETE && is_release_secret(&sent.path) {
        aims.push(FaultTarget::Removal);
    }
    if !record && sent.writes() {
        aims.push(FaultTarget::Object);
    }
    if sent.is_watch() {
        aims.push(FaultTarget::Watch);
    }
    if record_written && names_an_object(&sent.path) {
        aims.push(FaultTarget::Held);
    }
    aims
}

impl Network {
    pub(crate) fn new(server: Server, machine: Arc<Machine>, client: usize) -> Self {
        let state = ConnectionState {
            actor: Actor::Client { client, step: 0 },
            sent: BTreeMap::new(),
            faults: Vec::new(),
        };
        Self {
            server,
            machine,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// From now on requests belong to this step, with these faults.
    pub(crate) fn begin_step(&self, actor: Actor, faults: Vec<AimedFault>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = ConnectionState {
            actor,
            sent: BTreeMap::new(),
            faults,
        };
    }

    /// Whose request this is, its number, and what befalls it.
    fn next(&self, sent: &Sent) -> (Actor, usize, Option<Fault>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let aims = aims(sent, state.sent.contains_key(&FaultTarget::Record));
        let mut numbers = Vec::new();
        for aim in aims {
            let number = state.sent.entry(aim).or_default();
            numbers.push((aim, *number));
            *number += 1;
        }
        let hit = |fault: &AimedFault| numbers.contains(&(fault.aim, fault.at));
        let at = state.faults.iter().position(hit);
        let fault = at.map(|at| state.faults.remove(at).fault);
        let number = numbers.first().map_or(0, |(_, number)| *number);
        (state.actor, number, fault)
    }

    /// What becomes of a request, in a task that outlives the client.
    async fn carry(self, request: Request<Bytes>) -> Result<Response<Body>, BoxError> {
        let (parts, body) = request.into_parts();
        let sent = Sent {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            body,
        };
        let (actor, number, fault) = self.next(&sent);
        if fault == Some(Fault::DieBefore) {
            self.machine.die();
            return Err("the client died".into());
        }
        if let Some(Fault::Pause(seconds)) = fault {
            self.machine.pause(Duration::from_secs(seconds));
        }
        let at = self.server.time.millis();
        self.server.ledger().send(actor, at, number, &sent, fault);
        let delays = self.machine.draw(|rng| (rng.u64(1..15), rng.u64(1..15)));
        sleep(delays.0).await;
        let broken: BoxError = "connection reset by peer".into();
        match fault {
            Some(Fault::LostRequest) => return Err(broken),
            Some(Fault::Hangs) => std::future::pending::<()>().await,
            Some(Fault::Slow(delay)) => sleep(delay).await,
            Some(Fault::LandsLate(delay)) => {
                let server = self.server.clone();
                tokio::spawn(async move {
                    sleep(delay).await;
                    let _ = server.land(actor, sent).await;
                });
                return Err(broken);
            }
            Some(Fault::DieLate(delay)) => {
                let server = self.server.clone();
                tokio::spawn(async move {
                    sleep(delay).await;
                    let _ = server.land(actor, sent).await;
                });
                self.machine.die();
                return Err("the client died".into());
            }
            Some(Fault::Replaced) => meddler::replace(&self.server, &sent.path).await,
            Some(Fault::Twice(delay)) => {
                let (server, again) = (self.server.clone(), sent.clone());
                tokio::spawn(async move {
                    sleep(delay).await;
                    let _ = server.land(actor, again).await;
                });
            }
            Some(Fault::Status(code)) => {
                let (reason, message) = match code {
                    409 => ("Conflict", "the object has been modified"),
                    403 => ("Forbidden", "you may not do this"),
                    410 => ("Expired", "too old resource version"),
                    422 => ("Invalid", "this is not taken"),
                    429 => ("TooManyRequests", "please wait"),
                    503 => ("ServiceUnavailable", "the server is not ready"),
                    504 => ("Timeout", "the request timed out"),
                    _ => ("InternalError", "Internal error occurred"),
                };
                return Ok(status(code, reason, message));
            }
            _ => {}
        }
        let answer = self.server.land(actor, sent).await;
        sleep(delays.1).await;
        match fault {
            Some(Fault::LateAnswer(delay)) => {
                sleep(delay).await;
                answer
            }
            Some(Fault::LostAnswer | Fault::Twice(_)) => Err(broken),
            Some(Fault::HangsAfter) => std::future::pending().await,
            Some(Fault::TimedOut) => Ok(status(504, "Timeout", "request did not complete")),
            Some(Fault::CutShort) => answer.map(|answer| ends(answer, 0, None)),
            Some(Fault::WatchBreaks(after)) => answer.map(|answer| ends(answer, after, None)),
            Some(Fault::WatchExpires(after)) => {
                let expired = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\
                               \"status\":\"Failure\",\"reason\":\"Expired\",\
                               \"message\":\"too old resource version\"}}\n";
                answer.map(|answer| ends(answer, after, Some(expired)))
            }
            Some(Fault::DieAfter) => {
                self.machine.die();
                Err("the client died".into())
            }
            _ => answer,
        }
    }
}

/// The answer's head arrives, and what follows of its body for so long. Then it breaks off, or
/// ends with these last words.
fn ends(response: Response<Body>, after: u64, last: Option<&'static str>) -> Response<Body> {
    response.map(|body| {
        let end = tokio::time::sleep(Duration::from_millis(after));
        let frames = BodyStream::new(body).take_until(end);
        let last = futures::stream::once(async move {
            let broken = || BoxError::from("connection reset by peer");
            last.map(|last| Frame::data(Bytes::from(last)))
                .ok_or_else(broken)
        });
        match after {
            0 => Body::new(StreamBody::new(last)),
            _ => Body::new(StreamBody::new(frames.chain(last))),
        }
    })
}

async fn sleep(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

impl<B> Service<Request<B>> for Network
where
    B: http_body_util::BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let network = self.clone();
        let (answer, answered) = oneshot::channel();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            let request = Request::from_parts(parts, body);
            // What was sent is on its way, whatever becomes of the client.
            tokio::spawn(async move {
                let _ = answer.send(network.carry(request).await);
            });
            answered
                .await
                .map_err(|_| BoxError::from("the connection is gone"))?
        })
    }
}
