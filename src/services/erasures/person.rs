//! The units that rewrite a customer's rows. Each finds the rows again and changes only what is personal, so it may run twice
//! and beside the payments of others.

use entity::charge::{self, ChargeState, Origin};
use entity::counter::Counted;
use entity::subscription::{self, SubscriptionState};
use entity::{
    AccountToken, CardToken, ChargeToken, CustomerToken, DisputeToken, FileToken, JsonText, Listed, Owned,
    Timestamp, card, customer, dispute, erasure, event, evidence, file, inbox_delivery, three_d_secure,
};
use sea_orm::sea_query::{Condition, Expr, ExprTrait, LockType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, ModelTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
};
use store::Tx;

use super::columns::erased;
use crate::error::Error;
use crate::services::{counts, customers, events, files, search_text, subscriptions};

/// The number of charges, with all that belongs to them, that one transaction rewrites.
const ERASED_CHARGES: u64 = 25;
/// The number of deliveries of inboxes that one transaction rewrites.
const ERASED_DELIVERIES: u64 = 100;

/// Returns the unfinished business with a customer, if there is any, as a sentence.
pub async fn business(
    db: &impl ConnectionTrait,
    account: AccountToken,
    customer: CustomerToken,
    now: Timestamp,
) -> Result<Option<&'static str>, Error> {
    use charge::{COLUMN, Column};

    let running = [
        SubscriptionState::Starting,
        SubscriptionState::Trial,
        SubscriptionState::Active,
        SubscriptionState::Cancelling,
    ];
    let subscriptions = subscription::Entity::owned_by(account)
        .filter(subscription::Column::CustomerId.eq(customer))
        .filter(subscription::Column::State.is_in(running));
    if subscriptions.count(db).await? > 0 {
        return Ok(Some("the customer has a running subscription: cancel it first"));
    }
    let unfinished = "a payment of the customer is not finished: capture or void it, or wait for its refund";
    // One whose outcome is unknown has an index of its own: neither of the two parts finds a new charge in flight.
    let unsettled = charge::Entity::owned_by(account)
        .filter(Column::SettleAfter.is_not_null())
        .filter(Column::CustomerId.eq(customer));
    if unsettled.count(db).await? > 0 {
        return Ok(Some(unfinished));
    }
    let open_payments = Condition::any()
        .add(Column::State.eq(ChargeState::Pending))
        .add(Column::State.eq(ChargeState::Authorised).and(COLUMN.expires_at.gt(now)))
        .add(Column::RefundsPending.gt(0));
    let open = [
        (open_payments, unfinished),
        (
            Condition::all().add(Column::DisputesOpen.gt(0)),
            "a payment of the customer is disputed: wait until that is decided",
        ),
    ];
    for (condition, reason) in open {
        for part in PARTS {
            let charges = charges_of(account, customer, part).filter(condition.clone());
            if charges.count(db).await? > 0 {
                return Ok(Some(reason));
            }
        }
    }
    Ok(None)
}

/// The two indexes that find a customer's charges.
pub const PARTS: [&str; 2] = [charge::LISTED, charge::UNLISTED];

fn charges_of(
    account: AccountToken,
    customer: CustomerToken,
    part: &'static str,
) -> sea_orm::Select<charge::Entity> {
    charge::Entity::owned_by(account).filter(charge::Column::CustomerId.eq(customer)).filter(Expr::cust(part))
}

/// Returns whether anything names the customer.
pub async fn is_known(tx: &Tx, account: AccountToken, customer: CustomerToken) -> Result<bool, Error> {
    if customer::Entity::at(account, customer).count(tx).await? > 0
        || erasure::Entity::at(account, customer).count(tx).await? > 0
    {
        return Ok(true);
    }
    for part in PARTS {
        if charges_of(account, customer, part).limit(1).count(tx).await? > 0 {
            return Ok(true);
        }
    }
    let about = events::about(tx.get_database_backend(), &customer.to_string());
    Ok(event::Entity::owned_by(account).filter(about).count(tx).await? > 0)
}

