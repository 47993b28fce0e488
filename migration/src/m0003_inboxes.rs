//! Inboxes of the sandbox, and what arrives there.

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
    both: "
CREATE TABLE inboxes (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    status INTEGER NOT NULL,
    latency_ms BIGINT NOT NULL,
    fault TEXT,
    every BIGINT NOT NULL,
    received BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX inboxes_by_their_id ON inboxes (id);

CREATE TABLE inbox_deliveries (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    inbox_id UUID NOT NULL,
    number BIGINT NOT NULL,
    headers TEXT NOT NULL,
    body TEXT NOT NULL,
    signature TEXT NOT NULL,
    signature_error TEXT,
    status INTEGER,
    fault TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX deliveries_of_inbox ON inbox_deliveries (account_id, inbox_id, id);
",
    ..Sql::NONE
};
