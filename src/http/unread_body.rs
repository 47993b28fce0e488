//! What is left of a body when its request is answered: most refusals look at the head alone.
//!
//! A connection that is closed over bytes that nobody has read is reset by the kernel, and the reset may overtake the
//! answer. So the rest is read and thrown away while the answer goes out, as far as that is reasonable; hyper alone tries
//! one read and closes.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use axum::http::{Request, header};
use futures::FutureExt;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::limits::{SMALL_BODY_BYTES, UNREAD_BYTES_MAX, UNREAD_TIME};

/// A body that comes back, unless it was read to its end.
pub struct TrackedBody {
    // There until it is dropped.
    body: Option<Incoming>,
    // Its sender waits for 100 Continue, which goes out when somebody reads.
    awaits_reader: bool,
    owner: Option<oneshot::Sender<Rest>>,
}

struct Rest {
    body: Incoming,
    awaits_reader: bool,
}

/// Where a body comes back to.
pub struct BodyReturn(oneshot::Receiver<Rest>);

/// Lend the body of a request to whoever answers it.
pub fn track(request: Request<Incoming>) -> (Request<TrackedBody>, BodyReturn) {
    let (owner, back) = oneshot::channel();
    let awaits_reader = request.headers().contains_key(header::EXPECT);
    (
        request.map(|body| TrackedBody { body: Some(body), awaits_reader, owner: Some(owner) }),
        BodyReturn(back),
    )
}

impl BodyReturn {
    /// Once the answer is made: see to it that the rest is read. Says whether the connection has to end with this answer.
    pub fn drain(mut self) -> bool {
        let Ok(Rest { mut body, awaits_reader }) = self.0.try_recv() else { return false };
        // Who asked first whether to send it is told that it is not wanted.
        if awaits_reader {
            return true;
        }
        // Mostly it has come with the head.
        while let Some(frame) = body.frame().now_or_never() {
            if !matches!(frame, Some(Ok(_))) {
                return false;
            }
        }
        // A little more is on its way in any case; of a long rest the sender is told that it need not go on.
        let is_long = body.size_hint().upper().is_none_or(|rest| rest > SMALL_BODY_BYTES as u64);
        tokio::spawn(timeout(UNREAD_TIME, discard(body)));
        is_long
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
            // Where the connection is gone, so is its owner.
            let _ = owner.send(Rest { body, awaits_reader: self.awaits_reader });
        }
    }
}