/// Locks a customer until the commit, so that no business with it begins. Returns its row, if it is not deleted.
pub async fn lock_customer(
    tx: &Tx,
    account: AccountToken,
    customer: CustomerToken,
) -> Result<Option<customer::Model>, Error> {
    Ok(customer::Entity::at(account, customer).lock(LockType::Update).one(tx).await?)
}

/// Erases the customer's own rows and then deletes it, as DELETE /customers does, if it is still there: so the last event does not
/// name it any more.
pub async fn delete_customer(tx: &Tx, row: &erasure::Model, now: Timestamp) -> Result<(), Error> {
    let Some(found) = lock_customer(tx, row.account_id, row.id).await? else { return Ok(()) };
    let customer = erased(&found)?;
    tx.update(&found, &customer).await?;
    let cards = card::Entity::owned_by(row.account_id).filter(card::Column::CustomerId.eq(row.id));
    for card in cards.all(tx).await? {
        tx.update(&card, &erased(&card)?).await?;
    }
    let tokens = customers::delete::card_tokens(tx, row.account_id, row.id).await?;
    let with_cards = erasure::Model { cards: JsonText::encode(&tokens)?, ..row.clone() };
    write(tx, row, &with_cards).await?;
    subscriptions::delete_customer(tx, &customer, now, None).await
}

/// Erases the events about a record.
pub async fn erase_events(tx: &Tx, account: AccountToken, record: &str) -> Result<u64, Error> {
    let about = events::about(tx.get_database_backend(), record);
    let rows = event::Entity::owned_by(account).filter(about).all(tx).await?;
    for row in &rows {
        replace(tx, row).await?;
    }
    Ok(rows.len() as u64)
}

/// Writes the row's substitutes.
async fn replace<M: ModelTrait + PartialEq>(tx: &Tx, row: &M) -> Result<(), Error> {
    write(tx, row, &erased(row)?).await
}

/// Writes the erased row if it differs. A row that is deleted meanwhile stays deleted.
async fn write<M: ModelTrait + PartialEq>(tx: &Tx, row: &M, erased: &M) -> Result<(), Error> {
    if row != erased {
        tx.compare_and_swap(row, erased, &[]).await?;
    }
    Ok(())
}

/// A batch of a customer's charges.
pub struct ChargesUnit {
    pub account: AccountToken,
    pub customer: CustomerToken,
    /// One of [`PARTS`].
    pub part: &'static str,
    /// The last charge of the batch before.
    pub after: Option<ChargeToken>,
    /// By the wall clock.
    pub wall: Timestamp,
}

/// The result of a batch: the numbers of records that it has rewritten.
#[derive(Debug, Default, Clone, Copy)]
pub struct Batch {
    /// The last charge; `None` at the end.
    pub last: Option<ChargeToken>,
    pub charges: u64,
    pub events: u64,
    /// The number of deleted files.
    pub files: u64,
}

impl ChargesUnit {
    /// Erases the charges with their words, events, sessions, disputes' evidence and files.
    pub async fn record(&self, tx: &Tx) -> Result<Batch, Error> {
        let mut charges = charges_of(self.account, self.customer, self.part);
        if let Some(after) = self.after {
            charges = charges.filter(charge::Column::Id.gt(after));
        }
        let charges = charges.order_by_asc(charge::Column::Id).limit(ERASED_CHARGES).all(tx).await?;
        let last = charges.last().map(|charge| charge.id);
        let mut batch = Batch { last, charges: charges.len() as u64, ..Batch::default() };
        for row in &charges {
            let erased = erased(row)?;
            if row.is_listed() && row.search_text != erased.search_text {
                search_text::remove(tx, self.account, row.id.id(), &row.search_text).await?;
                search_text::append(tx, self.account, row.id.id(), &erased.search_text);
                counts::add(tx, self.account, Counted::ErasedCharges, 1);
            }
            write(tx, row, &erased).await?;
            batch.events += erase_events(tx, self.account, &row.token()).await?;
            if row.origin == Origin::Challenge {
                let sessions = three_d_secure::Entity::owned_by(self.account)
                    .filter(three_d_secure::Column::ChargeId.eq(row.id));
                for session in sessions.all(tx).await? {
                    replace(tx, &session).await?;
                }
            }
            let disputes =
                dispute::Entity::owned_by(self.account).filter(dispute::Column::ChargeId.eq(row.id));
            for dispute in disputes.all(tx).await? {
                batch.events += erase_events(tx, self.account, &dispute.id.to_string()).await?;
                batch.files += self.erase_evidence(tx, dispute.id).await?;
            }
        }
        Ok(batch)
    }

