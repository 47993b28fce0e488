//! One delivery: the request, what came of it, and when it is tried again.

use bytes::Bytes;
use entity::webhook::WebhookState;
use entity::{AccountToken, EventToken, JsonText, Span, Timestamp, WebhookEndpointToken, WebhookToken};
use futures::FutureExt;
use sea_orm::{ActiveEnum, ConnectionTrait};
use serde_json::{Map, Value};

use super::sign;
use super::state::{Action, next};
use crate::error::Error;
use crate::limits::{WEBHOOK_ANSWER, WEBHOOK_RETRIES};
use crate::random::Draw;
use crate::services::context::Context;
use crate::services::webhook_endpoints::keys::SigningKeys;
use crate::store::{Tx, about};
use crate::trace::{self, Kind};
use crate::views::webhook::WebhookError;

/// A webhook that this process holds, with all that its delivery needs.
pub struct Parcel {
    pub(super) account: AccountToken,
    pub(super) webhook: WebhookToken,
    pub(super) attempt: i32,
    pub(super) leased_until: Timestamp,
    pub(super) due_at: Option<Timestamp>,
    pub(super) state: WebhookState,
    pub(super) retries: i32,
    pub(super) errors: JsonText,
    /// Whom it tells.
    pub endpoint: WebhookEndpointToken,
    pub(super) url: String,
    pub(super) keys: SigningKeys,
    pub(super) event: EventToken,
    pub(super) body: Bytes,
    pub(super) clock_offset: Span,
    /// Of whatever made the event happen.
    pub(super) trace: Option<trace::Context>,
}

/// What came of a delivery.
#[derive(Debug)]
pub struct Outcome {
    account: AccountToken,
    webhook: WebhookToken,
    attempt: i32,
    leased_until: Timestamp,
    state: WebhookState,
    retries: i32,
    errors: JsonText,
    due_at: Option<Timestamp>,
    accepted_at: Option<Timestamp>,
}

impl Outcome {
    /// Whether the endpoint accepted it.
    pub fn accepted(&self) -> bool {
        self.accepted_at.is_some()
    }
}

/// Request the URL. `None` where the lease would not last for an answer: then somebody else may hold it by now.
pub async fn send(ctx: &Context, parcel: Parcel) -> Result<Option<Outcome>, Error> {
    let wall = ctx.clock.now();
    let answer_millis = i64::try_from(WEBHOOK_ANSWER.as_millis()).unwrap_or(i64::MAX);
    if parcel.leased_until < wall + Span::from_millis(answer_millis) {
        return Ok(None);
    }
    let keys = parcel.keys.at(wall + parcel.clock_offset);
    let mut headers = sign::headers(keys, &parcel.event.to_string(), wall, &parcel.body)?;
    let mut span = span(&parcel);
    headers.extend(span.context().map(trace::Context::headers).unwrap_or_default());
    let answer = ctx.outbound.post(&parcel.url, headers, parcel.body.clone(), WEBHOOK_ANSWER).await;
    if let Ok(code) = answer {
        span.tell_number("http.response.status_code", code.into());
    }
    // Where a seed decides, it happens when it is due, however far a clock has been moved since.
    let due_at = parcel.due_at.filter(|_| ctx.chance.is_seeded());
    let now = due_at.unwrap_or((ctx.clock.now() + parcel.clock_offset).last_second());
    let refused = match answer {
        Ok(200..=299) => None,
        Ok(code) => Some(WebhookError {
            error: "unexpected_http_code",
            error_description: format!("The endpoint answered with HTTP status {code}"),
        }),
        Err(unreached) => Some(WebhookError {
            error: unreached.code(),
            error_description: unreached.description().to_owned(),
        }),
    };
    if let Some(refused) = &refused {
        span.fail(refused.error);
    }
    let share = ctx.chance.bytes_of(Draw::Retry, &format!("{} {}", parcel.webhook, parcel.attempt));
    outcome(parcel, now, refused.as_ref(), share).map(Some)
}

/// What is told of a delivery: whose URL it is, and not what that says.
fn span(parcel: &Parcel) -> trace::Span {
    let mut span = trace::Span::after("webhook delivery", Kind::Client, parcel.trace);
    span.tell("card_payments.account", parcel.account);
    span.tell("card_payments.webhook", parcel.webhook);
    span.tell("card_payments.webhook_endpoint", parcel.endpoint);
    span.tell("card_payments.event", parcel.event);
    span.tell_number("card_payments.attempt", parcel.attempt.into());
    span
}

