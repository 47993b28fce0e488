//! Deletes an account with all its rows. One commit closes it: from then on its keys are invalid. A worker deletes its
//! rows in steps, one commit each, so that a large account does not block others and a kill midway costs nothing.
//! Requests that began earlier may still add rows; once the last of them must have ended, the worker deletes these too,
//! and finally the account's own row (`docs/decisions.md`, 275).

use entity::account::{self, COLUMN, Column};
use entity::counter::Counted;
use entity::{
    AccountToken, FileToken, Owned, TimeSpan, Timestamp, api_key, balance, bank_account, card, card_attack,
    challenge_page, charge, counter, customer, deposit, dispute, dispute_activity, erasure, event,
    event_sequence, evidence, file, idempotency_answer, idempotency_key, inbox, inbox_delivery,
    journal_entry, key_use, logged_request, merchant, plan, posting, recipient, refund, scheduled_dispute,
    snapshot, snapshot_file, snapshot_part, stray_blob, subscription, subscription_entry, three_d_secure,
    transfer, wallet_certificate, wallet_domain, wallet_payload, webhook, webhook_endpoint,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select, UpdateMany,
};
use store::Tx;

use super::snapshot_rows::{AccountTable, SnapshotTable};
use crate::error::{Error, ErrorCode};
use crate::limits::{ACCOUNT_QUIET_AFTER, RETENTION_DAYS_MAX, WIPE_BATCH};
use crate::services::context::{Caller, Context};
use crate::services::idempotency;
use crate::services::search_text;

/// Closes an account made in the sandbox, called by that account or by its maker.
///
/// Refusals: `not_found`.
pub async fn close(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let id: AccountToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let closing = CloseAccountUnit { id, by: caller.account.id(), wall: ctx.clock.now() };
    idempotency::write(ctx, caller, closing, async |tx, closing| closing.record(tx).await).await
}

struct CloseAccountUnit {
    id: AccountToken,
    by: AccountToken,
    wall: Timestamp,
}

impl CloseAccountUnit {
    /// Closes the account; of concurrent units, one succeeds.
    async fn record(&self, tx: &Tx) -> Result<(), Error> {
        let by_maker = Column::MadeBy.eq(self.by);
        let by_itself = Condition::all().add(Column::Id.eq(self.by)).add(Column::MadeBy.is_not_null());
        let close =
            close_open_account(self.id, self.wall).filter(Condition::any().add(by_maker).add(by_itself));
        if close.exec(tx).await?.rows_affected == 0 {
            return Err(ErrorCode::NotFound.into());
        }
        lock_out(tx, self.id).await?;
        // A merchant that is a partner has merchants of its own.
        let mut partners = vec![self.id];
        while let Some(partner) = partners.pop() {
            partners.extend(merchants(tx, partner, self.wall).await?);
        }
        Ok(())
    }
}

fn close_open_account(id: AccountToken, wall: Timestamp) -> UpdateMany<account::Entity> {
    super::settings::update_of(id)
        .filter(Column::ClosedAt.is_null())
        .col_expr(Column::ClosedAt, Expr::value(wall.millis()))
        .col_expr(Column::WipeAt, Expr::value(wall.millis()))
        // No more payouts.
        .col_expr(Column::SettlesAt, Expr::value(None::<i64>))
        // Keeps the retention worker from the account meanwhile.
        .col_expr(Column::PurgeAt, Expr::value((wall + TimeSpan::days(RETENTION_DAYS_MAX)).millis()))
}

/// Deletes the account's keys.
async fn lock_out(tx: &Tx, id: AccountToken) -> Result<(), Error> {
    api_key::Entity::delete_of(id).exec(tx).await?;
    Ok(())
}

/// Closes the merchants of a deleted partner, which no other account could delete. Returns their tokens.
async fn merchants(tx: &Tx, partner: AccountToken, wall: Timestamp) -> Result<Vec<AccountToken>, Error> {
    let open = account::Entity::find()
        .filter(Column::ReferredBy.eq(partner))
        .filter(Column::ClosedAt.is_null())
        .select_only()
        .column(Column::Id);
    let open: Vec<AccountToken> = open.into_tuple().all(tx).await?;
    for &id in &open {
        close_open_account(id, wall).exec(tx).await?;
        lock_out(tx, id).await?;
    }
    Ok(open)
}

/// Returns the error for missing records of a deleted account: a request or worker that still acts for it has no valid
/// key.
pub fn deleted() -> Error {
    ErrorCode::Unauthorized.into()
}

/// Returns whether work failed because the account is deleted. Workers use no keys, so no other cause is possible.
pub fn is_deleted(error: &Error) -> bool {
    error.code() == ErrorCode::Unauthorized
}

/// Selects deleted accounts that may still have rows, by the wall clock.
pub fn due(wall: Timestamp) -> Select<account::Entity> {
    account::Entity::find().filter(COLUMN.wipe_at.lte(wall))
}

/// Deletes the rows of a closed account. Running twice or concurrently is harmless.
pub async fn wipe(ctx: &Context, account: account::Model) -> Result<(), Error> {
    let began = ctx.clock.now();
    // Merchants referred by a request that began before the account was closed.
    ctx.store.write((account.id, began), async |tx, (id, wall)| merchants(tx, *id, *wall).await).await?;
    for Step { wipe, .. } in STEPS {
        let deleted = || {
            ctx.store.write((account.id, *wipe), async |tx, (id, wipe)| {
                // Of two that delete the same batch, one would find none gone, and delete the account before its rows.
                tx.lock::<account::Entity>(*id).await?;
                wipe(tx, *id).await
            })
        };
        while deleted().await? >= WIPE_BATCH {}
    }
    let Some(closed_at) = account.closed_at else {
        return Err(Error::internal("an open account to be wiped"));
    };
    let quiet_at = closed_at + ACCOUNT_QUIET_AFTER;
    ctx.store
        .write((account.id, began, quiet_at), async |tx, (id, began, quiet_at)| {
            if quiet_at <= began {
                account::Entity::delete_by_id(*id).exec(tx).await?;
            } else {
                let later =
                    super::settings::update_of(*id).col_expr(Column::WipeAt, Expr::value(quiet_at.millis()));
                later.exec(tx).await?;
            }
            Ok(())
        })
        .await
}