    /// Replaces the texts and the files of a dispute by a text, and deletes the files that no other dispute has. Returns how many.
    async fn erase_evidence(&self, tx: &Tx, dispute: DisputeToken) -> Result<u64, Error> {
        use evidence::Column;

        let evidence = evidence::Entity::owned_by(self.account).filter(Column::DisputeId.eq(dispute));
        let evidence = evidence.all(tx).await?;
        for row in &evidence {
            // There is no evidence without any text or file.
            let text = Some(row.text.clone().unwrap_or_default());
            let text = erased(&evidence::Model { text, ..row.clone() })?;
            // At once: the search for other evidence with the same file is to see it.
            tx.update(row, &evidence::Model { file_id: None, ..text }).await?;
        }
        let mut deleted = 0;
        for id in evidence.iter().filter_map(|row| row.file_id) {
            deleted += u64::from(self.delete_file(tx, id).await?);
        }
        Ok(deleted)
    }

    async fn delete_file(&self, tx: &Tx, id: FileToken) -> Result<bool, Error> {
        // The lock keeps other units from adding the file to a batch of evidence.
        let file = file::Entity::at(self.account, id).lock(LockType::NoKeyUpdate).one(tx).await?;
        let of_others = evidence::Entity::owned_by(self.account).filter(evidence::Column::FileId.eq(id));
        if file.is_none() || of_others.count(tx).await? > 0 {
            return Ok(false);
        }
        files::remove(tx, self.account, id, self.wall).await?;
        Ok(true)
    }
}

/// Erases a batch of what inboxes got about any of these ids, after a delivery. Returns the last delivery of the batch; `None` at
/// the end.
pub async fn erase_deliveries(
    tx: &Tx,
    account: AccountToken,
    ids: &[String],
    after: Option<entity::InboxDeliveryToken>,
) -> Result<Option<entity::InboxDeliveryToken>, Error> {
    use inbox_delivery::Column;

    let backend = tx.get_database_backend();
    let theirs = ids
        .iter()
        .fold(Condition::any(), |any, id| any.add(search_text::holds(backend, Column::Body.into_expr(), id)));
    let mut rows = inbox_delivery::Entity::owned_by(account).filter(theirs);
    if let Some(after) = after {
        rows = rows.filter(Column::Id.gt(after));
    }
    let rows = rows.order_by_asc(Column::Id).limit(ERASED_DELIVERIES).all(tx).await?;
    for row in &rows {
        replace(tx, row).await?;
    }
    Ok(rows.last().map(|row| row.id))
}

/// Returns the parts by which texts name the customer and the cards that it had or paid with, whatever the kind of token: a payment
/// source has its card's id.
pub async fn ids(db: &impl ConnectionTrait, row: &erasure::Model) -> Result<Vec<String>, Error> {
    let mut cards: Vec<CardToken> = serde_json::from_str(row.cards.as_str())?;
    for part in PARTS {
        let paid =
            charges_of(row.account_id, row.id, part).select_only().column(charge::Column::CardId).distinct();
        cards.extend(paid.into_tuple::<CardToken>().all(db).await?);
    }
    let tokens = cards.iter().map(CardToken::to_string).chain([row.id.to_string()]);
    Ok(tokens.filter_map(|token| Some(token.split_once('_')?.1.to_owned())).collect())
}
