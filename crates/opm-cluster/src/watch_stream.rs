//! One watch request: its stream of lines, read until it ends.

use std::time::Duration;

use bytes::BytesMut;
use http::HeaderValue;
use http::header::ACCEPT_ENCODING;
use kube::client::Body;
use opm_engine::ports::{ApiError, ApiErrorKind};
use serde::Deserialize;

use crate::bounds::{
    BodyError, LARGEST_LINE, SILENCE, TimeBounds, fits, next_piece, read_error, too_large,
};
use crate::client::ClusterClient;
use crate::errors::{StatusBody, classify};
use crate::json::{self, Object};
use crate::request::Call;
use crate::send::{chain, is_done};

/// How long the server keeps one watch open.
pub(crate) const LASTS: Duration = Duration::from_secs(120);

/// How much longer than that a stream is read: one that goes on for ever is asked for anew.
const LONGER: Duration = Duration::from_secs(30);

/// A stream that is silent for this long is taken for dead and asked for anew, which costs one
/// request: bookmarks come about once a minute.
const WATCH_SILENCE: Duration = Duration::from_secs(75);

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
    call: Call,
    body: Body,
    time: TimeBounds,
    lines: Lines,
}

/// What has come of a stream and is not a whole line yet.
#[derive(Debug, Default)]
struct Lines {
    buffer: BytesMut,
    /// How much of it is known to have no end of a line.
    searched: usize,
}

impl Lines {
    fn add(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next whole line; an error if it is longer than any object.
    fn next(&mut self) -> Result<Option<BytesMut>, ApiError> {
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n');
        let Some(end) = end else {
            self.searched = self.buffer.len();
            return match self.searched {
                0..=LARGEST_LINE => Ok(None),
                _ => Err(too_large()),
            };
        };
        let length = self.searched.saturating_add(end).saturating_add(1);
        self.searched = 0;
        Ok(Some(self.buffer.split_to(length)))
    }
}

impl Stream<'_> {
    /// The next change, or how the watch ended.
    pub(crate) async fn next(&mut self) -> Result<Change, StreamEnd> {
        loop {
            while let Some(line) = self.lines.next().map_err(StreamEnd::Failed)? {
                if let Some(change) = self.client.read_line(&self.call, &line)? {
                    return Ok(change);
                }
            }
            match next_piece(&mut self.body, &self.time).await {
                Ok(Some(piece)) => self.lines.add(&piece),
                Err(BodyError::Broken(error)) => {
                    let cause = chain(error.as_ref());
                    tracing::debug!(target: "opm_cluster", cause, "a watch broke off");
                    return Err(StreamEnd::Disconnected);
                }
                Ok(None) | Err(_) => return Err(StreamEnd::Disconnected),
            }
        }
    }
}

impl ClusterClient {
    /// Sends a watch.
    pub(crate) async fn open(&self, call: Call) -> Result<Stream<'_>, StreamEnd> {
        let body = self.open_body(&call).await?;
        Ok(Stream {
            client: self,
            call,
            body,
            time: TimeBounds::within(LASTS.saturating_add(LONGER), WATCH_SILENCE),
            lines: Lines::default(),
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
        let time = TimeBounds::within(self.settings.attempt_timeout, SILENCE);
        let sent = tokio::time::timeout_at(time.until, self.send(request));
        let response = match sent.await {
            Ok(Ok(response)) => response,
            Ok(Err(failed)) => return Err(StreamEnd::Failed(failed.error)),
            Err(_) => {
                let message = "no answer to a watch".to_owned();
                return Err(StreamEnd::Failed(ApiError::local(
                    ApiErrorKind::Unreachable,
                    message,
                )));
            }
        };
        let status = response.status().as_u16();
        if is_done(status) {
            return Ok(response.into_body());
        }
        let body = read_error(response.into_body(), time).await;
        Err(self.ended(call, status, &body))
    }

    fn ended(&self, call: &Call, status: u16, body: &[u8]) -> StreamEnd {
        if status == 410 {
            return StreamEnd::Expired;
        }
        StreamEnd::Failed(classify(status, body, call.asked(), &self.known()))
    }

    fn read_line(&self, call: &Call, line: &[u8]) -> Result<Option<Change>, StreamEnd> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        fits(line).map_err(StreamEnd::Failed)?;
        let Ok(line) = serde_json::from_slice::<Line>(line) else {
            // It may have been cut off; what never has a good line is given up in the end.
            let message = "a line of the server's watch cannot be read".to_owned();
            return Err(StreamEnd::Failed(ApiError::local(
                ApiErrorKind::Unreachable,
                message,
            )));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_and_have_a_length() {
        let mut lines = Lines::default();
        lines.add(b"one\ntw");
        assert_eq!(lines.next().unwrap().unwrap(), "one\n");
        assert_eq!(lines.next().unwrap(), None);
        lines.add(b"o\n\n");
        assert_eq!(lines.next().unwrap().unwrap(), "two\n");
        assert_eq!(lines.next().unwrap().unwrap(), "\n");
        assert_eq!(lines.next().unwrap(), None);
        let piece = vec![b'x'; LARGEST_LINE];
        lines.add(&piece);
        assert_eq!(lines.next().unwrap(), None);
        lines.add(b"x");
        let error = lines.next().unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::TooLarge);
    }
}
