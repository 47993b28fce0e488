//! Receives what is sent to an inbox: this server's own webhooks without a network, and requests from outside.

use std::sync::Arc;
use std::time::Duration;

use base::request_permits::release_permit;
use entity::inbox::{self, InboxFault, SignatureVerdict};
use entity::inbox_delivery::Column;
use entity::{
    AccountToken, InboxDeliveryToken, InboxToken, JsonText, Owned, Timestamp, account, inbox_delivery,
    webhook_endpoint,
};
use http::{HeaderMap, header};
use outbound::limits::WEBHOOK_TIMEOUT;
use outbound::{OutboundError, signature};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::{Map, Value};
use store::Tx;
use tokio::time::{Instant, sleep};

use super::{PATH, lock};
use crate::error::Error;
use crate::limits::INBOX_DELIVERIES_KEPT;
use crate::services::context::Context;
use crate::services::memory::arrivals::{Arrivals, Topic};
use crate::services::webhook_endpoints::keys::SealedKeys;

/// The answer of an inbox to one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxReply {
    /// An HTTP status, after a delay.
    Status(u16, Duration),
    /// No answer.
    Fault(InboxFault),
}

/// Delivers a webhook to an inbox. Returns the status of its answer, or why there is none; an inbox that does not exist answers
/// as any unknown address does.
pub async fn deliver(
    ctx: &Context,
    id: InboxToken,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Result<u16, OutboundError>, Error> {
    let body = std::str::from_utf8(body).map_err(|_| Error::internal("a webhook is no text"))?;
    let began = Instant::now();
    Ok(match receive(ctx, id, headers, body).await? {
        // Within the time of an answer, or as none: the lease of the webhook is no longer.
        Some(InboxReply::Status(status, latency)) => {
            release_permit();
            sleep(latency.min(WEBHOOK_TIMEOUT.saturating_sub(began.elapsed()))).await;
            if began.elapsed() < WEBHOOK_TIMEOUT { Ok(status) } else { Err(OutboundError::Timeout) }
        }
        // Both fail at once: nobody has to wait for what is known.
        Some(InboxReply::Fault(InboxFault::Hang)) => Err(OutboundError::Timeout),
        Some(InboxReply::Fault(InboxFault::Reset)) => Err(OutboundError::ConnectionFailed),
        None => Ok(404),
    })
}

/// Records a delivery. Returns the answer that is ordered for it; none if the inbox does not exist.
pub async fn receive(
    ctx: &Context,
    id: InboxToken,
    headers: &HeaderMap,
    body: &str,
) -> Result<Option<InboxReply>, Error> {
    // The senders know no account.
    let inbox = inbox::Entity::find().filter(inbox::Column::Id.eq(id)).one(ctx.store.read()).await?;
    let Some(inbox) = inbox else { return Ok(None) };
    let owner = account::Entity::find_by_id(inbox.account_id).one(ctx.store.read()).await?;
    let Some(owner) = owner.filter(|owner| owner.closed_at.is_none()) else { return Ok(None) };
    let unit = ReceiveUnit {
        account: inbox.account_id,
        inbox: id,
        headers: shown(headers)?,
        body: body.to_owned(),
        signature: verdict(ctx, &owner, id, headers, body).await?,
        now: owner.now(ctx.clock.now()),
        arrivals: Arc::clone(&ctx.memory.arrivals),
    };
    ctx.store.write(unit, async |tx, unit| unit.record(tx).await).await
}

/// Headers that identify the sender are left out: they are secrets.
const SECRET: [http::HeaderName; 3] = [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

/// Returns the headers as an object; several of one name are joined.
fn shown(headers: &HeaderMap) -> Result<JsonText, Error> {
    let mut shown = Map::new();
    for name in headers.keys().filter(|name| !SECRET.contains(name)) {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        shown.insert(name.to_string(), values.collect::<Vec<_>>().join(", ").into());
    }
    Ok(JsonText::encode(&Value::Object(shown))?)
}

/// Verifies the signature by the keys of the endpoint that has the inbox's URL, under whichever name of the server. Returns
/// also a sentence about what is wrong.
async fn verdict(
    ctx: &Context,
    owner: &account::Model,
    inbox: InboxToken,
    headers: &HeaderMap,
    body: &str,
) -> Result<(SignatureVerdict, Option<&'static str>), Error> {
    if !headers.contains_key("webhook-signature") {
        return Ok((SignatureVerdict::Missing, None));
    }
    let (wall, path) = (ctx.clock.now(), format!("{PATH}{inbox}"));
    let endpoints = webhook_endpoint::Entity::owned_by(owner.id).all(ctx.store.read()).await?;
    let mut wrong = "No webhook endpoint has the URL of this inbox";
    for endpoint in endpoints.into_iter().filter(|endpoint| endpoint.url.ends_with(&path)) {
        let id = endpoint.id;
        let keys = SealedKeys::from(endpoint).open(ctx, owner.id, id).await?;
        match signature::verify(keys.at(wall + owner.clock_offset), headers, wall, body.as_bytes()) {
            Ok(()) => return Ok((SignatureVerdict::Valid, None)),
            Err(why) => wrong = why,
        }
    }
    Ok((SignatureVerdict::Invalid, Some(wrong)))
}

/// A delivery that is not recorded yet.
struct ReceiveUnit {
    account: AccountToken,
    inbox: InboxToken,
    headers: JsonText,
    body: String,
    signature: (SignatureVerdict, Option<&'static str>),
    now: Timestamp,
    arrivals: Arc<Arrivals>,
}

impl ReceiveUnit {
    async fn record(&self, tx: &Tx) -> Result<Option<InboxReply>, Error> {
        let Some(row) = lock(tx, self.account, self.inbox).await? else { return Ok(None) };
        let labels = vec![self.inbox.to_string().into()];
        self.arrivals.announce_after(tx, self.account, Topic::Deliveries, labels);
        let received = inbox::Model { received: row.received + 1, ..row.clone() };
        tx.update(&row, &received).await?;
        if received.received.unsigned_abs() > INBOX_DELIVERIES_KEPT {
            self.remove_oldest(tx).await?;
        }
        let reply = reply(&received);
        let (status, fault) = match reply {
            InboxReply::Status(status, _) => (Some(status.into()), None),
            InboxReply::Fault(fault) => (None, Some(fault)),
        };
        // Insert immediately: another unit of the same batch may delete the inbox with its deliveries.
        let delivery = inbox_delivery::Model {
            account_id: self.account,
            // Drawn under the inbox's lock: deliveries are listed by it, so in the order of their numbers if copies' clocks agree.
            id: tx.token(),
            inbox_id: self.inbox,
            number: received.received,
            headers: self.headers.clone(),
            body: self.body.clone(),
            signature: self.signature.0,
            signature_error: self.signature.1.map(str::to_owned),
            status,
            fault,
            created_at: self.now,
        };
        tx.insert(&delivery).await?;
        Ok(Some(reply))
    }

    /// Makes room for one delivery.
    async fn remove_oldest(&self, tx: &Tx) -> Result<(), Error> {
        let deliveries =
            || inbox_delivery::Entity::owned_by(self.account).filter(Column::InboxId.eq(self.inbox));
        let youngest_to_go: Option<InboxDeliveryToken> = deliveries()
            .order_by_desc(Column::Id)
            .offset(INBOX_DELIVERIES_KEPT - 1)
            .select_only()
            .column(Column::Id)
            .into_tuple()
            .one(tx)
            .await?;
        if let Some(id) = youngest_to_go {
            let gone = inbox_delivery::Entity::delete_of(self.account);
            gone.filter(Column::InboxId.eq(self.inbox)).filter(Column::Id.lte(id)).exec(tx).await?;
        }
        Ok(())
    }
}

/// Returns the answer to the inbox's newest delivery.
fn reply(inbox: &inbox::Model) -> InboxReply {
    if inbox.received % inbox.every != 0 {
        return InboxReply::Status(200, Duration::ZERO);
    }
    let latency = Duration::from_millis(inbox.latency_ms.unsigned_abs());
    match inbox.fault {
        Some(fault) => InboxReply::Fault(fault),
        None if latency >= WEBHOOK_TIMEOUT => InboxReply::Fault(InboxFault::Hang),
        None => InboxReply::Status(u16::try_from(inbox.status).unwrap_or(200), latency),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn inbox(received: i64) -> inbox::Model {
        inbox::Model {
            account_id: AccountToken::new(Uuid::nil()),
            id: InboxToken::new(Uuid::nil()),
            status: 503,
            latency_ms: 20,
            fault: None,
            every: 3,
            received,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn the_ordered_answer_is_that_of_each_nth_delivery() {
        let replies: Vec<_> = (1..=7).map(|received| reply(&inbox(received))).collect();
        let (ok, ordered) =
            (InboxReply::Status(200, Duration::ZERO), InboxReply::Status(503, Duration::from_millis(20)));
        assert_eq!(replies, [ok, ok, ordered, ok, ok, ordered, ok]);
    }

    #[test]
    fn an_answer_later_than_a_webhook_waits_is_none() {
        for (latency_ms, expected) in [
            (14_999, InboxReply::Status(503, Duration::from_millis(14_999))),
            (15_000, InboxReply::Fault(InboxFault::Hang)),
        ] {
            assert_eq!(reply(&inbox::Model { latency_ms, ..inbox(3) }), expected);
        }
    }
}
