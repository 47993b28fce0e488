//! How an account goes, with all its rows. It is closed in one commit: from then on its keys open nothing. A worker
//! deletes its rows in steps, a commit each, so that a large account disturbs nobody and a kill in the middle costs
//! nothing. Requests that had begun before may still add rows; once the last of them must have ended, the worker comes
//! back for these, and the account's own row goes last.

use entity::account::{self, Column};
use entity::counter::Counted;
use entity::{
    AccountToken, ChargeToken, FileToken, Owned, TimeSpan, Timestamp, api_key, balance, bank_account, card,
    challenge_page, charge, counter, customer, deposit, dispute, dispute_activity, event, evidence, file,
    foretold_dispute, idempotency_answer, idempotency_key, journal_entry, key_use, logged_request, merchant,
    plan, posting, recipient, refund, snapshot, snapshot_file, snapshot_part, stray_blob, subscription,
    subscription_entry, three_d_secure, transfer, wallet_certificate, wallet_domain, wallet_payload, webhook,
    webhook_endpoint,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QuerySelect, QueryTrait,
    Select, UpdateMany,
};

use super::snapshot_rows::{Copied, Of};
use crate::error::{Error, ErrorCode};
use crate::limits::{ACCOUNT_QUIET_AFTER, RETENTION_DAYS_MAX, WIPE_BATCH};
use crate::services::context::{Account, Context};
use crate::services::idempotency;
use crate::store::{Tx, WordTable};

/// Delete an account that was made in the sandbox, on behalf of itself or of the one that made it.
///
/// Refusals: `not_found`.
pub async fn close(ctx: &Context, account: &Account, token: &str) -> Result<(), Error> {
    let id: AccountToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let closing = CloseAccountUnit { id, by: account.id(), wall: ctx.clock.now() };
    idempotency::write(ctx, account, closing, |tx, closing| closing.record(tx).boxed()).await
}

struct CloseAccountUnit {
    id: AccountToken,
    by: AccountToken,
    wall: Timestamp,
}

impl CloseAccountUnit {
    /// Of many at once, one closes it.
    async fn record(&self, tx: &Tx) -> Result<(), Error> {
        let by_maker = Column::MadeBy.eq(self.by);
        let by_itself = Condition::all().add(Column::Id.eq(self.by)).add(Column::MadeBy.is_not_null());
        let close = closed(self.id, self.wall).filter(Condition::any().add(by_maker).add(by_itself));
        if close.exec(tx).await?.rows_affected == 0 {
            return Err(ErrorCode::NotFound.into());
        }
        lock_out(tx, self.id).await?;
        // Merchants that are partners themselves have merchants.
        let mut partners = vec![self.id];
        while let Some(partner) = partners.pop() {
            partners.extend(merchants(tx, partner, self.wall).await?);
        }
        Ok(())
    }
}

/// The end of an account that is open.
fn closed(id: AccountToken, wall: Timestamp) -> UpdateMany<account::Entity> {
    super::settings::of(id)
        .filter(Column::ClosedAt.is_null())
        .col_expr(Column::ClosedAt, Expr::value(wall.millis()))
        .col_expr(Column::WipeAt, Expr::value(wall.millis()))
        // Nobody pays it out any more.
        .col_expr(Column::SettlesAt, Expr::value(None::<i64>))
        // Nobody counts meanwhile what was kept long enough.
        .col_expr(Column::PurgeAt, Expr::value((wall + TimeSpan::days(RETENTION_DAYS_MAX)).millis()))
}

/// No key opens it any more.
async fn lock_out(tx: &Tx, id: AccountToken) -> Result<(), Error> {
    api_key::Entity::delete_many().filter(api_key::Column::AccountId.eq(id)).exec(tx).await?;
    Ok(())
}

/// The merchants of a deleted partner go with it: nobody else could delete them. Says which these are.
async fn merchants(tx: &Tx, partner: AccountToken, wall: Timestamp) -> Result<Vec<AccountToken>, Error> {
    let open = account::Entity::find()
        .filter(Column::ReferredBy.eq(partner))
        .filter(Column::ClosedAt.is_null())
        .select_only()
        .column(Column::Id);
    let open: Vec<AccountToken> = open.into_tuple().all(tx).await?;
    for &id in &open {
        closed(id, wall).exec(tx).await?;
        lock_out(tx, id).await?;
    }
    Ok(open)
}

