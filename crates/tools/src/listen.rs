//! `card-payments listen`: an account's events as they happen.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

use base::clock::{Clock, SystemClock};
use base::list::List;
use base::plain_text::OneLine;
use base::platform::{Signal, on_signals};
use base::random::RandomSource;
use base::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::Args;
use entity::event::EventType;
use outbound::limits::WEBHOOK_TIMEOUT;
use outbound::signature::{self, NotSignable};
use outbound::{AddressPolicy, Outbound, OutboundError};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::api_client::{ApiClient, ApiClientError};
use crate::events::{self, Event};
use crate::server_options::{ServerOptions, receiver_address};
use crate::terminal::{BAD, print_notice, print_result};

/// The number of seconds for which the server waits for events.
const WAIT: u64 = 20;
/// The pause after a request that brought none.
const PAUSE: Duration = Duration::from_millis(500);

/// Print events as they happen, and forward them to your receiver.
///
/// Asks a running server until Ctrl-C. It waits through restarts of the server, and loses or repeats no event that the server
/// keeps; a move of the clock past the retention of events may delete some before they are seen. Each event is forwarded once,
/// oldest first, like a webhook: the event's own bytes, signed as the Standard Webhooks specification says. The receiver's
/// response is printed. If the receiver is down or refuses, the event is not sent again.
///
/// Events go to stdout. Everything else, such as the key that signs, goes to stderr.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  card-payments listen --forward-to localhost:3000/hooks\n  card-payments listen --json \
        | jq .event.data\n  card-payments listen --events 'charge.*,refund.failed'\n\n\
        With --json {event, forwarded}, where forwarded is {status, ms}, {error, error_description} or null."
)]
pub struct Listen {
    /// The address of the receiver.
    #[arg(long, value_name = "URL", value_parser = receiver_address)]
    forward_to: Option<String>,
    /// Only these types, separated by commas; a * at the end of a type stands for any ending.
    #[arg(long, value_name = "TYPES", value_parser = event_types)]
    events: Vec<List<String>>,
    /// The key that signs forwarded events, whsec_...; by default a new one.
    #[arg(long, value_name = "KEY", env = "CARD_PAYMENTS_WEBHOOK_KEY", hide_env_values = true, value_parser = webhook_key)]
    sign_with: Option<Secret>,
    /// Print one JSON object per event, one per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// Parses a list of types, and of beginnings of several types.
pub fn event_types(text: &str) -> Result<List<String>, String> {
    List::parse_each(text, event_type)
}

fn event_type(text: &str) -> Result<String, &'static str> {
    let known = EventType::ALL.iter().any(|what| fits(text, what.code()));
    if known { Ok(text.to_owned()) } else { Err("no event is of this type; trigger --list names them all") }
}

/// Returns whether a type is wanted, by its name or its beginning and a star.
pub fn fits(wanted: &str, what: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == what, |beginning| what.starts_with(beginning))
}

/// Parses a key that signs webhooks.
pub fn webhook_key(text: &str) -> Result<Secret, &'static str> {
    let bytes = text.strip_prefix("whsec_").and_then(|key| STANDARD.decode(key).ok());
    bytes.filter(|bytes| !bytes.is_empty()).map(|_| text.into()).ok_or("not whsec_ and base64")
}

pub async fn run(command: Listen) -> Result<(), Box<dyn Error>> {
    let Listen { forward_to, events, sign_with, json, server } = command;
    let (mut stop, events) = (on_signals(Signal::STOP)?, List::all(&events));
    let listening = async {
        let server = server.open().await?;
        let last = events::last(&server).await?;
        let receiver = forward_to.map(|url| Receiver::new(url, sign_with));
        print_notice(format_args!("Listening to the events of {}", server.address()));
        if let Some(receiver) = &receiver {
            print_notice(format_args!("Forwarding to {}", receiver.url));
            print_notice(format_args!("Signing with {}", receiver.key.expose()));
        }
        listen(&server, last, receiver.as_ref(), &events, json).await
    };
    tokio::select! {
        ended = listening => ended,
        _ = stop.recv() => Ok(()),
    }
}

