//! The sandbox as a tower service: what `kube::Client` calls in-process.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use tower::Service;

use super::body::ResponseBody;
use super::call::Call;
use super::reply::respond;
use crate::limits::REQUEST_BYTES;
use crate::sandbox::Sandbox;
use crate::status::ApiError;
use crate::verbs;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
            let result = match read_body(body).await? {
                Ok(body) => {
                    let call = Call::new(&parts, body);
                    let work = sandbox.clone();
                    let answer = sandbox.answer(move || verbs::handle(&work, &call)).await;
                    answer.ok_or("the sandbox stopped in the middle of a request")?
                }
                Err(error) => Err(error),
            };
            Ok(respond(result, sandbox.inner.store.chance().now()))
        })
    }
}

/// The whole body, or the answer to one that is too large.
pub(crate) async fn read_body<B>(body: B) -> Result<Result<Bytes, ApiError>, BoxError>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    match Limited::new(body, REQUEST_BYTES).collect().await {
        Ok(collected) => Ok(Ok(collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("Request entity too large: limit is {REQUEST_BYTES}");
            Ok(Err(ApiError::too_large(message)))
        }
        Err(error) => Err(error),
    }
}
