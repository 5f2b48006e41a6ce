//! What goes over the wire between the engine and the sandbox: kept, and passed on. Of some
//! objects the server warns, and into one namespace nobody may look.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::header::WARNING;
use http::{Method, Request, Response, StatusCode};
use opm_sandbox::{ResponseBody, Sandbox};
use tower::Service;

/// How names of objects begin of which the server warns when they are written.
pub(crate) const ODD: &str = "odd-";

/// The namespace in which nothing is permitted.
pub(crate) const CLOSED: &str = "closed";

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    /// The user that it asks to act as.
    pub(crate) act_as: Option<String>,
}

impl Sent {
    /// Whether it changes anything.
    pub(crate) fn writes(&self) -> bool {
        let reads = self.method == Method::GET || self.path.ends_with("/selfsubjectreviews");
        !reads && !self.query.contains("dryRun=All")
    }

    /// What the server warns of.
    fn warning(&self) -> Option<String> {
        let (_, name) = self.path.rsplit_once('/')?;
        let warned = self.writes() && name.starts_with(ODD);
        warned.then(|| format!("299 - \"{name} is odd\""))
    }

    /// Whether it is about something in this namespace.
    pub(crate) fn is_in(&self, namespace: &str) -> bool {
        self.path.contains(&format!("/namespaces/{namespace}/"))
    }
}

/// A sandbox that remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Wire {
    sandbox: Sandbox,
    sent: Arc<Mutex<Vec<Sent>>>,
    /// Whether the server finds nothing wrong as long as it only pretends.
    blind: Arc<AtomicBool>,
}

impl Wire {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            sent: Arc::default(),
            blind: Arc::default(),
        }
    }

    /// From now on what is wrong with an object shows only when it is really sent.
    pub(crate) fn pretend_blindly(&self) {
        self.blind.store(true, Ordering::Relaxed);
    }

    /// Everything that was sent so far.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

impl<B> Service<Request<B>> for Wire
where
    Sandbox: Service<Request<B>, Response = Response<ResponseBody>>,
    <Sandbox as Service<Request<B>>>::Future: Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = <Sandbox as Service<Request<B>>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.sandbox.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let act_as = request.headers().get("impersonate-user");
        let sent = Sent {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            act_as: act_as.map(|user| user.to_str().unwrap().to_owned()),
        };
        let (warning, forbidden) = (sent.warning(), sent.is_in(CLOSED));
        self.sent.lock().unwrap().push(sent);
        let pretends = request
            .uri()
            .query()
            .is_some_and(|q| q.contains("dryRun=All"));
        if pretends && self.blind.load(Ordering::Relaxed) {
            *request.method_mut() = Method::GET;
            *request.uri_mut() = request.uri().path().parse().unwrap();
        }
        let answer = self.sandbox.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            if let Some(warning) = warning {
                let headers = answer.headers_mut();
                headers.append(WARNING, warning.try_into().unwrap());
            }
            if forbidden {
                *answer.status_mut() = StatusCode::FORBIDDEN;
            }
            Ok(answer)
        })
    }
}
