//! Fences around an account's rows, on SQLite (`store/sqlite/fence.rs`). PostgreSQL needs none: there a long transaction holds up no
//! other one.

use entity::AccountToken;
use sea_orm::DbErr;

use super::{OpenTransaction, Tx};

impl Tx {
    /// Raises a fence around the account's rows in some tables, from now on and whatever becomes of this transaction, until
    /// `Store::lift_fence`. Meanwhile every statement about them is refused as by a busy database.
    pub async fn raise_fence(&self, account: AccountToken, tables: Vec<&'static str>) -> Result<(), DbErr> {
        if let OpenTransaction::Sqlite(writing) = self.open_transaction().await?
            && let Some(file) = writing.0.connection().file()
        {
            file.fences.raise(account.id(), tables);
        }
        Ok(())
    }

    /// Lets the unit that runs now pass the account's fence, but for what it buffers.
    pub async fn pass_fence(&self, account: AccountToken) -> Result<(), DbErr> {
        if let OpenTransaction::Sqlite(writing) = self.open_transaction().await? {
            writing.0.connection().pass(Some(account.id()));
        }
        Ok(())
    }

    /// Ends what [`Self::pass_fence`] has begun.
    pub(super) fn stop_at_fences(&self) {
        if let Some(OpenTransaction::Sqlite(writing)) = self.transaction.get() {
            writing.0.connection().pass(None);
        }
    }
}
