//! The sessions of people who sign in at the dashboard, and the requests that two of them decide. Both belong to the operator, not
//! to an account (`docs/decisions.md`, 386).

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
CREATE TABLE person_sessions (
    hash BYTES NOT NULL PRIMARY KEY,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX person_sessions_of_person ON person_sessions (subject, issuer);
CREATE INDEX person_sessions_by_end ON person_sessions (ends_at);

CREATE TABLE approvals (
    id UUID NOT NULL PRIMARY KEY,
    account UUID NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    subject TEXT NOT NULL,
    parameters TEXT NOT NULL,
    asker_issuer TEXT NOT NULL,
    asker_subject TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    decided_by TEXT,
    decided_at BIGINT
);
CREATE INDEX approvals_of_account ON approvals (account, id);
",
    ..Sql::NONE
};
