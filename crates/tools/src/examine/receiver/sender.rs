//! Sends a delivery as the server does, and in ways in which networks do.

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream;
use http::header::{CONNECTION, CONTENT_LENGTH};
use http_body_util::StreamBody;
use hyper::body::Frame;
use outbound::OutboundError;
use outbound::limits::WEBHOOK_TIMEOUT;
use reqwest::{Body, Client};

use super::cases::Expected;
use super::material::{Delivery, Manner};

/// The pieces of a slow body.
const PIECES: usize = 4;

/// Sends deliveries to a receiver.
pub struct Sender {
    client: Client,
    url: String,
}

/// The answer of the receiver.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The status, or why there is none.
    pub status: Result<u16, OutboundError>,
    /// The time that it took, in milliseconds.
    pub ms: u64,
}

impl Answer {
    /// Returns whether this is what is expected.
    pub fn is(&self, expected: Expected) -> bool {
        match (expected, self.status) {
            (Expected::Anything, _) => true,
            (Expected::Accept, Ok(status)) => (200..300).contains(&status),
            (Expected::Refuse | Expected::RefuseOrHangUp, Ok(status)) => (400..500).contains(&status),
            (Expected::Answer, Ok(status)) => status < 500,
            (Expected::RefuseOrHangUp, Err(why)) => why == OutboundError::ConnectionFailed,
            (Expected::Accept | Expected::Refuse | Expected::Answer, Err(_)) => false,
        }
    }
}

impl Sender {
    /// Returns a sender to this address.
    pub fn new(url: &str) -> Self {
        Self { client: outbound::client(), url: url.to_owned() }
    }

    /// Sends a delivery on a connection of its own, so that no case depends on the one before it.
    pub async fn send(&self, delivery: Delivery) -> Answer {
        let began = Instant::now();
        let Delivery { headers, body, manner, .. } = delivery;
        let request = self.client.post(&self.url).headers(headers).header(CONNECTION, "close");
        let request = request.header(CONTENT_LENGTH, body.len()).timeout(WEBHOOK_TIMEOUT);
        let answer = request.body(streamed(body, manner)).send().await;
        let status =
            answer.map(|answer| answer.status().as_u16()).map_err(|error| OutboundError::from_error(&error));
        Answer { status, ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX) }
    }
}

fn streamed(body: Bytes, manner: Manner) -> Body {
    let (pieces, pause) = match manner {
        Manner::Whole => return body.into(),
        Manner::Slow(within) => {
            let size = body.len().div_ceil(PIECES).max(1);
            let pieces = (0..body.len()).step_by(size).map(|at| at..(at + size).min(body.len()));
            let pieces: Vec<_> = pieces.map(|piece| Ok(body.slice(piece))).collect();
            (pieces, within / u32::try_from(PIECES).unwrap_or(1))
        }
        Manner::Cut => {
            let half = Ok(body.slice(..body.len() / 2));
            (vec![half, Err(io::Error::from(io::ErrorKind::ConnectionAborted))], Duration::from_millis(100))
        }
    };
    let frames = stream::unfold(pieces.into_iter(), move |mut pieces| async move {
        let piece = pieces.next()?;
        tokio::time::sleep(pause).await;
        Some((piece.map(Frame::data), pieces))
    });
    Body::wrap(StreamBody::new(frames))
}
