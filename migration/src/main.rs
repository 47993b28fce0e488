//! `card-payments-migration`: the commands of sea-orm's migrator, for the PostgreSQL that `DATABASE_URL` names. A SQLite file is
//! migrated by `card-payments migrate`.

use sea_orm_migration::prelude::*;

#[tokio::main]
async fn main() {
    cli::run_cli(migration::Migrator).await;
}