/// A table to delete an account's rows from.
struct Step {
    wipe: Wipe,
    /// The table as a sandbox snapshot copies it; `None` if restoring a snapshot leaves it as it is.
    copied: Option<&'static dyn SnapshotTable>,
}

/// Deletes some rows of one table and returns how many.
type Wipe = for<'u> fn(&'u Tx, AccountToken) -> BoxFuture<'u, Result<u64, Error>>;

/// Returns the tables that a snapshot of an account holds.
pub fn copied() -> impl Iterator<Item = &'static dyn SnapshotTable> {
    STEPS.iter().filter_map(|step| step.copied)
}

/// Rows that a snapshot holds.
macro_rules! rows {
    ($table:ident $column:ident) => {
        Step { copied: Some(&AccountTable::<$table::Entity>::OWNED), ..kept!($table $column) }
    };
}

/// Rows that restoring a snapshot leaves as they are.
macro_rules! kept {
    ($table:ident $column:ident) => {
        Step {
            wipe: |tx, account| delete_batch::<$table::Entity>(tx, account, $table::Column::$column).boxed(),
            copied: None,
        }
    };
}

/// In an order in which nothing is recreated from the remaining rows: endpoints before their webhooks, subscriptions
/// before their charges, refunds before the rows they need, rows that workers claim before the rows they then add, and
/// the sums last.
const STEPS: &[Step] = &[
    rows!(webhook_endpoint Id),
    rows!(inbox Id),
    rows!(inbox_delivery Id),
    rows!(subscription Id),
    rows!(refund Id),
    rows!(challenge_page Hash),
    rows!(three_d_secure Id),
    rows!(scheduled_dispute Id),
    rows!(dispute Id),
    rows!(dispute_activity Id),
    rows!(evidence DisputeId),
    Step {
        wipe: |tx, account| blobs(tx, account).boxed(),
        copied: Some(&AccountTable::<file::Entity>::OWNED),
    },
    rows!(transfer Id),
    rows!(charge Id),
    // Rebuilt from the restored rows.
    Step {
        wipe: |tx, account| search_text::rebuild::remove_some(tx, account, WIPE_BATCH).boxed(),
        copied: None,
    },
    rows!(subscription_entry Id),
    rows!(plan Id),
    Step { copied: Some(&CARDS), ..kept!(card Id) },
    rows!(customer Id),
    rows!(erasure Id),
    rows!(wallet_certificate Id),
    rows!(wallet_domain Id),
    rows!(wallet_payload Hash),
    rows!(recipient Id),
    // Each is also an account of its own, which holds its status.
    kept!(merchant Id),
    rows!(bank_account Id),
    rows!(webhook Id),
    rows!(event Id),
    // Numbers are not given again, whatever is restored.
    kept!(event_sequence AccountId),
    rows!(journal_entry Id),
    rows!(posting Id),
    rows!(deposit Id),
    rows!(idempotency_answer Hash),
    rows!(idempotency_key Hash),
    // The account's clients keep working while a snapshot is restored.
    kept!(api_key Hash),
    kept!(key_use Hash),
    kept!(card_attack Subject),
    kept!(logged_request Id),
    rows!(balance AvailableOn),
    Step { copied: Some(&COUNTERS), ..kept!(counter Kind) },
    kept!(snapshot_part N),
    kept!(snapshot_file FileId),
    kept!(snapshot Id),
];

/// The cards without their cvc and cryptogram, which are good for one payment: neither is stored for longer than the card's token
/// may be used (`docs/decisions.md`, 107 and 110).
static CARDS: AccountTable<card::Entity> = AccountTable::<card::Entity>::OWNED.without(|card| {
    card.cvc_sealed = None;
    card.network_sealed = None;
});

/// The counters without that of merchants, which stays as it is.
static COUNTERS: AccountTable<counter::Entity> = AccountTable::those(|account| {
    let others = counter::Column::Kind.ne(Counted::Merchants);
    Condition::all().add(counter::Column::AccountId.eq(account)).add(others)
});

async fn delete_batch<E: Owned>(tx: &Tx, account: AccountToken, column: E::Column) -> Result<u64, Error> {
    let some = E::owned_by(account).limit(WIPE_BATCH).select_only().column(column).into_query();
    let gone = E::delete_of(account).filter(column.in_subquery(some));
    Ok(gone.exec(tx).await?.rows_affected)
}

/// Deletes files. Their blobs become strays, overdue so that a worker removes them at once.
async fn blobs(tx: &Tx, account: AccountToken) -> Result<u64, Error> {
    let some = file::Entity::owned_by(account).limit(WIPE_BATCH).select_only().column(file::Column::Id);
    let some: Vec<FileToken> = some.into_tuple().all(tx).await?;
    for &id in &some {
        tx.append(&stray_blob::Model { account_id: account, id, remove_at: Timestamp::from_millis(0) });
    }
    let gone = file::Entity::delete_of(account).filter(file::Column::Id.is_in(some));
    Ok(gone.exec(tx).await?.rows_affected)
}
