//! The schema of the first release, a file a resource.

use sea_orm_migration::prelude::*;

use crate::Sql;

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        SQL.run(manager).await
    }
}

const SQL: Sql = Sql {
    both: concat!(
        include_str!("m0001_schema/accounts.sql"),
        include_str!("m0001_schema/audit.sql"),
        include_str!("m0001_schema/bank_accounts.sql"),
        include_str!("m0001_schema/cards.sql"),
        include_str!("m0001_schema/charges.sql"),
        include_str!("m0001_schema/customers.sql"),
        include_str!("m0001_schema/deposits.sql"),
        include_str!("m0001_schema/disputes.sql"),
        include_str!("m0001_schema/events.sql"),
        include_str!("m0001_schema/files.sql"),
        include_str!("m0001_schema/idempotency.sql"),
        include_str!("m0001_schema/installation.sql"),
        include_str!("m0001_schema/ledger.sql"),
        include_str!("m0001_schema/merchants.sql"),
        include_str!("m0001_schema/plans.sql"),
        include_str!("m0001_schema/recipients.sql"),
        include_str!("m0001_schema/refunds.sql"),
        include_str!("m0001_schema/request_log.sql"),
        include_str!("m0001_schema/snapshots.sql"),
        include_str!("m0001_schema/subscriptions.sql"),
        include_str!("m0001_schema/three_d_secure.sql"),
        include_str!("m0001_schema/transfers.sql"),
        include_str!("m0001_schema/wallets.sql"),
        include_str!("m0001_schema/webhooks.sql"),
    ),
    postgres: include_str!("m0001_schema/postgres.sql"),
    sqlite: include_str!("m0001_schema/sqlite.sql"),
};
