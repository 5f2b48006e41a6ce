//! One watch request: its stream of lines, read until it ends.

use std::time::Duration;

use http::HeaderValue;
use http::header::ACCEPT_ENCODING;
use http_body_util::BodyExt as _;
use kube::client::Body;
use opm_engine::ports::{ApiError, ApiErrorKind};
use serde::Deserialize;

use crate::client::ClusterClient;
use crate::errors::{RequestedResource, StatusBody, classify};
use crate::json::{self, Object};
use crate::request::Call;
use crate::send::{chain, unreachable_error};

/// How long the server keeps one watch open.
pub(crate) const LASTS: Duration = Duration::from_secs(120);

/// A stream that is silent for this long is taken for dead and asked for anew, which costs one
/// request: bookmarks come about once a minute.
const SILENCE: Duration = Duration::from_secs(75);

/// Something that a watch reports.
#[derive(Debug)]
pub(crate) enum Change {
    /// The object is like this now.
    Is(Object),
    /// The object is gone; this is how it last was.
    Gone(Object),
    /// Nothing has changed up to this version.
    Bookmark(Object),
}

impl Change {
    /// Where to go on from.
    pub(crate) fn version(&self) -> Option<&str> {
        let (Self::Is(object) | Self::Gone(object) | Self::Bookmark(object)) = self;
        json::metadata(object, "resourceVersion")
    }
}

/// How a watch ended.
#[derive(Debug)]
pub(crate) enum StreamEnd {
    /// The stream is over; go on from where it was.
    Disconnected,
    /// The version is too old; list anew.
    Expired,
    /// It could not be watched.
    Failed(ApiError),
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    object: Object,
}

/// One open watch.
pub(crate) struct Stream<'a> {
    client: &'a ClusterClient,
    call: &'a Call,
    body: Body,
    buffer: Vec<u8>,
}

impl Stream<'_> {
    /// The next change, or how the watch ended.
    pub(crate) async fn next(&mut self) -> Result<Change, StreamEnd> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if let Some(change) = self.client.read_line(self.call, &line)? {
                    return Ok(change);
                }
            }
            let frame = match tokio::time::timeout(SILENCE, self.body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    let cause = chain(&error);
                    tracing::debug!(target: "opm_cluster", cause, "a watch broke off");
                    return Err(StreamEnd::Disconnected);
                }
                Ok(None) | Err(_) => return Err(StreamEnd::Disconnected),
            };
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }
}

impl ClusterClient {
    /// Sends a watch.
    pub(crate) async fn open<'a>(&'a self, call: &'a Call) -> Result<Stream<'a>, StreamEnd> {
        let body = self.open_body(call).await?;
        Ok(Stream {
            client: self,
            call,
            body,
            buffer: Vec::new(),
        })
    }

    async fn open_body(&self, call: &Call) -> Result<Body, StreamEnd> {
        let mut request = self.to_http(call).map_err(|error| {
            StreamEnd::Failed(ApiError::local(ApiErrorKind::Rejected, error.to_string()))
        })?;
        // A compressed stream holds lines back.
        request
            .headers_mut()
            .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let sent = tokio::time::timeout(self.settings.attempt_timeout, self.kube.send(request));
        let response = match sent.await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(StreamEnd::Failed(unreachable_error(&error))),
            Err(_) => {
                let message = "no answer to a watch".to_owned();
                return Err(StreamEnd::Failed(ApiError::local(
                    ApiErrorKind::Unreachable,
                    message,
                )));
            }
        };
        let status = response.status().as_u16();
        if status < 400 {
            return Ok(response.into_body());
        }
        let body = response.into_body().collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        Err(self.ended(call, status, &body))
    }

    fn ended(&self, call: &Call, status: u16, body: &[u8]) -> StreamEnd {
        if status == 410 {
            return StreamEnd::Expired;
        }
        let asked = RequestedResource {
            plural: &call.plural,
            secret: call.secret,
        };
        StreamEnd::Failed(classify(status, body, asked, &self.known()))
    }

    fn read_line(&self, call: &Call, line: &[u8]) -> Result<Option<Change>, StreamEnd> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let Ok(line) = serde_json::from_slice::<Line>(line) else {
            return Err(StreamEnd::Disconnected);
        };
        match line.kind.as_str() {
            "ADDED" | "MODIFIED" => Ok(Some(Change::Is(line.object))),
            "DELETED" => Ok(Some(Change::Gone(line.object))),
            "BOOKMARK" => Ok(Some(Change::Bookmark(line.object))),
            "ERROR" => {
                let body = serde_json::Value::Object(line.object).to_string();
                let code = StatusBody::read(body.as_bytes()).map_or(500, |status| status.code);
                Err(self.ended(call, code, body.as_bytes()))
            }
            _ => Ok(None),
        }
    }
}
