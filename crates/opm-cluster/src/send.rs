//! Sending a request, again where `retry` says so, and never without a permit.

use std::error::Error as StdError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, DATE, RETRY_AFTER};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use opm_engine::ports::{ApiError, ApiErrorKind, Permit, Stopped, Timestamp};

use tracing::Instrument as _;

use crate::client::ClusterClient;
use crate::errors::{RequestedResource, StatusBody, classify};
use crate::json;
use crate::request::Call;
use crate::retry::{AttemptFailure, RetryPolicy, RetryProgress};

/// More than any answer that makes sense to hold in memory.
const LARGEST_ANSWER: usize = 256 << 20;

/// How often a wait between attempts looks at the permit.
const PERMIT_INTERVAL: Duration = Duration::from_millis(100);

/// An answer with a status below 400.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The server's clock when it answered.
    pub(crate) date: Timestamp,
    pub(crate) body: Bytes,
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
    retry: RetryPolicy,
    attempt_timeout: Duration,
    largest: usize,
}

impl<'a> SendOptions<'a> {
    /// A read: nothing stops it.
    pub(crate) fn reading(client: &ClusterClient) -> Self {
        Self {
            permit: None,
            retry: client.settings.retry,
            attempt_timeout: client.settings.attempt_timeout,
            largest: LARGEST_ANSWER,
        }
    }

    /// A write: every attempt asks its permit first.
    pub(crate) fn writing(client: &ClusterClient, permit: Permit<'a>) -> Self {
        Self {
            permit: Some(permit),
            ..SendOptions::reading(client)
        }
    }

    /// A request that is of no use later than this, all attempts together.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        // The last attempt begins in the first half and ends in the second.
        self.retry.budget = self.retry.budget.min(limit / 2);
        self.attempt_timeout = self.attempt_timeout.min(limit / 2);
        self
    }

    /// As patient, but reading: for a look at what became of a write.
    pub(crate) fn to_read(self) -> SendOptions<'static> {
        SendOptions {
            permit: None,
            retry: self.retry,
            attempt_timeout: self.attempt_timeout,
            largest: self.largest,
        }
    }

    /// An answer that is given up beyond this size.
    pub(crate) fn at_most(mut self, bytes: usize) -> Self {
        self.largest = bytes;
        self
    }
}

/// One failed attempt.
struct FailedAttempt {
    failure: AttemptFailure,
    error: ApiError,
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
        let mut attempts = 0;
        // "Stopped" means that nothing was sent. When something was, its cause is the answer.
        let mut doubtful: Option<ApiError> = None;
        loop {
            if let Err(stopped) = self.pass(options.permit) {
                let result = Err(doubtful.unwrap_or_else(|| ApiError::stopped(stopped)));
                return Exchange {
                    result,
                    in_doubt,
                    may_still_land,
                };
            }
            attempts += 1;
            let failed = match self.attempt(call, options).await {
                Ok(answer) => {
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
            let Some(wait) = options.retry.next(failed.failure, progress, self.clock.random()) else {
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
            self.wait(wait, options.permit).await;
        }
    }

    /// The same for reads, where doubt does not matter.
    pub(crate) async fn read(&self, call: &Call) -> Result<Answer, ApiError> {
        self.exchange(call, SendOptions::reading(self)).await.result
    }

    fn pass(&self, permit: Option<Permit<'_>>) -> Result<(), Stopped> {
        permit.map_or(Ok(()), |permit| permit.check(self.clock.now()))
    }

    async fn wait(&self, wait: Duration, permit: Option<Permit<'_>>) {
        let until = tokio::time::Instant::now() + wait;
        while self.pass(permit).is_ok() {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(PERMIT_INTERVAL)).await;
        }
    }

    async fn attempt(
        &self,
        call: &Call,
        options: SendOptions<'_>,
    ) -> Result<Answer, FailedAttempt> {
        let request = self.http_request(call)?;
        let talk = async {
            let response = self.kube.send(request).await.map_err(|e| no_answer(&e))?;
            let (head, body) = response.into_parts();
            self.contacted().store(true, Ordering::Relaxed);
            let date = header(&head.headers, &DATE).and_then(json::header_time);
            let date = self.note_server_time(date);
            self.warnings().note(&head.headers, &self.known());
            let body = Limited::new(body, options.largest)
                .collect()
                .await
                .map_err(|error| broken_body(error.as_ref()))?;
            Ok((head, date, body.to_bytes()))
        };
        let (head, date, body) = tokio::time::timeout(options.attempt_timeout, talk)
            .await
            .map_err(|_| timed_out(options.attempt_timeout))??;
        let status = head.status.as_u16();
        if status < 400 {
            return Ok(Answer { status, date, body });
        }
        Err(self.refused(call, status, &head.headers, &body))
    }

    fn refused(&self, call: &Call, status: u16, headers: &HeaderMap, body: &[u8]) -> FailedAttempt {
        let asked = RequestedResource {
            plural: &call.plural,
            secret: call.secret,
        };
        let error = classify(status, body, asked, &self.known());
        let told = header(headers, &RETRY_AFTER).and_then(|text| text.parse().ok());
        let in_body = StatusBody::read(body)
            .map(|answer| answer.details.retry_after_seconds)
            .filter(|seconds| *seconds > 0);
        let failure = AttemptFailure::Status {
            status,
            reason: !error.reason.is_empty(),
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

    fn http_request(&self, call: &Call) -> Result<Request<Body>, FailedAttempt> {
        self.to_http(call).map_err(|error| FailedAttempt {
            failure: AttemptFailure::Permanent,
            error: ApiError::local(ApiErrorKind::Rejected, format!("no such request: {error}")),
        })
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
        error: unreachable_error(error),
    }
}

fn broken_body(error: &(dyn StdError + Send + Sync + 'static)) -> FailedAttempt {
    if error.is::<LengthLimitError>() {
        let message = "the server's answer is too large to be read".to_owned();
        return FailedAttempt {
            failure: AttemptFailure::Permanent,
            error: ApiError::local(ApiErrorKind::TooLarge, message),
        };
    }
    FailedAttempt {
        failure: AttemptFailure::NoAnswer,
        error: ApiError::local(ApiErrorKind::Unreachable, chain(error)),
    }
}

fn timed_out(after: Duration) -> FailedAttempt {
    let message = format!("no answer within {} s", after.as_secs_f32());
    FailedAttempt {
        failure: AttemptFailure::NoAnswer,
        error: ApiError::local(ApiErrorKind::Unreachable, message),
    }
}

/// What kept a request from being answered.
pub(crate) fn unreachable_error(error: &kube::Error) -> ApiError {
    ApiError::local(ApiErrorKind::Unreachable, network_message(error))
}

/// Says what happened to the network, without the wrapping that says it happened in a client.
/// A credential plugin's arguments and output are left out, for they may hold the credential.
pub(crate) fn network_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Auth(kube::client::AuthError::AuthExecRun { out, .. }) => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let stderr = stderr.trim();
            format!(
                "the kubeconfig's credential plugin failed with {}: {stderr}",
                out.status
            )
        }
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
    parts.join(": ")
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
