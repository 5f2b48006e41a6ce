//! An answer as plain values, and how it is put on the wire.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, DATE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc;

use super::body::ResponseBody;
use crate::status::{ApiError, ErrorBody};

/// What to answer.
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) payload: Payload,
    pub(crate) warnings: Vec<String>,
}

pub(crate) enum Payload {
    Json(Value),
    /// JSON of a media type of its own, as aggregated discovery has.
    JsonAs(Value, &'static str),
    Text(String),
    Stream(mpsc::Receiver<Bytes>),
}

impl Reply {
    pub(crate) fn json(code: u16, value: Value) -> Reply {
        Reply {
            code,
            payload: Payload::Json(value),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn ok(value: Value) -> Reply {
        Reply::json(200, value)
    }

    pub(crate) fn text(text: &str) -> Reply {
        Reply {
            code: 200,
            payload: Payload::Text(text.to_string()),
            warnings: Vec::new(),
        }
    }
}

impl From<ApiError> for Reply {
    fn from(error: ApiError) -> Self {
        let payload = match error.body {
            ErrorBody::Status(value) => Payload::Json(value),
            ErrorBody::Text(text) => Payload::Text(text),
        };
        Reply {
            code: error.code,
            payload,
            warnings: Vec::new(),
        }
    }
}

/// The HTTP response, with the server's clock in its Date header.
pub(crate) fn respond(
    result: Result<Reply, ApiError>,
    now: jiff::Timestamp,
) -> Response<ResponseBody> {
    let retry_after = result.as_ref().err().and_then(|e| e.retry_after);
    let reply = result.unwrap_or_else(Reply::from);
    let (body, kind) = match reply.payload {
        Payload::Json(value) => {
            let mut text = json(&value);
            text.push('\n');
            (ResponseBody::whole(text), "application/json")
        }
        Payload::JsonAs(value, kind) => (ResponseBody::whole(json(&value)), kind),
        Payload::Text(text) => (ResponseBody::whole(text), "text/plain; charset=utf-8"),
        Payload::Stream(receiver) => (ResponseBody::stream(receiver), "application/json"),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.code).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(value) = HeaderValue::from_str(&date) {
        headers.insert(DATE, value);
    }
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    for text in shown(reply.warnings) {
        let text = format!("299 - {}", crate::apply::value::quoted(&text));
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.append("Warning", value);
        }
    }
    response
}

/// A value as text: without going through a formatter, which takes several times as long.
fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// As the real server: all warnings together have so many characters. Then they are cut short, and
/// in the end left out.
const WARNINGS: usize = 4 * 1024;
const CUT_SHORT: usize = 256;

fn shown(warnings: Vec<String>) -> Vec<String> {
    let total: usize = warnings.iter().map(|w| w.chars().count()).sum();
    if total <= WARNINGS {
        return warnings;
    }
    let mut room = WARNINGS;
    let short = warnings.into_iter().map_while(|warning| {
        let short: String = warning.chars().take(CUT_SHORT).collect();
        room = room.checked_sub(short.chars().count().max(1))?;
        Some(short)
    });
    short.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_warnings_become_few() {
        let mut reply = Reply::ok(Value::Null);
        reply.warnings = (0..200_000).map(|n| format!("unknown field {n}")).collect();
        let response = respond(Ok(reply), jiff::Timestamp::UNIX_EPOCH);
        let sent = response.headers().get_all("Warning").iter();
        let sent: Vec<_> = sent.map(|w| w.to_str().unwrap_or_default()).collect();
        assert_eq!(sent[0], "299 - \"unknown field 0\"");
        assert!(sent.iter().map(|w| w.len()).sum::<usize>() < 2 * WARNINGS);
    }
}
