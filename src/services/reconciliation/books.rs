//! The card movements of the books, in the order of accounts and journal entries.
//!
//! The acquirer knows one clock, an account has its own. So the time of a movement is that of its entry's id, which is drawn by the
//! wall clock when the entry is written; it also is the key by which a window of time is found.

use std::collections::{HashMap, VecDeque};

use entity::journal_entry::{self, EntryKind};
use entity::posting::{self, Book};
use entity::reconciliation::Movement;
use entity::refund::{self, RefundState};
use entity::{
    AccountToken, AuthorisationToken, ChargeToken, Currency, DisputeToken, JournalEntryToken, Owned,
    RefundToken, TimeSpan, Timestamp, Token, account, charge, dispute, dispute_activity,
};
use sea_orm::{ColumnTrait, DerivePartialModel, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use store::Reader;
use uuid::Uuid;

use super::matching::LedgerSide;
use crate::Store;
use crate::error::Error;
use crate::limits::RECONCILIATION_BATCH;

/// A movement of card money in the books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BookMovement {
    pub account: AccountToken,
    pub entry: JournalEntryToken,
    pub movement: Movement,
    /// The token of the payment or refund that the acquirer was called for.
    pub subject: String,
    pub amount: i64,
    pub currency: Currency,
    /// The time at which it was written, by the wall clock.
    pub at: Timestamp,
}

impl BookMovement {
    /// Returns what a line is compared with.
    pub fn side(&self) -> LedgerSide {
        LedgerSide { amount: self.amount, currency: self.currency, at: self.at }
    }
}

/// The position of a reader: the account and its last entry that was read.
pub(super) type Place = (Option<AccountToken>, Option<JournalEntryToken>);

/// Reads the movements of a window of time, batch after batch.
pub(super) struct Books<'s> {
    store: &'s Store,
    /// The first id of the window, and the first after it.
    window: (JournalEntryToken, JournalEntryToken),
    place: Place,
    /// The accounts after the one in `place`.
    accounts: VecDeque<AccountToken>,
    ended: bool,
}

/// The kinds of entries that move card money at the acquirer. Fees are between the operator and its merchants, transfers and
/// deposits are the bank's.
const KINDS: [EntryKind; 4] =
    [EntryKind::Charge, EntryKind::Refund, EntryKind::RefundReturn, EntryKind::ChargebackRecovery];

/// The time within which a posting's id is drawn after its entry's: in the same call.
const DRAWN_WITHIN: TimeSpan = TimeSpan::seconds(1);

impl<'s> Books<'s> {
    /// Begins after a position.
    pub fn after(store: &'s Store, place: Place, from: Timestamp, to: Timestamp) -> Self {
        let window = (first_id(from), first_id(to));
        Self { store, window, place, accounts: VecDeque::new(), ended: false }
    }

    /// Returns the movements of the next entries, and the position after them; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<(Vec<BookMovement>, Place)>, Error> {
        let (mut movements, mut room) = (Vec::new(), RECONCILIATION_BATCH);
        while !self.ended && room > 0 {
            if let (Some(account), after) = self.place {
                let entries = self.entries(account, after, room).await?;
                room -= entries.len();
                if let Some(last) = entries.last() {
                    self.place = (Some(account), Some(last.id));
                }
                movements.extend(movements_of(self.store.read(), account, entries).await?);
            }
            if room > 0 {
                self.next_account().await?;
            }
        }
        Ok((room < RECONCILIATION_BATCH).then_some((movements, self.place)))
    }

    async fn next_account(&mut self) -> Result<(), Error> {
        if self.accounts.is_empty() {
            let mut rows = account::Entity::find().order_by_asc(account::Column::Id);
            if let (Some(last), _) = self.place {
                rows = rows.filter(account::Column::Id.gt(last));
            }
            let rows = rows.select_only().column(account::Column::Id).limit(RECONCILIATION_BATCH as u64);
            self.accounts = rows.into_tuple::<AccountToken>().all(self.store.read()).await?.into();
        }
        match self.accounts.pop_front() {
            Some(account) => self.place = (Some(account), None),
            None => self.ended = true,
        }
        Ok(())
    }

    async fn entries(
        &self,
        account: AccountToken,
        after: Option<JournalEntryToken>,
        room: usize,
    ) -> Result<Vec<journal_entry::Model>, Error> {
        use journal_entry::Column::{Id, Kind};

        let (first, end) = self.window;
        let entries = journal_entry::Entity::owned_by(account)
            .filter(after.map_or_else(|| Id.gte(first), |after| Id.gt(after)))
            .filter(Id.lt(end))
            .filter(Kind.is_in(KINDS))
            .order_by_asc(Id)
            .limit(room as u64);
        Ok(entries.all(self.store.read()).await?)
    }
}