/// Where the webhook goes from here; `now` is the account's, `share` is chance's.
fn outcome(
    parcel: Parcel,
    now: Timestamp,
    refused: Option<&WebhookError>,
    share: [u8; 2],
) -> Result<Outcome, Error> {
    let retry = usize::try_from(parcel.retries).ok().and_then(|planned| WEBHOOK_RETRIES.get(planned));
    let (action, due_at) = match (refused, retry) {
        (None, _) => (Action::Accepted, None),
        (Some(_), Some(pause)) => (Action::Refused, Some(now + jittered(*pause, share))),
        (Some(_), None) => (Action::RefusedAtLast, None),
    };
    let state =
        next(parcel.state, action).map_err(|_| Error::internal("a webhook was not to be delivered"))?;
    Ok(Outcome {
        account: parcel.account,
        webhook: parcel.webhook,
        attempt: parcel.attempt,
        leased_until: parcel.leased_until,
        state,
        retries: parcel.retries + i32::from(due_at.is_some()),
        errors: match refused {
            Some(error) => with_error(&parcel.errors, now, error)?,
            None => parcel.errors,
        },
        due_at,
        accepted_at: refused.is_none().then_some(now),
    })
}

/// Up to a tenth longer, so that what failed together does not come back together.
fn jittered(pause: Span, share: [u8; 2]) -> Span {
    let tenth = pause.millis() / 10;
    let share = i64::from(u16::from_be_bytes(share));
    Span::from_millis(pause.millis() + tenth * share / i64::from(u16::MAX))
}

/// One more error, under its time.
fn with_error(errors: &JsonText, now: Timestamp, error: &WebhookError) -> Result<JsonText, Error> {
    let mut errors: Map<String, Value> = serde_json::from_str(errors.as_str())?;
    let at = now.to_string().replace('T', " ").replace('Z', " UTC");
    errors.insert(at, serde_json::to_value(error)?);
    Ok(JsonText::of(&errors)?)
}

/// Record what came of deliveries, all in one statement: of those whose webhook is still leased for the same attempt. The
/// number alone would not do: it comes again after a snapshot was put back.
pub async fn record(ctx: &Context, outcomes: Vec<Outcome>) -> Result<(), Error> {
    if outcomes.is_empty() {
        return Ok(());
    }
    ctx.store.write(outcomes, |tx, outcomes| update(tx, outcomes).boxed()).await
}

async fn update(tx: &Tx, outcomes: &[Outcome]) -> Result<(), Error> {
    let columns = [
        "account_id",
        "id",
        "attempt",
        "leased_until",
        "state",
        "retries",
        "errors",
        "due_at",
        "accepted_at",
    ];
    let rows = outcomes.iter().map(|it| {
        vec![
            it.account.into(),
            it.webhook.into(),
            it.attempt.into(),
            it.leased_until.into(),
            it.state.to_value().into(),
            it.retries.into(),
            it.errors.clone().into(),
            it.due_at.into(),
            it.accepted_at.into(),
        ]
    });
    let statement = about(
        tx.get_database_backend(),
        &columns,
        rows.collect(),
        "UPDATE webhooks SET state = v.state, retries = v.retries, errors = v.errors, due_at = v.due_at, \
         accepted_at = v.accepted_at, leased_until = NULL FROM v \
         WHERE webhooks.account_id = v.account_id AND webhooks.id = v.id AND webhooks.attempt = v.attempt \
         AND webhooks.leased_until = v.leased_until",
    );
    Ok(tx.execute_raw(statement).await.map(drop)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_grows_by_a_tenth_at_most() {
        for pause in WEBHOOK_RETRIES {
            for share in [0, 1, 0x7fff, 0xfffe, u16::MAX] {
                let longer = jittered(pause, share.to_be_bytes()).millis() - pause.millis();
                assert!((0..=pause.millis() / 10).contains(&longer), "{longer} of {pause:?}");
            }
        }
    }

    #[test]
    fn errors_are_kept_by_date_and_time_in_the_order_they_came() {
        let error = WebhookError { error: "timeout", error_description: "too late".into() };
        let at = Timestamp::from_millis(1_772_445_600_999);
        let once = with_error(&JsonText::empty_object(), at, &error).unwrap();
        let twice = with_error(&once, at + Span::seconds(60), &error).unwrap();
        assert_eq!(
            twice.as_str(),
            r#"{"2026-03-02 10:00:00 UTC":{"error":"timeout","error_description":"too late"},"2026-03-02 10:01:00 UTC":{"error":"timeout","error_description":"too late"}}"#
        );
    }
}
