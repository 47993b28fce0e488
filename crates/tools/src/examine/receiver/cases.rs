//! The cases: what is sent to a receiver, what a good one answers, and why.

use std::error::Error;
use std::time::Duration;

use entity::TimeSpan;

use super::material::{Delivery, Draft, Manner, Material};

/// The answer of a good receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Any 2xx.
    Accept,
    /// Any 4xx.
    Refuse,
    /// Any 4xx, or the end of the connection before all is read.
    RefuseOrHangUp,
    /// Anything but a 5xx.
    Answer,
    Anything,
}

impl Expected {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Accept => "2xx",
            Self::Refuse => "4xx",
            Self::RefuseOrHangUp => "4xx, or the end of the connection",
            Self::Answer => "any status below 500",
            Self::Anything => "anything",
        }
    }
}

pub struct Case {
    pub name: &'static str,
    pub sent: &'static str,
    /// The answer of a good receiver.
    pub expected: Expected,
    pub why: &'static str,
    /// The heading of docs/webhooks.md that says more.
    pub heading: &'static str,
    /// The number of deliveries that are in flight at once.
    pub at_once: usize,
    pub deliveries: MakeDeliveries,
}

type MakeDeliveries = fn(&Material<'_>) -> Result<Vec<Delivery>, Box<dyn Error>>;

const VERIFY: &str = "verify-it";
const SENT: &str = "what-is-sent";
const RESPOND: &str = "respond";
const RETRIES: &str = "retries";
const NEW_KEY: &str = "a-new-key";
const BY_HAND: &str = "without-a-library";

/// The number of events of a burst, and the number of them in flight.
const BURST: u64 = 100;
const BURST_AT_ONCE: usize = 20;
/// The time that a slow sender takes.
const SLOW: Duration = Duration::from_secs(2);
/// The size of a large event: more than one packet, and less than common limits of bodies.
const LARGE: usize = 64 << 10;
/// The size of a forgery that is too large to be an event.
const HUGE: usize = 8 << 20;

const fn accept(
    name: &'static str,
    heading: &'static str,
    sent: &'static str,
    why: &'static str,
    deliveries: MakeDeliveries,
) -> Case {
    Case { name, sent, expected: Expected::Accept, why, heading, at_once: 1, deliveries }
}

const fn refuse(
    name: &'static str,
    heading: &'static str,
    sent: &'static str,
    why: &'static str,
    deliveries: MakeDeliveries,
) -> Case {
    Case { expected: Expected::Refuse, ..accept(name, heading, sent, why, deliveries) }
}

/// All cases, in the order in which they are sent.
pub static CASES: [Case; 29] = [
    accept(
        "event",
        VERIFY,
        "real events, signed with your key",
        "An event that is refused is sent again, and lost after nine attempts.",
        |material| material.events().map(|event| material.original(event).signed()).collect(),
    ),
    accept(
        "event-again",
        RESPOND,
        "the same event twice, at once",
        "The same event may come more than once: accept it, and process it once.",
        |material| {
            let event = material.original(material.event()).signed()?;
            Ok(vec![event.clone(), event])
        },
    ),
    accept(
        "event-retried",
        RETRIES,
        "the same event again, with a later time stamp, a new signature and webhook-attempt 2",
        "A retry has the id and the body of the first attempt, and a new time stamp.",
        |material| {
            let event = material.original(material.event());
            let retried = Draft { at: event.at + TimeSpan::seconds(1), attempt: 2, ..event.clone() };
            Ok(vec![event.signed()?, retried.signed()?])
        },
    ),
    accept(
        "out-of-order",
        RESPOND,
        "two events, the later one first",
        "Events come in any order; their sequence says which is older.",
        |material| {
            let (first, second) = (material.numbered(1), material.numbered(2));
            Ok(vec![second.signed()?, first.signed()?])
        },
    ),
    accept(
        "two-signatures-first",
        NEW_KEY,
        "an event with two signatures, of which the first is by your key",
        "While an endpoint has two keys, both sign, and one that fits is enough.",
        |material| Ok(vec![material.fresh().signed_by(&[material.key, &material.other_key()])?]),
    ),
    accept(
        "two-signatures-second",
        NEW_KEY,
        "an event with two signatures, of which the second is by your key",
        "While an endpoint has two keys, both sign, and one that fits is enough.",
        |material| Ok(vec![material.fresh().signed_by(&[&material.other_key(), material.key])?]),
    ),
    accept(
        "other-version",
        BY_HAND,
        "an event with a signature of another version before the good one",
        "Standard Webhooks may add versions of signatures: skip those that you do not know.",
        |material| Ok(vec![material.fresh().signed()?.with_signature(|good| format!("v1a,AAAA {good}"))]),
    ),
    accept(
        "unknown-type",
        SENT,
        "an event of a type that does not exist yet",
        "More types may follow: accept those that you do not know, and do nothing.",
        |material| Ok(vec![material.changed(|event| event["type"] = "order.invented".into()).signed()?]),
    ),
    accept(
        "unknown-fields",
        SENT,
        "an event with fields that do not exist yet",
        "Records get more fields in time: ignore those that you do not know.",
        |material| {
            let changed = material.changed(|event| {
                event["invented"] = serde_json::json!({ "a": [1, null] });
                event["data"]["invented"] = true.into();
            });
            Ok(vec![changed.signed()?])
        },
    ),
    accept(
        "other-alphabets",
        VERIFY,
        "an event with quotes, emoji, and letters of many alphabets",
        "The signature is of the bytes as they came: decode them after the check.",
        |material| {
            let text = "é \" \\ </script> \u{2028} 東京 💳";
            Ok(vec![material.changed(|event| event["data"]["description"] = text.into()).signed()?])
        },
    ),
    accept(
        "large",
        RESPOND,
        "an event of 64 KiB",
        "Metadata and long lists make large events; a limit of the body that is too low loses them.",
        |material| {
            Ok(vec![material.changed(|event| event["data"]["padding"] = "x".repeat(LARGE).into()).signed()?])
        },
    ),
    accept(
        "slow-sender",
        RESPOND,
        "an event whose body takes two seconds to arrive, in four pieces",
        "Networks are slow at times: read as many bytes as Content-Length says.",
        |material| Ok(vec![material.fresh().signed()?.sent(Manner::Slow(SLOW))]),
    ),
    Case {
        at_once: BURST_AT_ONCE,
        ..accept(
            "burst",
            RESPOND,
            "100 events, 20 of them at a time",
            "A sale brings many events at once: store each, answer, and process it afterwards.",
            |material| (1..=BURST).map(|number| material.numbered(number).signed()).collect(),
        )
    },
    accept(
        "cut-connection",
        RETRIES,
        "half an event, the end of the connection, and then the whole event",
        "A broken delivery is sent again: the first must do nothing, and the second must work.",
        |material| {
            let event = material.fresh().signed()?;
            let cut = Delivery { expected: Some(Expected::Anything), ..event.clone() };
            Ok(vec![cut.sent(Manner::Cut), event])
        },
    ),
    refuse(
        "another-key",
        VERIFY,
        "an event signed with another key",
        "Anybody can sign with a key of their own: only yours counts.",
        |material| Ok(vec![material.fresh().signed_by(&[&material.other_key()])?]),
    ),
    refuse(
        "changed-byte",
        VERIFY,
        "an event of which one byte was changed after it was signed",
        "A signature of another body says nothing about this one.",
        |material| Ok(vec![material.fresh().signed()?.with_changed_byte(material.number())]),
    ),
    refuse(
        "added-space",
        VERIFY,
        "an event with a space behind its first bracket, which was added after it was signed",
        "Parsed and serialised again, a body is another text: verify the bytes as they came.",
        |material| Ok(vec![material.fresh().signed()?.with_space()]),
    ),
    refuse(
        "no-signature",
        VERIFY,
        "an event without webhook-signature",
        "Without a signature anybody may have sent it.",
        |material| Ok(vec![material.fresh().signed()?.without("webhook-signature")]),
    ),
    refuse(
        "no-id",
        BY_HAND,
        "an event without webhook-id",
        "The id is a part of what is signed.",
        |material| Ok(vec![material.fresh().signed()?.without("webhook-id")]),
    ),
    refuse(
        "another-id",
        BY_HAND,
        "an event under the id of another one",
        "The id is a part of what is signed: otherwise a repeated event passes as a new one.",
        |material| Ok(vec![material.fresh().signed()?.with("webhook-id", &material.other_token())]),
    ),
    refuse(
        "another-version",
        BY_HAND,
        "an event whose good signature is labelled v2",
        "The label says how a text was signed: compare only signatures of the version that you know.",
        |material| Ok(vec![material.fresh().signed()?.with_signature(|good| good.replace("v1,", "v2,"))]),
    ),
    refuse(
        "yesterday",
        BY_HAND,
        "an event that was signed yesterday",
        "A stolen webhook can be sent again for ever if its time stamp is not compared with the clock.",
        |material| {
            let event = material.fresh();
            Ok(vec![Draft { at: event.at - TimeSpan::days(1), ..event }.signed()?])
        },
    ),
    refuse(
        "tomorrow",
        BY_HAND,
        "an event that was signed tomorrow",
        "A time stamp that is far ahead stays good for as long: refuse one over five minutes off your clock.",
        |material| {
            let event = material.fresh();
            Ok(vec![Draft { at: event.at + TimeSpan::days(1), ..event }.signed()?])
        },
    ),
    refuse(
        "no-timestamp",
        BY_HAND,
        "an event without webhook-timestamp",
        "The time stamp is a part of what is signed.",
        |material| Ok(vec![material.fresh().signed()?.without("webhook-timestamp")]),
    ),
    refuse(
        "another-timestamp",
        BY_HAND,
        "an event whose time stamp was moved by a second after it was signed",
        "The time stamp is a part of what is signed: otherwise an old event passes as a new one.",
        |material| {
            let event = material.fresh();
            let moved = (event.at + TimeSpan::seconds(1)).seconds().to_string();
            Ok(vec![event.signed()?.with("webhook-timestamp", &moved)])
        },
    ),
    Case {
        expected: Expected::RefuseOrHangUp,
        ..refuse(
            "huge-forgery",
            RESPOND,
            "8 MiB with a signature of another key",
            "Anybody can send a large body: limit what you read.",
            |material| {
                let huge = material.changed(|event| event["data"]["padding"] = "x".repeat(HUGE).into());
                Ok(vec![huge.signed_by(&[&material.other_key()])?])
            },
        )
    },
    refuse(
        "empty",
        VERIFY,
        "a POST without a body and without the headers of a webhook",
        "Anybody can send a POST to your URL.",
        |_| Ok(vec![Delivery::empty()]),
    ),
    Case {
        expected: Expected::Answer,
        ..accept(
            "empty-event",
            VERIFY,
            "no bytes, well signed",
            "No event is empty, and a receiver that falls over one is down for the next.",
            |material| Ok(vec![Draft { body: Vec::new(), ..material.fresh() }.signed()?]),
        )
    },
    Case {
        expected: Expected::Answer,
        ..accept(
            "gzip",
            SENT,
            "an event compressed by gzip, with Content-Encoding",
            "The server never compresses: refuse it or read it, and do not fall over it.",
            |material| Ok(vec![material.fresh().signed()?.compressed()?]),
        )
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cases_have_names_of_their_own_and_sentences() {
        let names: BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), CASES.len());
        for case in &CASES {
            assert!(case.why.ends_with('.') && !case.sent.ends_with('.'), "{}", case.name);
            assert!(case.name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-'));
        }
    }

    #[test]
    fn the_guide_has_the_headings_that_cases_name() {
        let guide = include_str!("../../../../../docs/webhooks.md");
        let headings: BTreeSet<_> = guide
            .lines()
            .filter(|line| line.starts_with("##"))
            .map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"))
            .collect();
        for case in &CASES {
            assert!(headings.contains(case.heading), "{}: {}", case.name, case.heading);
        }
    }
}
