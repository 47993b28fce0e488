//! Rebuilds the search table of SQLite from the charges that it is made of.

use entity::{AccountToken, ChargeToken, Owned, account, charge};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait,
};
use store::Tx;

use super::{TABLE, account_code, append};
use crate::Store;
use crate::error::Error;
use crate::limits::WIPE_BATCH as BATCH;

/// Rebuilds the search words of all accounts' charges, for a database whose rows come from another one.
pub async fn rebuild_all(store: &Store) -> Result<(), Error> {
    let accounts = account::Entity::find().select_only().column(account::Column::Id);
    let accounts: Vec<AccountToken> = accounts.into_tuple().all(store.read()).await?;
    for account in accounts {
        store.write(account, async |tx, account| remove_all(tx, *account).await).await?;
        // One commit each: what is to be committed lies in memory.
        let mut after = None;
        while let Some(last) = store
            .write((account, after), async |tx, (account, after)| add_some(tx, *account, *after, BATCH).await)
            .await?
        {
            after = Some(last);
        }
    }
    Ok(())
}

/// Rebuilds the search words of the account's charges and drops the previous ones.
pub async fn rebuild(tx: &Tx, account: AccountToken) -> Result<(), Error> {
    remove_all(tx, account).await?;
    let mut after = None;
    while let Some(last) = add_some(tx, account, after, BATCH).await? {
        after = Some(last);
    }
    Ok(())
}

async fn remove_all(tx: &Tx, account: AccountToken) -> Result<(), Error> {
    while remove_some(tx, account, BATCH).await? >= BATCH {}
    Ok(())
}

/// Adds the search words of the next charges, in the order of their ids. Returns the last one, if any.
pub async fn add_some(
    tx: &Tx,
    account: AccountToken,
    after: Option<ChargeToken>,
    limit: u64,
) -> Result<Option<ChargeToken>, Error> {
    if tx.get_database_backend() == DbBackend::Postgres {
        return Ok(None);
    }
    let later = after.map(|after| charge::Column::Id.gt(after));
    let charges = charge::Entity::owned_by(account)
        .filter(Condition::all().add(charge::listed()).add_option(later))
        .order_by_asc(charge::Column::Id)
        .limit(limit)
        .select_only()
        .columns([charge::Column::Id, charge::Column::SearchText]);
    let charges: Vec<(ChargeToken, String)> = charges.into_tuple().all(tx).await?;
    for (id, text) in &charges {
        append(tx, account, id.id(), text);
    }
    Ok(charges.last().map(|(id, _)| *id))
}

/// Deletes the words by which SQLite finds charges. They begin with a short code of the account, which another account may share; a
/// stranger may have written it elsewhere in a text of another one.
pub async fn remove_some(tx: &Tx, account: AccountToken, limit: u64) -> Result<u64, Error> {
    if tx.get_database_backend() == DbBackend::Postgres {
        return Ok(0);
    }
    let code = account_code(account);
    let all: Vec<AccountToken> =
        account::Entity::find().select_only().column(account::Column::Id).into_tuple().all(tx).await?;
    let same_code = |other: &AccountToken| *other != account && account_code(*other) == code;
    let others = charge::Entity::find()
        .filter(charge::Column::AccountId.is_in(all.into_iter().filter(same_code)))
        .select_only()
        .column(charge::Column::Id);
    let some = Query::select()
        .column("rowid")
        .from(TABLE)
        .and_where(Expr::cust_with_values("charges_search MATCH ?", [format!("^ \"{code}\"")]))
        .and_where(Expr::col("id").not_in_subquery(others.into_query()))
        .limit(limit)
        .take();
    let gone = Query::delete().from_table(TABLE).and_where(Expr::col("rowid").in_subquery(some)).take();
    Ok(tx.execute(&gone).await?.rows_affected())
}