/// Why a record is gone that nothing else takes away: whoever still acts for a deleted account has no key to it.
pub fn deleted() -> Error {
    ErrorCode::Unauthorized.into()
}

/// Whether that is why work was not done; workers carry no keys that could be wrong.
pub fn is_deleted(error: &Error) -> bool {
    error.code() == ErrorCode::Unauthorized
}

/// Deleted accounts of which something may be left, by the wall clock.
pub fn due(wall: Timestamp) -> Select<account::Entity> {
    account::Entity::find().filter(Column::WipeAt.lte(wall))
}

/// Delete what there is of a closed account. Running twice, or at two places at once, does no harm.
pub async fn wipe(ctx: &Context, account: account::Model) -> Result<(), Error> {
    let began = ctx.clock.now();
    // Those that a request has referred which had begun before the account was closed.
    ctx.store.write((account.id, began), |tx, (id, wall)| merchants(tx, *id, *wall).boxed()).await?;
    for Step { wipe, .. } in STEPS {
        let deleted = || ctx.store.write((account.id, *wipe), |tx, (id, wipe)| wipe(tx, *id));
        while deleted().await? >= WIPE_BATCH {}
    }
    let Some(closed_at) = account.closed_at else {
        return Err(Error::internal("an open account to be wiped"));
    };
    let quiet_at = closed_at + ACCOUNT_QUIET_AFTER;
    ctx.store
        .write((account.id, began, quiet_at), |tx, (id, began, quiet_at)| {
            async move {
                if quiet_at <= began {
                    account::Entity::delete_by_id(*id).exec(tx).await?;
                } else {
                    let later =
                        super::settings::of(*id).col_expr(Column::WipeAt, Expr::value(quiet_at.millis()));
                    later.exec(tx).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
}

/// What accounts have in one table.
struct Step {
    wipe: Wipe,
    /// How a snapshot of the sandbox holds it; none where it stays as it is when that is put back.
    copied: Option<&'static dyn Copied>,
}

/// Deletes some rows of one table, and says how many.
type Wipe = for<'u> fn(&'u Tx, AccountToken) -> BoxFuture<'u, Result<u64, Error>>;

/// The tables that a snapshot of an account holds.
pub fn copied() -> impl Iterator<Item = &'static dyn Copied> {
    STEPS.iter().filter_map(|step| step.copied)
}

/// Rows that a snapshot holds.
macro_rules! rows {
    ($table:ident $column:ident) => {
        Step { copied: Some(&Of::<$table::Entity>::OWNED), ..kept!($table $column) }
    };
}

/// Rows that stay as they are when a snapshot is put back.
macro_rules! kept {
    ($table:ident $column:ident) => {
        Step {
            wipe: |tx, account| some::<$table::Entity>(tx, account, $table::Column::$column).boxed(),
            copied: None,
        }
    };
}

/// In an order in which nothing is made anew of what is left: endpoints before their webhooks, subscriptions before their charges, refunds before what they
/// need, what workers claim before what they add when they have done it, and the sums last.
const STEPS: &[Step] = &[
    rows!(webhook_endpoint Id),
    rows!(subscription Id),
    rows!(refund Id),
    rows!(challenge_page Hash),
    rows!(three_d_secure Id),
    rows!(foretold_dispute Id),
    rows!(dispute Id),
    rows!(dispute_activity Id),
    rows!(evidence DisputeId),
    Step { wipe: |tx, account| blobs(tx, account).boxed(), copied: Some(&Of::<file::Entity>::OWNED) },
    rows!(transfer Id),
    rows!(charge Id),
    // Made anew of what is put back.
    Step { wipe: |tx, account| words(tx, account).boxed(), copied: None },
    rows!(subscription_entry Id),
    rows!(plan Id),
    Step { copied: Some(&CARDS), ..kept!(card Id) },
    rows!(customer Id),
    rows!(wallet_certificate Id),
    rows!(wallet_domain Id),
    rows!(wallet_payload Hash),
    rows!(recipient Id),
    // Each is an account of its own as well, which knows where it stands.
    kept!(merchant Id),
    rows!(bank_account Id),
    rows!(webhook Id),
    rows!(event Id),
    rows!(journal_entry Id),
    rows!(posting Id),
    rows!(deposit Id),
    rows!(idempotency_answer Hash),
    rows!(idempotency_key Hash),
    // Whoever works with the account goes on working.
    kept!(api_key Hash),
    kept!(key_use Hash),
    kept!(logged_request Id),
    rows!(balance AvailableOn),
    Step { copied: Some(&COUNTERS), ..kept!(counter Kind) },
    kept!(snapshot_part N),
    kept!(snapshot_file FileId),
    kept!(snapshot Id),
];

/// But for their cvc: nobody keeps one for longer than its token may be used (decisions 4).
static CARDS: Of<card::Entity> = Of::<card::Entity>::OWNED.without(|card| card.cvc_sealed = None);

/// But for those of merchants, which are kept.
static COUNTERS: Of<counter::Entity> = Of::those(|account| {
    let others = counter::Column::Kind.ne(Counted::Merchants);
    Condition::all().add(counter::Column::AccountId.eq(account)).add(others)
});

async fn some<E: Owned>(tx: &Tx, account: AccountToken, column: E::Column) -> Result<u64, Error> {
    let some = E::owned_by(account).limit(WIPE_BATCH).select_only().column(column).into_query();
    let gone = E::delete_many().filter(E::ACCOUNT.eq(account)).filter(column.in_subquery(some));
    Ok(gone.exec(tx).await?.rows_affected)
}

/// Files leave blobs, which go by themselves; overdue, because nobody needs them any more.
async fn blobs(tx: &Tx, account: AccountToken) -> Result<u64, Error> {
    let some = file::Entity::owned_by(account).limit(WIPE_BATCH).select_only().column(file::Column::Id);
    let some: Vec<FileToken> = some.into_tuple().all(tx).await?;
    for &id in &some {
        tx.append(&stray_blob::Model { account_id: account, id, remove_at: Timestamp::from_millis(0) });
    }
    let gone = file::Entity::delete_many()
        .filter(file::Column::AccountId.eq(account))
        .filter(file::Column::Id.is_in(some));
    Ok(gone.exec(tx).await?.rows_affected)
}

/// Find the account's charges by their words, and no others: whatever was found before is forgotten.
pub(in crate::services) async fn words_anew(tx: &Tx, account: AccountToken) -> Result<(), Error> {
    if tx.get_database_backend() == DbBackend::Postgres {
        return Ok(());
    }
    while words(tx, account).await? >= WIPE_BATCH {}
    let charges = charge::Entity::owned_by(account).filter(charge::listed()).select_only();
    let charges = charges.columns([charge::Column::Id, charge::Column::SearchText]);
    let charges: Vec<(ChargeToken, String)> = charges.into_tuple().all(tx).await?;
    for (id, text) in charges {
        tx.words(WordTable::Charges, account, id.id(), &text);
    }
    Ok(())
}

/// The words by which SQLite finds charges. They bear a short code of their account, and another one may share it.
async fn words(tx: &Tx, account: AccountToken) -> Result<u64, Error> {
    if tx.get_database_backend() == DbBackend::Postgres {
        return Ok(0);
    }
    let code = WordTable::account_code(account);
    let all: Vec<AccountToken> =
        account::Entity::find().select_only().column(Column::Id).into_tuple().all(tx).await?;
    let same_code = |other: &AccountToken| *other != account && WordTable::account_code(*other) == code;
    let others = charge::Entity::find()
        .filter(charge::Column::AccountId.is_in(all.into_iter().filter(same_code)))
        .select_only()
        .column(charge::Column::Id);
    let some = Query::select()
        .column("rowid")
        .from(WordTable::Charges.name())
        .and_where(Expr::cust_with_values("charges_search MATCH ?", [format!("\"{code}\"")]))
        .and_where(Expr::col("id").not_in_subquery(others.into_query()))
        .limit(WIPE_BATCH)
        .take();
    let gone = Query::delete()
        .from_table(WordTable::Charges.name())
        .and_where(Expr::col("rowid").in_subquery(some))
        .take();
    Ok(tx.execute(&gone).await?.rows_affected())
}
