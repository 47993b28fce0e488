//! Reads every row of a database as requests and workers read it, for a database whose rows come from another one: SQLite keeps any
//! value in any column, and both databases keep any text in a column of words or of JSON.

use entity::{
    account, api_key, approval, audit_entry, balance, bank_account, card, card_attack, challenge_page,
    charge, counter, customer, deposit, dispute, dispute_activity, ended_session, erasure, event,
    event_sequence, evidence, file, idempotency_answer, idempotency_key, inbox, inbox_delivery, installation,
    journal_entry, key_use, logged_request, merchant, person_session, plan, posting, recipient,
    reconciliation_exception, refund, scheduled_dispute, snapshot, snapshot_file, snapshot_part, statement,
    statement_line, stray_blob, subscription, subscription_entry, three_d_secure, transfer, vault_key,
    wallet_certificate, wallet_domain, wallet_payload, webhook, webhook_endpoint,
};
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult, QueryTrait};
use store::Snapshot;

use super::stored_json::unreadable;
use crate::Store;
use crate::error::Error;

/// The fault of the first row that cannot be read, if there is one.
type Unreadable = Result<Option<String>, Error>;

/// A table whose rows are read.
struct StoredTable {
    name: fn() -> &'static str,
    first_unreadable: for<'a> fn(&'a Snapshot) -> BoxFuture<'a, Unreadable>,
}

impl StoredTable {
    const fn for_table<E: EntityTrait>() -> Self {
        Self { name: || E::default().table_name(), first_unreadable: |from| find::<E>(from).boxed() }
    }
}

macro_rules! every {
    ($($table:ident)*) => { &[$(StoredTable::for_table::<$table::Entity>()),*] };
}

static TABLES: &[StoredTable] = every! {
    account api_key approval audit_entry balance bank_account card card_attack challenge_page charge counter customer deposit
    dispute dispute_activity ended_session erasure event event_sequence evidence file idempotency_answer idempotency_key inbox inbox_delivery
    installation journal_entry key_use logged_request merchant person_session plan posting recipient reconciliation_exception
    refund scheduled_dispute snapshot snapshot_file snapshot_part statement statement_line stray_blob subscription
    subscription_entry three_d_secure transfer vault_key wallet_certificate wallet_domain wallet_payload webhook
    webhook_endpoint
};

/// Returns the names of the tables whose rows are read.
pub fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| (table.name)())
}

/// Returns what is wrong with the first row that cannot be read, if there is one.
pub async fn first_unreadable(store: &Store) -> Result<Option<String>, Error> {
    let rows = store.snapshot().await?;
    for table in TABLES {
        if let Some(wrong) = (table.first_unreadable)(&rows).await? {
            return Ok(Some(format!("a row of {} cannot be read: {wrong}", (table.name)())));
        }
    }
    Ok(None)
}

async fn find<E: EntityTrait>(from: &Snapshot) -> Result<Option<String>, Error> {
    let mut rows = from.stream(E::find().build(from.get_database_backend())).await?;
    while let Some(row) = rows.try_next().await? {
        let wrong = match E::Model::from_query_result(&row, "") {
            Ok(row) => unreadable::<E>(&row).map(str::to_owned),
            Err(error) => Some(error.to_string()),
        };
        if wrong.is_some() {
            return Ok(wrong);
        }
    }
    Ok(None)
}
