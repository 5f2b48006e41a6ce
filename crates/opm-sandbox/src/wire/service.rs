//! The sandbox as a tower service: what `kube::Client` calls in-process.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use tower::Service;

use super::body::ResponseBody;
use super::call::Call;
use super::reply::respond;
use crate::sandbox::Sandbox;
use crate::status::ApiError;
use crate::verbs;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// As the real server: larger requests are refused.
const MAX_BODY: usize = 3 * 1024 * 1024;

impl<B> Service<Request<B>> for Sandbox
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let sandbox = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let result = match Limited::new(body, MAX_BODY).collect().await {
                Ok(collected) => {
                    let call = Call::new(&parts, collected.to_bytes());
                    let work = sandbox.clone();
                    let answer = sandbox.answer(move || verbs::handle(&work, &call)).await;
                    answer.ok_or("the sandbox stopped in the middle of a request")?
                }
                Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                    let message = format!("Request entity too large: limit is {MAX_BODY}");
                    Err(ApiError::too_large(message))
                }
                Err(error) => return Err(error),
            };
            Ok(respond(result, sandbox.inner.store.chance().now()))
        })
    }
}
