//! Sending a request, again where `retry` says so, and never without a permit.

use std::error::Error as StdError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, RETRY_AFTER};
use http::response::Parts;
use http::{HeaderMap, Request, Response};
use kube::client::Body;
use opm_engine::ports::{ApiError, ApiErrorKind, Permit, Stopped, Timestamp};

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::bounds::{
    BodyError, LARGEST_ANSWER, SILENCE, TimeBounds, later, read_error, read_whole, too_large,
};
use crate::client::{ClusterClient, SentRequest};
use crate::errors::words::dated;
use crate::errors::{StatusBody, classify};
use crate::json;
use crate::request::Call;
use crate::request_slot::RequestSlot;
use crate::retry::{AttemptFailure, RetryPolicy, RetryProgress};

/// How often a wait between attempts looks at the permit.
const PERMIT_INTERVAL: Duration = Duration::from_millis(100);

/// An answer that says that it was done: 200, 201 or 202.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The server's clock when it answered.
    pub(crate) date: Timestamp,
    pub(crate) body: Bytes,
    /// Its turn among the large ones: it is to be parsed and dropped before another is read.
    pub(crate) _turn: Option<OwnedSemaphorePermit>,
}

/// What all attempts of a request came to.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) result: Result<Answer, ApiError>,
    /// Whether an earlier attempt may have been carried out although it was not answered: what
    /// the last answer says may then be our own doing.
    pub(crate) in_doubt: bool,
    /// Whether an attempt may still be carried out, whatever the last answer says.
    pub(crate) may_still_land: bool,
}

/// How a request is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendOptions<'a> {
    permit: Option<Permit<'a>>,
    /// Whether the run's cancellation ends it at once.
    cancellable: bool,
    retry: RetryPolicy,
    attempt_timeout: Duration,
}

impl<'a> SendOptions<'a> {
    /// A read: it ends when the run is cancelled.
    pub(crate) fn reading(client: &ClusterClient) -> Self {
        Self {
            permit: None,
            cancellable: true,
            retry: client.settings.retry,
            attempt_timeout: client.settings.attempt_timeout,
        }
    }

    /// A read that a cancelled run still makes, to know what became of what it did.
    pub(crate) fn looking_up(client: &ClusterClient) -> Self {
        Self {
            cancellable: false,
            ..SendOptions::reading(client)
        }
    }

    /// A write: every attempt asks its permit first.
    pub(crate) fn writing(client: &ClusterClient, permit: Permit<'a>) -> Self {
        Self {
            permit: Some(permit),
            ..SendOptions::looking_up(client)
        }
    }

    /// A request that is of no use later than this, all attempts together.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        // The last attempt begins in the first half and ends in the second.
        let half = limit.mul_f64(0.5);
        self.retry.budget = self.retry.budget.min(half);
        self.attempt_timeout = self.attempt_timeout.min(half);
        self
    }

    /// As patient, but reading: for a look at what became of a write.
    pub(crate) fn to_read(self) -> SendOptions<'static> {
        SendOptions {
            permit: None,
            cancellable: false,
            retry: self.retry,
            attempt_timeout: self.attempt_timeout,
        }
    }
}

/// One failed attempt.
pub(crate) struct FailedAttempt {
    failure: AttemptFailure,
    pub(crate) error: ApiError,
}

impl ClusterClient {
    /// Sends a request until it is answered for good, in a span of its own.
    pub(crate) async fn exchange(&self, call: &Call, options: SendOptions<'_>) -> Exchange {
        let span = tracing::debug_span!("request", method = %call.method, path = call.target);
        self.exchange_until_answered(call, options)
            .instrument(span)
            .await
    }

    /// Sends a request until it is answered for good. The last cause is what is reported.
    async fn exchange_until_answered(&self, call: &Call, options: SendOptions<'_>) -> Exchange {
        let begun = tokio::time::Instant::now();
        let (mut in_doubt, mut may_still_land) = (false, false);
        let mut attempts: u32 = 0;
        // "Stopped" means that nothing was sent. When something was, its cause is the answer.
        let mut doubtful: Option<ApiError> = None;
        loop {
            let paced = options.permit.is_some_and(|permit| permit.paced);
            let turn = match paced {
                true => Some(self.turns().next().await),
                false => None,
            };
            if let Err(stopped) = self.pass(options.permit) {
                let result = Err(doubtful.unwrap_or_else(|| ApiError::stopped(stopped)));
                return Exchange {
                    result,
                    in_doubt,
                    may_still_land,
                };
            }
            attempts = attempts.saturating_add(1);
            let sent = tokio::time::Instant::now();
            let attempted = self.attempt(call, options).await;
            give_back(turn, attempted.as_ref().err(), sent.elapsed());
            let failed = match attempted {
                Ok(answer) => {
                    self.note_answer(sent.elapsed());
                    let result = Ok(answer);
                    return Exchange {
                        result,
                        in_doubt,
                        may_still_land,
                    };
                }
                Err(failed) => failed,
            };
            may_still_land |= failed.failure.may_still_land();
            let progress = RetryProgress {
                attempts,
                elapsed: begun.elapsed(),
                contacted: self.contacted().load(Ordering::Relaxed),
            };
            let Some(wait) = options
                .retry
                .next(failed.failure, progress, self.clock.random())
            else {
                let result = Err(failed.error);
                return Exchange {
                    result,
                    in_doubt,
                    may_still_land,
                };
            };
            if failed.failure.in_doubt() {
                in_doubt = true;
                doubtful = Some(failed.error.clone());
            }
            tracing::debug!(cause = %failed.error, wait_ms = wait.as_millis(), "sending again");
            self.wait(wait, options).await;
        }
    }

