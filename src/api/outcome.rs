//! The data of an answer that the log shows: the code of a refusal, and the record that it is about. Neither is a secret, and no
//! other part of a body is in the log.

use base::request_context::RequestOutcome;
use entity::token::{Card, PaymentSource, Session, TokenKind, is_token};
use serde::Deserialize;

use crate::response::ApiResponse;

/// The beginning of an answer that shows a record.
const RECORD: &[u8] = b"{\"response\":{\"token\":\"";
/// Tokens that a client pays with, which a reader of the log has no use for.
const OF_PAYERS: [&str; 3] = [Card::PREFIX, PaymentSource::PREFIX, Session::PREFIX];

/// The parts of an error that are of interest.
#[derive(Deserialize)]
struct Refused<'a> {
    error: &'a str,
    charge_token: Option<&'a str>,
    authorisation_token: Option<&'a str>,
}

/// Reads what an answer says. Of one that succeeds only the beginning is read: this is done for each.
pub fn outcome(answer: &ApiResponse) -> RequestOutcome {
    if answer.status < 400 {
        let token = answer.body.strip_prefix(RECORD).and_then(|rest| rest.split(|byte| *byte == b'"').next());
        return RequestOutcome {
            error: None,
            record: record(token.and_then(|token| str::from_utf8(token).ok())),
        };
    }
    // The body of `insufficient_service_balance` is an array.
    let one = answer.body.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    let Ok(refused) = serde_json::from_slice::<Refused<'_>>(one.unwrap_or(&answer.body)) else {
        return RequestOutcome::default();
    };
    let Refused { error, charge_token, authorisation_token } = refused;
    RequestOutcome { error: Some(error.to_owned()), record: record(charge_token.or(authorisation_token)) }
}

fn record(token: Option<&str>) -> Option<String> {
    let is_shown =
        |token: &&str| is_token(token) && !OF_PAYERS.iter().any(|prefix| token.starts_with(prefix));
    token.filter(is_shown).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_its_code_and_its_record_and_nothing_of_how_to_pay() {
        const CHARGE: &str = "ch_AZqYv3rVcBKUQ1mHn7tKRw";
        for (status, body, error, record) in [
            (201, format!(r#"{{"response":{{"token":"{CHARGE}","amount":400}}}}"#), None, Some(CHARGE)),
            (201, r#"{"response":{"token":"card_AZqYv3rVcBKUQ1mHn7tKRw"}}"#.into(), None, None),
            (200, r#"{"response":[{"token":"ch_AZqYv3rVcBKUQ1mHn7tKRw"}]}"#.into(), None, None),
            (204, String::new(), None, None),
            (
                400,
                format!(r#"{{"error":"card_declined","error_description":"\"","charge_token":"{CHARGE}"}}"#),
                Some("card_declined"),
                Some(CHARGE),
            ),
            (
                400,
                r#"[{"error":"insufficient_service_balance"}]"#.into(),
                Some("insufficient_service_balance"),
                None,
            ),
            (500, "no JSON".into(), None, None),
        ] {
            let read = outcome(&ApiResponse { status, body: body.clone().into_bytes() });
            assert_eq!((read.error.as_deref(), read.record.as_deref()), (error, record), "{body}");
        }
    }
}