/// Returns the first id that is drawn at an instant or later.
fn first_id(at: Timestamp) -> JournalEntryToken {
    let millis = u128::from(at.millis().max(0).unsigned_abs());
    Token::new(Uuid::from_u128(millis << 80))
}

/// Returns the time of an id by the wall clock.
fn drawn_at(id: JournalEntryToken) -> Timestamp {
    Timestamp::from_millis(i64::try_from(id.id().as_u128() >> 80).unwrap_or(i64::MAX))
}

/// The columns of a charge that movements need.
#[derive(DerivePartialModel)]
#[sea_orm(entity = "charge::Entity")]
struct Charge {
    id: ChargeToken,
    amount: i64,
    currency: Currency,
    authorisation_id: Option<AuthorisationToken>,
}

impl Charge {
    /// Returns the token of the payment that the acquirer was called for.
    fn subject(&self) -> String {
        self.authorisation_id.map_or_else(|| self.id.to_string(), |authorisation| authorisation.to_string())
    }
}

/// Returns the movements of an account's entries. An entry that the acquirer never accepted is no movement: a declined refund
/// moved no card money.
async fn movements_of(
    db: &Reader,
    account: AccountToken,
    entries: Vec<journal_entry::Model>,
) -> Result<Vec<BookMovement>, Error> {
    let refunds = refunds(db, account, &sources(&entries)).await?;
    let disputes = disputes(db, account, &sources(&entries)).await?;
    let amounts = disputed_amounts(db, &disputes, account).await?;
    let mut charges: Vec<ChargeToken> = sources(&entries);
    charges.extend(disputes.values().map(|dispute| dispute.charge));
    let charges = charges_of(db, account, &charges).await?;
    let chargebacks = chargebacks(db, account, &entries).await?;
    let mut movements = Vec::with_capacity(entries.len());
    for entry in entries {
        let source = &entry.source;
        let moved = match entry.kind {
            EntryKind::Charge => source.parse().ok().and_then(|id: ChargeToken| {
                let charge = charges.get(&id)?;
                Some((Movement::Capture, charge.subject(), charge.amount, charge.currency))
            }),
            EntryKind::Refund | EntryKind::RefundReturn => {
                source.parse().ok().and_then(|id: RefundToken| refunds.get(&id)).map(|&(amount, currency)| {
                    let returned = entry.kind == EntryKind::RefundReturn;
                    let movement = if returned { Movement::RefundReturn } else { Movement::Refund };
                    (movement, source.clone(), amount, currency)
                })
            }
            EntryKind::ChargebackRecovery => {
                let dispute = source.parse().ok().and_then(|id: DisputeToken| disputes.get(&id));
                match (dispute, chargebacks.get(&entry.id)) {
                    (Some(dispute), Some(&booked)) if booked != 0 => {
                        let movement =
                            if booked < 0 { Movement::Chargeback } else { Movement::ChargebackReturn };
                        let amount = if dispute.currency == Currency::Aud {
                            booked.abs()
                        } else {
                            amounts.before(dispute, entry.id)
                        };
                        let subject = charges.get(&dispute.charge).map(Charge::subject);
                        subject.map(|subject| (movement, subject, amount, dispute.currency))
                    }
                    _ => None,
                }
            }
            EntryKind::Deposit
            | EntryKind::ChargebackFee
            | EntryKind::Transfer
            | EntryKind::TransferFee
            | EntryKind::Settlement
            | EntryKind::TransferReturn
            | EntryKind::TransferFeeReturn => None,
        };
        movements.extend(moved.map(|(movement, subject, amount, currency)| BookMovement {
            account,
            entry: entry.id,
            movement,
            subject,
            amount,
            currency,
            at: drawn_at(entry.id),
        }));
    }
    Ok(movements)
}

/// Returns the records of a kind that have moved the money of entries.
fn sources<K: entity::token::TokenKind>(entries: &[journal_entry::Model]) -> Vec<Token<K>> {
    entries.iter().filter_map(|entry| entry.source.parse().ok()).collect()
}

