//! A request as plain values.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, request::Parts};

/// What arrived.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) user_agent: String,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn new(parts: &Parts, body: Bytes) -> Call {
        let header = |name| {
            let value = parts.headers.get(name).and_then(|v| v.to_str().ok());
            value.unwrap_or_default().to_string()
        };
        let content_type = header(CONTENT_TYPE);
        let content_type = content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_string();
        Call {
            method: parts.method.clone(),
            path: parts.uri.path().to_string(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            content_type,
            accept: header(ACCEPT),
            user_agent: header(USER_AGENT),
            body,
        }
    }

    /// The path's segments, decoded; empty ones are dropped.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path
            .split('/')
            .filter(|s| !s.is_empty())
            .map(|s| decode(s, false))
            .collect()
    }

    /// The name under which a write other than an apply is recorded.
    pub(crate) fn manager(&self) -> String {
        if let Some(manager) = self.query.get("fieldManager").filter(|m| !m.is_empty()) {
            return manager.to_string();
        }
        let prefix = self.user_agent.split('/').next().unwrap_or_default();
        prefix
            .chars()
            .filter(|c| !c.is_control())
            .take(128)
            .collect()
    }
}

/// Query parameters; a name may occur several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|p| !p.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key, true), decode(value, true))
        });
        Query(pairs.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(k, _)| k == name)
            .map(|(_, v)| v.as_str())
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(k, _)| k == name)
            .map(|(_, v)| v.as_str())
            .collect()
    }

    /// As the real server reads them: anything but `false` and `0` says yes.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
    }
}

fn decode(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                at += 2;
            }
            (b'+', _, _) if plus => out.push(b' '),
            (byte, _, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
