//! What goes over a connection in place of an answer, and what it is made from.

use std::time::Duration;

use serde_json::Value;

/// A request that came in.
#[derive(Debug, Clone)]
pub struct Struck {
    /// GET, PATCH, PUT, POST or DELETE.
    pub method: String,
    /// Without its query.
    pub path: String,
    /// What follows the question mark.
    pub query: String,
    /// How many requests came before it.
    pub number: usize,
}

impl Struck {
    /// Is it a watch?
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.query.contains("watch=true")
    }

    /// Is it about what the server serves?
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        let parts = self.path.trim_matches('/').split('/').count();
        match self.path.starts_with("/apis") {
            true => parts <= 3,
            false => parts <= 2,
        }
    }

    /// Is it about one object by its name?
    #[must_use]
    pub fn is_about_one(&self) -> bool {
        let parts: Vec<&str> = self.path.trim_matches('/').split('/').collect();
        let root = if self.path.starts_with("/apis") { 3 } else { 2 };
        let rest = parts.len().saturating_sub(root);
        match parts.get(root) {
            Some(&"namespaces") => rest == 2 || rest == 4,
            _ => rest == 2,
        }
    }

    /// Is it a list?
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.method == "GET" && !self.is_discovery() && !self.is_about_one() && !self.is_watch()
    }

    /// Does it read objects, one or many, at once?
    #[must_use]
    pub fn is_look(&self) -> bool {
        self.method == "GET" && !self.is_discovery() && !self.is_watch()
    }
}

/// What the honest server said. The body of a watch is left out.
#[derive(Debug, Clone)]
pub struct HonestAnswer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl HonestAnswer {
    /// The body, changed.
    #[must_use]
    pub fn edited(mut self, edit: impl FnOnce(&mut Value)) -> Self {
        if let Ok(mut value) = serde_json::from_slice(&self.body) {
            edit(&mut value);
            self.body = value.to_string().into_bytes();
        }
        self
    }

    /// The body, changed in every object that it holds.
    #[must_use]
    pub fn each_object(self, edit: impl Fn(&mut Value)) -> Self {
        self.edited(|value| match value["items"].as_array_mut() {
            Some(items) => items.iter_mut().for_each(edit),
            None => edit(value),
        })
    }

    /// The body with more text behind its first few places of `place`: for much of it, which
    /// takes too long to be parsed and written here.
    #[must_use]
    pub fn spliced(mut self, place: &str, more: &str) -> Self {
        let text = String::from_utf8_lossy(&self.body);
        let spliced = text.replacen(place, &format!("{place}{more}"), 3);
        self.body = spliced.into_bytes();
        self
    }

    /// Said as it is.
    #[must_use]
    pub fn said(self) -> Script {
        answer(self.status, "", self.body)
    }
}

/// One step over a connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Bytes, at once.
    Send(Vec<u8>),
    /// The same bytes again and again, for as long as somebody reads them.
    Endless(Vec<u8>),
    /// Bytes one by one, with a pause before each.
    Slowly(Vec<u8>, Duration),
    /// Nothing, for as long as somebody waits.
    Hold,
    /// The end of the connection.
    Close,
}

/// What goes over the connection for one request.
pub type Script = Vec<Step>;

/// A whole answer; `headers` are lines that each end in `\r\n`.
pub(super) fn answer(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Script {
    let body = body.into();
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}{}Content-Length: {}\r\n\r\n",
        content_type(headers),
        body.len()
    );
    vec![Step::Send(head.into_bytes()), Step::Send(body)]
}

/// The head of an answer whose body ends with the connection.
pub(super) fn head(status: u16, headers: &str) -> Step {
    let kind = content_type(headers);
    let head = format!("HTTP/1.1 {status} X\r\n{headers}{kind}Connection: close\r\n\r\n");
    Step::Send(head.into_bytes())
}

fn content_type(headers: &str) -> &'static str {
    match headers.to_ascii_lowercase().contains("content-type:") {
        true => "",
        false => "Content-Type: application/json\r\n",
    }
}

/// A `Status` that says no.
pub(super) fn refusal(code: u16, reason: &str, message: &str) -> Value {
    serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": message, "code": code})
}

pub(super) fn everything(_: &Struck) -> bool {
    true
}

pub(super) fn objects(struck: &Struck) -> bool {
    !struck.is_discovery() && !struck.is_watch()
}
