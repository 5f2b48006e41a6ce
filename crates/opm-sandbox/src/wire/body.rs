//! The body of an answer: one piece, or a stream of watch events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// What the sandbox answers with.
#[derive(Debug)]
pub struct ResponseBody(BodyKind);

#[derive(Debug)]
enum BodyKind {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl ResponseBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        ResponseBody(BodyKind::Whole(Some(bytes.into())))
    }

    pub(crate) fn stream(receiver: mpsc::Receiver<Bytes>) -> Self {
        ResponseBody(BodyKind::Stream(receiver))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            BodyKind::Whole(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            BodyKind::Stream(receiver) => receiver
                .poll_recv(context)
                .map(|next| next.map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, BodyKind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            BodyKind::Stream(_) => SizeHint::default(),
        }
    }
}
