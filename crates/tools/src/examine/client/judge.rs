//! Judges the requests of a client.

use std::time::Duration;

use entity::failure::Decline;
use serde::Serialize;

use super::traffic::Sent;

/// The rules that a good client keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Changes have an Idempotency-Key.
    IdempotencyKey,
    /// A repeated change has the same key.
    SameKey,
    /// A key stands for one request.
    SameRequest,
    /// A client waits as long as it is told.
    RetryAfter,
    /// A declined request is not sent again.
    Decline,
    /// Somebody reads each parameter.
    Parameters,
    /// Addresses hold no secrets.
    Secrets,
    /// The client has counted the money as the server has.
    Total,
}

impl Rule {
    pub const ALL: [Self; 8] = [
        Self::IdempotencyKey,
        Self::SameKey,
        Self::SameRequest,
        Self::RetryAfter,
        Self::Decline,
        Self::Parameters,
        Self::Secrets,
        Self::Total,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "idempotency-key",
            Self::SameKey => "same-key",
            Self::SameRequest => "same-request",
            Self::RetryAfter => "retry-after",
            Self::Decline => "decline",
            Self::Parameters => "parameters",
            Self::Secrets => "secrets",
            Self::Total => "total",
        }
    }

    /// Returns what a good client does.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "Every change has an Idempotency-Key.",
            Self::SameKey => "A change that is sent again has the same Idempotency-Key.",
            Self::SameRequest => "An Idempotency-Key stands for one request, which is sent again as it was.",
            Self::RetryAfter => "A client waits as long as Retry-After says.",
            Self::Decline => "What was declined is not sent again.",
            Self::Parameters => "The operation reads every parameter.",
            Self::Secrets => "No secret stands in an address, which logs keep.",
            Self::Total => "The client counts the money as the ledger does.",
        }
    }
}

/// A rule that was broken.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: Rule,
    /// The number of the request; none if it is about all of them.
    pub request: Option<usize>,
    pub line: Option<usize>,
    /// The description of the mistake.
    pub text: String,
}

/// The time that clocks and networks may take off a pause.
const TOLERANCE: Duration = Duration::from_millis(50);

/// Judges requests in the order in which they came.
pub fn judge(sent: &[Sent]) -> Vec<Finding> {
    let mut in_order: Vec<_> = sent.iter().filter(|one| one.is_judged).collect();
    in_order.sort_by_key(|one| one.at);
    let mut findings = Vec::new();
    for (at, one) in in_order.iter().enumerate() {
        let mut find = |rule: Rule, text: String| {
            findings.push(Finding { rule, request: Some(one.number), line: Some(one.number + 1), text });
        };
        let before = &in_order[..at];
        if one.is_change() {
            judge_keys(one, before, &in_order[at + 1..], &mut find);
        }
        if let Some(last) = before.iter().rev().find(|last| last.is_same(one)) {
            judge_repeat(one, last, &mut find);
        }
        for name in &one.unread {
            find(Rule::Parameters, format!("the operation does not read {name}"));
        }
        for name in &one.secrets {
            find(Rule::Secrets, format!("its address holds {name}, which looks like a secret"));
        }
    }
    findings
}

fn judge_keys(one: &Sent, before: &[&Sent], after: &[&Sent], find: &mut impl FnMut(Rule, String)) {
    let Some(key) = &one.idempotency_key else {
        find(Rule::IdempotencyKey, "has no Idempotency-Key".to_owned());
        return;
    };
    let same_key =
        before.iter().find(|other| other.caller == one.caller && other.idempotency_key.as_ref() == Some(key));
    match same_key {
        Some(other) if other.fingerprint != one.fingerprint => find(
            Rule::SameRequest,
            format!("has the Idempotency-Key of request {}, and is another request", other.number),
        ),
        Some(_) => {}
        None => {
            // The last of the same requests: one that was repeated well is closed.
            let last = before.iter().rev().find(|other| other.is_same(one));
            let open =
                last.filter(|last| last.is_open() && last.idempotency_key.is_some() && one.follows(last));
            // Two payments that are made at once are alike, and each is repeated under its own key.
            let is_repeated = |open: &Sent| {
                after.iter().any(|later| later.is_same(open) && later.idempotency_key == open.idempotency_key)
            };
            if let Some(open) = open.filter(|open| !is_repeated(open)) {
                let text = format!("sends request {} again under another Idempotency-Key", open.number);
                find(Rule::SameKey, text);
            }
        }
    }
}

