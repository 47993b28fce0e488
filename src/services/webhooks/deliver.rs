//! Delivers one webhook: sends the request, records its outcome and plans the retry.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::mutants::{self, Mutant};
use base::random::RandomStream;
use base::trace::{self, SpanKind};
use bytes::Bytes;
use entity::webhook::WebhookState;
use entity::{
    AccountToken, EventToken, JsonText, TimeSpan, Timestamp, WebhookEndpointToken, WebhookToken, account,
};
use futures::future::join_all;
use outbound::limits::WEBHOOK_TIMEOUT;
use outbound::signature;
use sea_orm::{ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use serde_json::{Map, Value};
use store::{Tx, about};

use super::inboxes::{self, receive};
use super::lease;
use super::state::{WebhookAction, next};
use crate::error::Error;
use crate::limits::{WEBHOOK_LEASE, WEBHOOK_REREAD_AFTER, WEBHOOK_RETRIES};
use crate::services::context::Context;
use crate::services::webhook_endpoints::keys::SigningKeys;
use crate::services::webhooks::view::{WebhookError, WebhookErrorCode};

/// A webhook leased to this process, with everything its delivery needs.
pub struct LeasedWebhook {
    pub(super) account: AccountToken,
    pub(super) webhook: WebhookToken,
    pub(super) attempt: i32,
    pub(super) leased_until: Timestamp,
    pub(super) due_at: Option<Timestamp>,
    pub(super) state: WebhookState,
    pub(super) retries: i32,
    pub(super) errors: JsonText,
    /// The endpoint that receives it.
    pub endpoint: WebhookEndpointToken,
    pub(super) url: String,
    pub(super) keys: SigningKeys,
    pub(super) event: EventToken,
    pub(super) body: Bytes,
    pub(super) clock_offset: TimeSpan,
    /// The trace of the request or worker that caused the event.
    pub(super) trace: Option<trace::TraceContext>,
}

/// A finished delivery.
pub struct DeliveryAttempt {
    leased: LeasedWebhook,
    /// The reason why the endpoint did not accept it, if so.
    refused: Option<WebhookError>,
    /// The time it finished, by the wall clock.
    at: Timestamp,
    /// Whether an inbox has it, which shows it before its outcome is recorded.
    is_in_inbox: bool,
    /// Random bytes for the jitter of the pause before the next attempt.
    share: [u8; 2],
}

impl DeliveryAttempt {
    /// Returns whether the endpoint accepted the webhook.
    pub fn accepted(&self) -> bool {
        self.refused.is_none()
    }
}

/// The webhook's new state after a delivery.
#[derive(Debug, Clone)]
struct DeliveryOutcome {
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

/// Posts the event to the endpoint's URL. Returns `None` if the lease would expire before an answer, because another process
/// may hold it by then, or if the endpoint has gone while the webhook waited for its turn.
pub async fn send(ctx: &Context, mut leased: LeasedWebhook) -> Result<Option<DeliveryAttempt>, Error> {
    let wall = ctx.clock.now();
    let answer_millis = i64::try_from(WEBHOOK_TIMEOUT.as_millis()).unwrap_or(i64::MAX);
    if leased.leased_until < wall + TimeSpan::from_millis(answer_millis) {
        return Ok(None);
    }
    if wall > leased.leased_until - WEBHOOK_LEASE + WEBHOOK_REREAD_AFTER {
        let Some(reloaded) = lease::reload(ctx, &leased).await? else { return Ok(None) };
        leased = reloaded;
    }
    let keys = leased.keys.at(wall + leased.clock_offset);
    let mut headers = signature::headers(keys, &leased.event.to_string(), wall, &leased.body)?;
    headers.insert("webhook-attempt", (leased.retries + 1).into());
    let mut span = span(&leased);
    headers.extend(span.context().map(trace::TraceContext::headers).unwrap_or_default());
    let inbox = inboxes::by_url(ctx, leased.account, &leased.url).await?;
    let answer = match inbox {
        Some(inbox) => receive::deliver(ctx, inbox, &headers, &leased.body).await?,
        None => ctx.outbound.post(&leased.url, headers, leased.body.clone(), WEBHOOK_TIMEOUT).await,
    };
    if let Ok(code) = answer {
        span.set_number("http.response.status_code", code.into());
    }
    let at = ctx.clock.now();
    let refused = match answer {
        Ok(200..=299) => None,
        Ok(code) => Some(WebhookError {
            error: WebhookErrorCode::UNEXPECTED_HTTP_CODE,
            error_description: format!("The endpoint answered with HTTP status {code}"),
        }),
        Err(_) if mutants::is(Mutant::LostAnswerAccepts) => None,
        Err(unreached) => Some(WebhookError {
            error: unreached.code(),
            error_description: unreached.description().to_owned(),
        }),
    };
    if let Some(refused) = &refused {
        span.fail(refused.error);
    }
    let share = ctx.random.bytes_of(RandomStream::Retry, &format!("{} {}", leased.webhook, leased.attempt));
    Ok(Some(DeliveryAttempt { leased, refused, at, is_in_inbox: inbox.is_some(), share }))
}

/// Starts the delivery's span. It names the account and the endpoint, but never the URL's text.
fn span(leased: &LeasedWebhook) -> trace::Span {
    let mut span = trace::Span::after("webhook delivery", SpanKind::Client, leased.trace);
    span.set_attribute("card_payments.account", leased.account);
    span.set_attribute("card_payments.webhook", leased.webhook);
    span.set_attribute("card_payments.webhook_endpoint", leased.endpoint);
    span.set_attribute("card_payments.event", leased.event);
    span.set_number("card_payments.attempt", leased.attempt.into());
    span
}

/// Computes the webhook's next state; `now` is the account's time.
fn outcome(delivered: DeliveryAttempt, now: Timestamp) -> Result<DeliveryOutcome, Error> {
    let DeliveryAttempt { leased, refused, share, .. } = delivered;
    let retry = usize::try_from(leased.retries).ok().and_then(|planned| WEBHOOK_RETRIES.get(planned));
    let (action, due_at) = match (&refused, retry) {
        (None, _) => (WebhookAction::Accepted, None),
        (Some(_), Some(pause)) => {
            // On a whole second, as `next_run` shows it: a clock that is moved there finds it due.
            (WebhookAction::Refused, Some((now + jittered(*pause, share)).next_second()))
        }
        (Some(_), None) => (WebhookAction::RefusedAtLast, None),
    };
    let state =
        next(leased.state, action).map_err(|_| Error::internal("a webhook was not to be delivered"))?;
    Ok(DeliveryOutcome {
        account: leased.account,
        webhook: leased.webhook,
        attempt: leased.attempt,
        leased_until: leased.leased_until,
        state,
        retries: leased.retries + i32::from(due_at.is_some() && !mutants::is(Mutant::RetryNotCounted)),
        errors: match &refused {
            Some(error) => with_error(&leased.errors, now, error)?,
            None => leased.errors,
        },
        due_at,
        accepted_at: refused.is_none().then_some(now),
    })
}

/// Lengthens a pause by up to a tenth, so that deliveries that failed together are not retried together.
fn jittered(pause: TimeSpan, share: [u8; 2]) -> TimeSpan {
    let tenth = pause.millis() / 10;
    let share = i64::from(u16::from_be_bytes(share));
    TimeSpan::from_millis(pause.millis() + tenth * share / i64::from(u16::MAX))
}

/// Adds an error to the stored ones, keyed by its time.
fn with_error(errors: &JsonText, now: Timestamp, error: &WebhookError) -> Result<JsonText, Error> {
    let mut errors: Map<String, Value> = serde_json::from_str(errors.as_str())?;
    let at = now.to_string().replace('T', " ").replace('Z', " UTC");
    errors.insert(at, serde_json::to_value(error)?);
    Ok(JsonText::encode(&errors)?)
}

/// Records the outcomes of deliveries in one statement, each only if its webhook is still leased for the same attempt.
/// The attempt's number alone is not enough: it repeats after a snapshot is restored.
pub async fn record(ctx: &Context, delivered: Vec<DeliveryAttempt>) -> Result<(), Error> {
    if delivered.is_empty() {
        return Ok(());
    }
    let offsets = offsets(ctx, &delivered).await?;
    // One that cannot be recorded must not block the others.
    let outcomes = delivered.into_iter().filter_map(|it| {
        // With a seed, a delivery happens at its due time, even if the clock has been moved since.
        let due_at = it.leased.due_at.filter(|_| ctx.random.is_seeded());
        // A test that has seen the delivery moves the clock to its retry.
        let offset = offsets.get(&it.leased.account).filter(|_| !it.is_in_inbox);
        let offset = offset.copied().unwrap_or(it.leased.clock_offset);
        let now = due_at.unwrap_or((it.at + offset).last_second());
        outcome(it, now).inspect_err(|error| tracing::error!(%error, "a delivery cannot be recorded")).ok()
    });
    // The restore of a fenced account ends its leases.
    let outcomes: Vec<_> = outcomes.filter(|it| !ctx.store.is_fenced(it.account)).collect();
    if outcomes.is_empty() {
        return Ok(());
    }
    let outcomes: Arc<[_]> = outcomes.into();
    if write_outcomes(ctx, Arc::clone(&outcomes)).await.is_ok() {
        return Ok(());
    }
    // The rows of one account may be locked by their restore: the others' outcomes do not wait for it.
    let mut of_accounts: HashMap<_, Vec<_>> = HashMap::new();
    for outcome in outcomes.iter() {
        of_accounts.entry(outcome.account).or_default().push(outcome.clone());
    }
    let written =
        join_all(of_accounts.into_values().map(|outcomes| write_outcomes(ctx, outcomes.into()))).await;
    written.into_iter().collect()
}

async fn write_outcomes(ctx: &Context, outcomes: Arc<[DeliveryOutcome]>) -> Result<(), Error> {
    ctx.store.write(outcomes, async |tx, outcomes| update(tx, outcomes).await).await
}

/// Reads the accounts' clock offsets again: a clock may have been moved during the delivery.
async fn offsets(
    ctx: &Context,
    delivered: &[DeliveryAttempt],
) -> Result<HashMap<AccountToken, TimeSpan>, Error> {
    let accounts: HashSet<_> = delivered.iter().map(|it| it.leased.account).collect();
    let offsets = account::Entity::find()
        .filter(account::Column::Id.is_in(accounts))
        .select_only()
        .columns([account::Column::Id, account::Column::ClockOffset])
        .into_tuple()
        .all(ctx.store.read());
    Ok(offsets.await?.into_iter().collect())
}

async fn update(tx: &Tx, outcomes: &[DeliveryOutcome]) -> Result<(), Error> {
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
        let twice = with_error(&once, at + TimeSpan::seconds(60), &error).unwrap();
        assert_eq!(
            twice.as_str(),
            r#"{"2026-03-02 10:00:00 UTC":{"error":"timeout","error_description":"too late"},"2026-03-02 10:01:00 UTC":{"error":"timeout","error_description":"too late"}}"#
        );
    }
}