async fn listen(
    server: &ApiClient,
    mut last: u64,
    receiver: Option<&Receiver>,
    wanted: &[String],
    json: bool,
) -> Result<(), Box<dyn Error>> {
    let mut answers = true;
    loop {
        let mut pause = PAUSE;
        match events::after(server, last, WAIT).await {
            Ok(new) => {
                if !answers {
                    print_notice(format_args!("{} answers again", server.address()));
                }
                answers = true;
                let is_wanted = |what: &str| wanted.is_empty() || wanted.iter().any(|one| fits(one, what));
                for event in new.iter().filter(|event| is_wanted(&event.head.r#type)) {
                    let forwarded = match receiver {
                        Some(receiver) => Some(receiver.forward(event).await?),
                        None => None,
                    };
                    let result = ForwardResult { event: &event.body, forwarded };
                    print_result(&result, &Line(event, &result), json)?;
                }
                if let Some(newest) = new.last() {
                    last = newest.head.sequence;
                    continue;
                }
            }
            Err(error) if error.is_transient() => {
                pause = error.retry_after().unwrap_or(PAUSE);
                // A server that limits the rate of requests is reachable.
                if answers && !matches!(error, ApiClientError::Refused { status: 429, .. }) {
                    print_notice(OneLine(format_args!("{error}; waiting for it")));
                    answers = false;
                }
            }
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(pause).await;
    }
}

struct Receiver {
    url: String,
    key: Secret,
    outbound: Outbound,
}

impl Receiver {
    fn new(url: String, key: Option<Secret>) -> Self {
        Self {
            url,
            key: key.unwrap_or_else(|| signature::generate_key(&RandomSource::default())),
            outbound: Outbound::new(AddressPolicy::test()),
        }
    }

    /// Sends an event like a webhook, but only once.
    async fn forward(&self, event: &Event) -> Result<Forwarded, NotSignable> {
        let body = Bytes::copy_from_slice(event.body.get().as_bytes());
        let (id, keys) = (event.head.token.to_string(), std::iter::once(&self.key));
        let mut headers = signature::headers(keys, &id, SystemClock.now(), &body)?;
        headers.insert("webhook-attempt", 1.into());
        let began = Instant::now();
        let answer = self.outbound.post(&self.url, headers, body, WEBHOOK_TIMEOUT).await;
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(answer.map_or_else(Forwarded::from, |status| Forwarded::Answered { status, ms }))
    }
}

/// The result of forwarding an event.
#[derive(Serialize)]
#[serde(untagged)]
enum Forwarded {
    Answered { status: u16, ms: u64 },
    Unanswered { error: &'static str, error_description: &'static str },
}

impl From<OutboundError> for Forwarded {
    fn from(why: OutboundError) -> Self {
        Self::Unanswered { error: why.code(), error_description: why.description() }
    }
}

impl Display for Forwarded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { status, ms } if (200..300).contains(status) => write!(f, "{status} in {ms} ms"),
            Self::Answered { status, ms } => write!(f, "{BAD}{status}{BAD:#} in {ms} ms"),
            Self::Unanswered { error, error_description } => {
                write!(f, "{BAD}{error}{BAD:#}: {error_description}")
            }
        }
    }
}

#[derive(Serialize)]
struct ForwardResult<'a> {
    event: &'a RawValue,
    forwarded: Option<Forwarded>,
}

/// An event and its result as text.
struct Line<'a>(&'a Event, &'a ForwardResult<'a>);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        self.1.forwarded.iter().try_for_each(|forwarded| write!(f, "  -> {forwarded}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_end() {
        for (wanted, what, is_wanted) in [
            ("charge.captured", "charge.captured", true),
            ("charge.captured", "charge.captured_late", false),
            ("charge.*", "charge.captured", true),
            ("charge.*", "refund.created", false),
            ("*", "ping", true),
            ("dispute.arbitration_*", "dispute.arbitration_won", true),
        ] {
            assert_eq!(fits(wanted, what), is_wanted, "{wanted} {what}");
        }
        assert!(event_type("charge.*").is_ok() && event_type("ping").is_ok());
        for unknown in ["", "charge", "charge.captured.*", "recipient.deleted", "Charge.*", "charges.*"] {
            assert!(event_type(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn a_key_is_whsec_and_base64() {
        assert!(webhook_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").is_ok());
        for none in ["", "whsec_", "whsec_?", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            assert!(webhook_key(none).is_err(), "{none}");
        }
    }
}