fn judge_repeat(one: &Sent, last: &Sent, find: &mut impl FnMut(Rule, String)) {
    let waited = one.at.checked_sub(last.answered_at);
    if let (Some(waited), Some(seconds)) = (waited, last.retry_after)
        && waited + TOLERANCE < Duration::from_secs(seconds)
    {
        let text = format!(
            "is sent again {} ms after request {}, whose Retry-After was {seconds} s",
            waited.as_millis(),
            last.number
        );
        find(Rule::RetryAfter, text);
    }
    // What was sent before the decline came is no repetition of it.
    if one.is_change()
        && one.follows(last)
        && last.status.is_some()
        && Decline::from_code(&last.code).is_some()
    {
        find(
            Rule::Decline,
            format!("is sent again, although request {} was declined: {}", last.number, last.code),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A charge that came at this millisecond.
    fn charge(number: usize, at: u64, key: &str, fingerprint: &str) -> Sent {
        Sent {
            number,
            at: Duration::from_millis(at),
            answered_at: Duration::from_millis(at),
            method: "POST".to_owned(),
            is_judged: true,
            fingerprint: fingerprint.to_owned(),
            idempotency_key: (!key.is_empty()).then(|| key.to_owned()),
            status: Some(201),
            ..Sent::default()
        }
    }

    fn rules(sent: &[Sent]) -> Vec<(Rule, Option<usize>)> {
        judge(sent).into_iter().map(|finding| (finding.rule, finding.request)).collect()
    }

    #[test]
    fn a_good_client_is_without_findings() {
        let lost = Sent { status: None, ..charge(1, 0, "a", "x") };
        let busy = Sent { status: Some(503), retry_after: Some(1), ..charge(2, 10, "a", "x") };
        let read = Sent { method: "GET".to_owned(), idempotency_key: None, ..charge(5, 2000, "", "z") };
        assert_eq!(rules(&[lost, busy, charge(3, 1010, "a", "x"), charge(4, 1020, "b", "y"), read]), []);
        // Two payments of the same amount.
        assert_eq!(rules(&[charge(1, 0, "a", "x"), charge(2, 1, "b", "x")]), []);
    }

    #[test]
    fn each_rule_is_found_where_it_is_broken() {
        let lost = Sent { status: None, ..charge(1, 0, "a", "x") };
        let busy = Sent { status: Some(503), retry_after: Some(1), ..charge(1, 0, "a", "x") };
        let declined = Sent { status: Some(400), code: "card_declined".to_owned(), ..charge(1, 0, "a", "x") };
        let odd = Sent {
            unread: vec!["crad".to_owned()],
            secrets: vec!["key".to_owned()],
            ..charge(2, 5, "b", "y")
        };
        for (first, second, expected) in [
            (charge(1, 0, "a", "x"), charge(2, 5, "", "y"), &[Rule::IdempotencyKey][..]),
            (lost.clone(), charge(2, 5, "b", "x"), &[Rule::SameKey]),
            (lost, charge(2, 5, "a", "y"), &[Rule::SameRequest]),
            (busy, charge(2, 900, "a", "x"), &[Rule::RetryAfter]),
            (declined, charge(2, 5, "b", "x"), &[Rule::Decline]),
            (charge(1, 0, "a", "x"), odd, &[Rule::Parameters, Rule::Secrets]),
        ] {
            let expected: Vec<_> = expected.iter().map(|rule| (*rule, Some(2))).collect();
            assert_eq!(rules(&[second, first]), expected);
        }
    }

    #[test]
    fn two_payments_that_are_made_at_once_are_not_one_that_is_sent_again() {
        let lost = Sent { status: None, ..charge(1, 0, "a", "x") };
        let other = charge(2, 5, "b", "x");
        assert_eq!(rules(&[lost.clone(), other.clone(), charge(3, 10, "a", "x")]), []);
        assert_eq!(rules(&[lost, other, charge(3, 10, "c", "x")]), [(Rule::SameKey, Some(2))]);
    }

    #[test]
    fn what_the_sandbox_declined_on_request_may_be_sent_without_the_request() {
        let declined = Sent {
            status: Some(400),
            code: "card_declined".to_owned(),
            wished: [Some(b"card_declined".to_vec()), None],
            ..charge(1, 0, "a", "x")
        };
        assert_eq!(rules(&[declined.clone(), charge(2, 5, "b", "x")]), []);
        let again = Sent { wished: declined.wished.clone(), ..charge(2, 5, "b", "x") };
        assert_eq!(rules(&[declined, again]), [(Rule::Decline, Some(2))]);
    }

    #[test]
    fn requests_that_prepare_the_sandbox_are_not_judged() {
        let prepared = Sent { is_judged: false, ..charge(1, 0, "", "x") };
        assert_eq!(rules(&[prepared]), []);
    }
}
