//! Statements of the acquirer, and the exceptions that a reconciliation finds. They belong to the operator, not to an account
//! (`docs/decisions.md`, 383).

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
CREATE TABLE acquirer_statements (
    id UUID NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    first_day INTEGER NOT NULL,
    last_day INTEGER NOT NULL,
    lines BIGINT NOT NULL,
    stage TEXT NOT NULL,
    line BIGINT NOT NULL,
    account UUID,
    entry UUID,
    operator TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX acquirer_statements_by_name ON acquirer_statements (name);
CREATE UNIQUE INDEX acquirer_statements_by_digest ON acquirer_statements (digest);
CREATE UNIQUE INDEX acquirer_statements_unfinished ON acquirer_statements ((stage <> 'done')) WHERE stage <> 'done';

CREATE TABLE statement_lines (
    statement_id UUID NOT NULL,
    number BIGINT NOT NULL,
    movement TEXT NOT NULL,
    reference TEXT NOT NULL,
    subject TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    day INTEGER NOT NULL,
    account UUID,
    entry UUID,
    PRIMARY KEY (statement_id, number)
) CLUSTERED;
CREATE INDEX statement_lines_by_subject ON statement_lines (subject, movement);

CREATE TABLE reconciliation_exceptions (
    id UUID NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    statement_id UUID NOT NULL,
    line BIGINT,
    account UUID,
    entry UUID,
    movement TEXT NOT NULL,
    reference TEXT NOT NULL,
    subject TEXT NOT NULL,
    our_amount BIGINT,
    our_currency TEXT,
    our_time BIGINT,
    their_amount BIGINT,
    their_currency TEXT,
    their_day INTEGER,
    note TEXT,
    author TEXT,
    resolved_by UUID,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
CREATE INDEX exceptions_of_state ON reconciliation_exceptions (state, id);
CREATE INDEX exceptions_of_line ON reconciliation_exceptions (statement_id, line);
CREATE INDEX exceptions_missing ON reconciliation_exceptions (subject, movement)
    WHERE kind = 'missing' AND resolved_by IS NULL;
",
    ..Sql::NONE
};