    /// The same for reads, where doubt does not matter.
    pub(crate) async fn read(&self, call: &Call) -> Result<Answer, ApiError> {
        self.exchange(call, SendOptions::reading(self)).await.result
    }

    fn pass(&self, permit: Option<Permit<'_>>) -> Result<(), Stopped> {
        permit.map_or(Ok(()), |permit| permit.check(self.clock.now()))
    }

    async fn wait(&self, wait: Duration, options: SendOptions<'_>) {
        let until = later(tokio::time::Instant::now(), wait);
        while self.pass(options.permit).is_ok() && !self.is_cancelled(options) {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(PERMIT_INTERVAL)).await;
        }
    }

    fn is_cancelled(&self, options: SendOptions<'_>) -> bool {
        options.cancellable
            && self
                .cancel
                .as_ref()
                .is_some_and(CancellationToken::is_cancelled)
    }

    /// One attempt, which a cancellation of the run ends if it may.
    async fn attempt(
        &self,
        call: &Call,
        options: SendOptions<'_>,
    ) -> Result<Answer, FailedAttempt> {
        let cancel = self.cancel.as_ref().filter(|_| options.cancellable);
        let Some(cancel) = cancel else {
            return self.talk(call, options).await;
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(FailedAttempt {
                failure: AttemptFailure::Permanent,
                error: ApiError::stopped(Stopped::Cancelled),
            }),
            answer = self.talk(call, options) => answer,
        }
    }

    async fn talk(&self, call: &Call, options: SendOptions<'_>) -> Result<Answer, FailedAttempt> {
        let time = TimeBounds::within(options.attempt_timeout, SILENCE);
        let late = |_| timed_out(options.attempt_timeout);
        let response = timeout_at(time.until, self.send(self.http_request(call)?)).await;
        let response = response.map_err(late)??;
        let (head, body) = response.into_parts();
        self.contacted().store(true, Ordering::Relaxed);
        let date = header(&head.headers, &DATE).and_then(json::header_time);
        let date = self.note_server_time(date);
        self.warnings().note(&head.headers, &self.known());
        let status = head.status.as_u16();
        if !is_done(status) {
            let body = read_error(body, time).await;
            return Err(self.refused(call, &head, &body));
        }
        let body = read_whole(body, LARGEST_ANSWER, time, self.large_turns()).await;
        let body = body.map_err(|error| broken_body(error, options.attempt_timeout))?;
        Ok(Answer {
            status,
            date,
            body: body.bytes,
            _turn: body.turn,
        })
    }

    /// Sends a request of somebody else's making, once. Its answer begins within the time of an
    /// attempt and, unless it is a watch, is whole by then, and no larger than any other.
    pub(crate) async fn send_in_time(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Body>, FailedAttempt> {
        let query = request.uri().query().unwrap_or_default();
        let watches = query.split('&').any(|one| one == "watch=true");
        let patience = self.settings.attempt_timeout;
        let time = TimeBounds::within(patience, SILENCE);
        let response = timeout_at(time.until, self.send(request)).await;
        let response = response.map_err(|_| timed_out(patience))??;
        if watches {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = read_whole(body, LARGEST_ANSWER, time, self.large_turns()).await;
        let body = body.map_err(|error| broken_body(error, patience))?;
        Ok(Response::from_parts(head, body.bytes.into()))
    }

    fn refused(&self, call: &Call, head: &Parts, body: &[u8]) -> FailedAttempt {
        let status = head.status.as_u16();
        let error = classify(status, body, call.asked(), &self.known());
        let told = header(&head.headers, &RETRY_AFTER).and_then(|text| text.parse().ok());
        let in_body = StatusBody::read(body)
            .map(|answer| answer.details.retry_after_seconds)
            .filter(|seconds| *seconds > 0);
        // Whoever sends waits for what is not up yet, and goes on with the rest meanwhile.
        let not_up_yet = error.kind == ApiErrorKind::NotUpYet;
        let failure = AttemptFailure::Status {
            status: if not_up_yet { 500 } else { status },
            reason: not_up_yet || !error.reason.is_empty(),
            retry_after: told.or(in_body).map(Duration::from_secs),
        };
        FailedAttempt { failure, error }
    }
}

impl ClusterClient {
    /// The request as `kube` takes it, as whoever this run acts as.
    pub(crate) fn to_http(&self, call: &Call) -> Result<Request<Body>, http::Error> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(&call.target)
            .header(ACCEPT, call.accept);
        if let Some(content_type) = call.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        for (name, value) in self.identity.headers()? {
            request = request.header(name, value);
        }
        request.body(Body::from(call.body.clone()))
    }

    /// Sends a request once, with the credentials that are good now.
    pub(crate) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, FailedAttempt> {
        if let Some(plugin) = &self.plugin {
            let header = plugin.header().await.map_err(|message| FailedAttempt {
                failure: AttemptFailure::Permanent,
                error: ApiError::local(ApiErrorKind::Unreachable, message),
            })?;
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        let (method, target) = (request.method().to_string(), request.uri().to_string());
        let (begin, _) = self.clock.now();
        let sent = self.kube.send(request).await;
        self.log_request(|| SentRequest {
            method,
            target,
            status: sent.as_ref().ok().map(|answer| answer.status().as_u16()),
            took: self.clock.now().0.0.saturating_sub(begin.0),
        });
        sent.map_err(|error| no_answer(&error))
    }

    fn http_request(&self, call: &Call) -> Result<Request<Body>, FailedAttempt> {
        self.to_http(call).map_err(|error| FailedAttempt {
            failure: AttemptFailure::Permanent,
            error: ApiError::local(ApiErrorKind::Rejected, format!("no such request: {error}")),
        })
    }
}

/// Ends a request's turn, with what its answer says about how many there should be.
fn give_back(turn: Option<RequestSlot<'_>>, failed: Option<&FailedAttempt>, took: Duration) {
    let Some(turn) = turn else { return };
    match failed.map(|failed| failed.failure) {
        None => turn.answered(took),
        Some(AttemptFailure::Status {
            status: 429 | 503, ..
        }) => turn.refused(),
        Some(AttemptFailure::Status { .. }) => turn.answered(took),
        // Says nothing about the server.
        Some(_) => drop(turn),
    }
}

fn no_answer(error: &kube::Error) -> FailedAttempt {
    let failure = match error {
        kube::Error::Auth(_) => AttemptFailure::Permanent,
        _ if is_connect(error) => AttemptFailure::NotConnected,
        _ => AttemptFailure::NoAnswer,
    };
    FailedAttempt {
        failure,
        error: ApiError::local(ApiErrorKind::Unreachable, network_message(error)),
    }
}

/// No API server answers a request of these with anything else when it did what was asked: a
/// redirect, which is not followed, is somebody else's answer.
pub(crate) fn is_done(status: u16) -> bool {
    matches!(status, 200..=202)
}

fn broken_body(error: BodyError, patience: Duration) -> FailedAttempt {
    let cause = match error {
        BodyError::Slow => return timed_out(patience),
        BodyError::TooLarge => {
            return FailedAttempt {
                failure: AttemptFailure::Permanent,
                error: too_large(),
            };
        }
        BodyError::Broken(cause) => cause,
    };
    FailedAttempt {
        failure: AttemptFailure::NoAnswer,
        error: ApiError::local(ApiErrorKind::Unreachable, chain(cause.as_ref())),
    }
}

fn timed_out(after: Duration) -> FailedAttempt {
    let message = format!("no whole answer within {} s", after.as_secs_f32());
    FailedAttempt {
        failure: AttemptFailure::NoAnswer,
        error: ApiError::local(ApiErrorKind::Unreachable, message),
    }
}

/// Says what happened to the network, without the wrapping that says it happened in a client.
pub(crate) fn network_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Auth(error) => format!("no credentials: {error}"),
        kube::Error::Service(error) => chain(error.as_ref()),
        other => chain(other),
    }
}

/// An error and what is behind it, each said once.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = error.source();
    }
    dated(&parts.join(": "))
}

fn is_connect(error: &kube::Error) -> bool {
    let mut next: Option<&(dyn StdError + 'static)> = match error {
        kube::Error::Service(inner) => Some(inner.as_ref()),
        other => Some(other),
    };
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
            return error.is_connect();
        }
        next = error.source();
    }
    false
}

fn header<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
