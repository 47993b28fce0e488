//! Deletes bank accounts whose tokens were never used (`docs/decisions.md`, 201).

use std::time::Duration;

use entity::bank_account::{self, BankAccountState, Column};
use entity::{Listed, Timestamp};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};

use crate::error::Error;
use crate::limits::TIDY_REST;
use crate::services::context::Context;
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{self, DueRow, DueWork, WorkResult};

/// Deletes bank accounts whose unused tokens have expired.
pub struct BankAccountExpiryWork;

impl DueWork for BankAccountExpiryWork {
    type Entity = bank_account::Entity;
    const NAME: &'static str = "expired_bank_account";
    const DESTROYS: bool = true;
    const REST: Duration = TIDY_REST;
    // Only unused ones have an expiry.
    const AT: Column = Column::ExpiresAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<bank_account::Entity>> {
        let unused = bank_account::Entity::find().filter(Column::State.eq(BankAccountState::Unused));
        clocks::due(&unused, Column::ExpiresAt, wall).into()
    }

    fn subject(row: &bank_account::Model) -> DueRow {
        let at = row.expires_at.unwrap_or(row.created_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: bank_account::Model) -> Result<WorkResult, Error> {
        let unused = bank_account::Entity::delete_at(row.account_id, row.id)
            .filter(Column::State.eq(BankAccountState::Unused));
        due_work::delete(ctx, time, unused).await
    }
}