async fn charges_of(
    db: &Reader,
    account: AccountToken,
    ids: &[ChargeToken],
) -> Result<HashMap<ChargeToken, Charge>, Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = charge::Entity::owned_by(account).filter(charge::Column::Id.is_in(ids.iter().copied()));
    let rows = rows.into_partial_model::<Charge>().all(db).await?.into_iter();
    Ok(rows.map(|charge| (charge.id, charge)).collect())
}

/// Returns amounts and currencies of refunds, without those that the acquirer declined.
async fn refunds(
    db: &Reader,
    account: AccountToken,
    ids: &[RefundToken],
) -> Result<HashMap<RefundToken, (i64, Currency)>, Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = refund::Entity::owned_by(account).filter(refund::Column::Id.is_in(ids.iter().copied()));
    let rows = rows.all(db).await?.into_iter();
    let asked = rows.filter(|row| row.announced.is_some() || row.state != RefundState::Failed);
    Ok(asked.map(|row| (row.id, (row.amount, row.currency))).collect())
}

/// The columns of a dispute that movements need.
#[derive(DerivePartialModel)]
#[sea_orm(entity = "dispute::Entity")]
struct Dispute {
    id: DisputeToken,
    #[sea_orm(from_col = "charge_id")]
    charge: ChargeToken,
    amount: i64,
    currency: Currency,
}

/// The amounts of disputes when their status changed, the newest first: an arbitration may reduce the amount. Entries have it in AUD only.
struct DisputedAmounts(Vec<(DisputeToken, Uuid, i64)>);

impl DisputedAmounts {
    /// Returns a dispute's amount when an entry was written.
    fn before(&self, dispute: &Dispute, entry: JournalEntryToken) -> i64 {
        let noted = self.0.iter().find(|(id, noted, _)| *id == dispute.id && *noted < entry.id());
        noted.map_or(dispute.amount, |(_, _, amount)| *amount)
    }
}

async fn disputes(
    db: &Reader,
    account: AccountToken,
    ids: &[DisputeToken],
) -> Result<HashMap<DisputeToken, Dispute>, Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = dispute::Entity::owned_by(account).filter(dispute::Column::Id.is_in(ids.iter().copied()));
    let rows = rows.into_partial_model::<Dispute>().all(db).await?.into_iter();
    Ok(rows.map(|dispute| (dispute.id, dispute)).collect())
}

async fn disputed_amounts(
    db: &Reader,
    disputes: &HashMap<DisputeToken, Dispute>,
    account: AccountToken,
) -> Result<DisputedAmounts, Error> {
    use dispute_activity::Column::{Amount, DisputeId, Id, Status};

    let foreign = disputes.values().filter(|dispute| dispute.currency != Currency::Aud);
    let ids: Vec<_> = foreign.map(|dispute| dispute.id).collect();
    if ids.is_empty() {
        return Ok(DisputedAmounts(Vec::new()));
    }
    let noted = dispute_activity::Entity::owned_by(account)
        .filter(DisputeId.is_in(ids))
        .filter(Status.is_not_null())
        // Former releases noted none.
        .filter(Amount.is_not_null())
        .order_by_desc(Id);
    let noted = noted.select_only().columns([DisputeId, Id, Amount]).into_tuple();
    Ok(DisputedAmounts(noted.all(db).await?))
}

/// Returns the merchant's sides of chargebacks. The id of a side is drawn right after its entry's, so all of them are in a range of
/// ids: no index leads from an entry to its sides.
async fn chargebacks(
    db: &Reader,
    account: AccountToken,
    entries: &[journal_entry::Model],
) -> Result<HashMap<JournalEntryToken, i64>, Error> {
    use posting::Column::{Amount, Book as InBook, EntryId, Id};

    let chargebacks = entries.iter().filter(|entry| entry.kind == EntryKind::ChargebackRecovery);
    let ids: Vec<_> = chargebacks.map(|entry| entry.id).collect();
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(HashMap::new()) };
    let end = first_id(drawn_at(*last) + DRAWN_WITHIN);
    let sides = posting::Entity::owned_by(account)
        .filter(Id.gt(first.id()))
        .filter(Id.lt(end.id()))
        .filter(EntryId.is_in(ids))
        .filter(InBook.eq(Book::Merchant));
    let sides = sides.select_only().columns([EntryId, Amount]).into_tuple();
    Ok(sides.all(db).await?.into_iter().collect())
}
