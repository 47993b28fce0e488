//! Handles the rest of a body whose request is already answered: most refusals look at the head only.
//!
//! The kernel resets a connection that is closed over unread bytes, and the reset may overtake the response. So the
//! rest is read and discarded while the response is sent, within limits (`docs/decisions.md`, 41); hyper alone tries
//! one read and closes.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use futures::FutureExt;
use http::{Request, header};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::limits::{SMALL_BODY_BYTES, UNREAD_BYTES_MAX, UNREAD_TIMEOUT};

/// A body that is returned when it is dropped, unless it was read to its end.
pub struct TrackedBody {
    // Present until the drop.
    body: Option<Incoming>,
    // The client waits for 100 Continue, which is sent when the body is first read.
    awaits_reader: bool,
    owner: Option<oneshot::Sender<UnreadRest>>,
}

struct UnreadRest {
    body: Incoming,
    awaits_reader: bool,
}

/// Gets the rest of a body once its request is answered.
pub struct BodyReturn(oneshot::Receiver<UnreadRest>);

/// Wraps the body of a request, so that it is returned after the request is answered.
pub fn track(request: Request<Incoming>) -> (Request<TrackedBody>, BodyReturn) {
    let (owner, back) = oneshot::channel();
    let awaits_reader = request.headers().contains_key(header::EXPECT);
    (
        request.map(|body| TrackedBody { body: Some(body), awaits_reader, owner: Some(owner) }),
        BodyReturn(back),
    )
}

/// The part of a body that had not arrived when its request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadBody {
    /// Nothing.
    Nothing,
    /// A short rest, which is read meanwhile.
    Short,
    /// So much that the connection must close after the response.
    Long,
}

impl BodyReturn {
    /// Reads the rest of the body once the response is built.
    pub fn drain(mut self) -> UnreadBody {
        let Ok(UnreadRest { mut body, awaits_reader }) = self.0.try_recv() else {
            return UnreadBody::Nothing;
        };
        // A client that asked first whether to send the body learns that it is not wanted.
        if awaits_reader {
            return UnreadBody::Long;
        }
        // Mostly the body has arrived with the head.
        while let Some(frame) = body.frame().now_or_never() {
            if !matches!(frame, Some(Ok(_))) {
                return UnreadBody::Nothing;
            }
        }
        // A short rest is on its way in any case; for a long one the client is told that it may stop.
        let is_long = body.size_hint().upper().is_none_or(|rest| rest > SMALL_BODY_BYTES as u64);
        tokio::spawn(timeout(UNREAD_TIMEOUT, discard(body)));
        if is_long { UnreadBody::Long } else { UnreadBody::Short }
    }
}

async fn discard(mut body: Incoming) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await
        && bytes < UNREAD_BYTES_MAX
    {
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.awaits_reader = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        Pin::new(body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if let (Some(body), Some(owner)) = (self.body.take(), self.owner.take())
            && !body.is_end_stream()
        {
            // If the connection is gone, so is the receiver.
            let _ = owner.send(UnreadRest { body, awaits_reader: self.awaits_reader });
        }
    }
}
