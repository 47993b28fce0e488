//! The goals that a test suite can meet, by the document.

use entity::event::EventType;
use entity::failure::Decline;
use serde::Serialize;

use super::advice;
use crate::document::{Operation, Operations};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// An operation that succeeds.
    Operations,
    /// An error of one operation.
    Errors,
    /// An error that any operation may answer.
    GeneralErrors,
    /// A decline of a card.
    Declines,
    /// A page of a list, beyond the first.
    Pages,
    /// An event of a type.
    Events,
    /// An outcome of a webhook.
    Webhooks,
    /// The end of a 3-D Secure challenge.
    ThreeDSecure,
}

impl Part {
    /// All parts, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Operations,
        Self::Errors,
        Self::GeneralErrors,
        Self::Declines,
        Self::Pages,
        Self::Events,
        Self::Webhooks,
        Self::ThreeDSecure,
    ];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Operations => "Operations that succeed",
            Self::Errors => "Errors of an operation",
            Self::GeneralErrors => "Errors of any operation",
            Self::Declines => "Declines",
            Self::Pages => "Pages beyond the first",
            Self::Events => "Events",
            Self::Webhooks => "Webhooks",
            Self::ThreeDSecure => "3-D Secure",
        }
    }
}

/// Something to meet.
#[derive(Debug, Serialize)]
pub struct Goal {
    pub part: Part,
    /// Its name, unique in its part.
    pub name: String,
    /// The line that makes it happen.
    pub line: String,
}

/// An answer of an earlier request, by its Idempotency-Key.
pub const REPLAY: &str = "replayed answer";
/// A webhook that its receiver has accepted.
pub const ACCEPTED: &str = "accepted";
/// A webhook that its receiver has refused, or not answered.
pub const REFUSED: &str = "refused";
/// Ends of a challenge.
pub const APPROVED: &str = "approved";
/// Approved by the cardholder, and declined by the issuer.
pub const DECLINED: &str = "approved, then declined";
/// Refused by the cardholder.
pub const FAILED: &str = "failed";
/// The card is not enrolled.
pub const UNAVAILABLE: &str = "card not enrolled";
/// No decision in time.
pub const EXPIRED: &str = "no decision";
/// The operation that says how a challenge ended.
pub const VERIFY: &str = "/1/charges/verify";

/// Errors that any operation may answer: they count once, and not for each operation.
pub const GENERAL: [&str; 11] = [
    "bad_request",
    "api_unavailable",
    "unauthorized",
    "forbidden",
    "idempotency_key_in_use",
    "idempotency_key_reused",
    "payload_too_large",
    "unsupported_media_type",
    "gateway_error",
    "rate_limited",
    "service_unavailable",
];

/// Errors of the server's own, which no request causes.
pub const OWN_FAULTS: [&str; 2] = ["internal_error", "gateway_timeout"];

/// Returns the part to which an error of an operation belongs, and its name there; none if it counts nowhere.
pub fn of_error(operation: &Operation, code: &str) -> Option<(Part, String)> {
    if OWN_FAULTS.contains(&code) || operation.path == VERIFY && !GENERAL.contains(&code) {
        return None;
    }
    if GENERAL.contains(&code) {
        return Some((Part::GeneralErrors, code.to_owned()));
    }
    if Decline::from_code(code).is_some() {
        return Some((Part::Declines, code.to_owned()));
    }
    Some((Part::Errors, format!("{}: {code}", operation.name())))
}

/// Returns all goals of these sections; of all but the sandbox if there are none.
pub fn goals(operations: &Operations, sections: &[String]) -> Vec<Goal> {
    let is_chosen = |section: &str| match sections {
        [] => section != "sandbox",
        chosen => chosen.iter().any(|one| one == section),
    };
    let mut goals = Vec::new();
    let mut add = |part: Part, name: String, line: String| {
        if !goals.iter().any(|goal: &Goal| goal.part == part && goal.name == name) {
            goals.push(Goal { part, name, line });
        }
    };
    for operation in operations.iter().filter(|it| is_chosen(&it.section) && it.method != "HEAD") {
        add(Part::Operations, operation.name(), advice::to_call(operation));
        if operation.has_pages {
            let line = advice::to_call_with(operation, "page=2&per_page=1");
            add(Part::Pages, operation.name(), line);
        }
        for (_, code) in &operation.errors {
            if let Some((part, name)) = of_error(operation, code) {
                add(part, name, advice::to_be_refused(operation, code));
            }
        }
    }
    add(Part::GeneralErrors, REPLAY.to_owned(), advice::REPLAY.to_owned());
    for &what in EventType::ALL {
        // The first section is that of the record; a dispute also shows its charge.
        if what.sections().first().is_some_and(|section| is_chosen(section.code())) {
            add(Part::Events, what.code().to_owned(), format!("card-payments trigger {}", what.code()));
        }
    }
    if is_chosen("webhooks") {
        add(Part::Webhooks, ACCEPTED.to_owned(), advice::ACCEPTED.to_owned());
        add(Part::Webhooks, REFUSED.to_owned(), advice::REFUSED.to_owned());
    }
    if is_chosen("charges") {
        for (name, line) in advice::CHALLENGES {
            add(Part::ThreeDSecure, name.to_owned(), line.to_owned());
        }
    }
    goals.sort_by_key(|goal| goal.part);
    goals
}
