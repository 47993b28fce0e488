//! The ledger of a subscription: each charge is a credit, each billed interval and setup fee a debit.

use entity::subscription::Model;
use entity::subscription_entry::{self, Annotation, Column};
use entity::{ChargeToken, Owned, Timestamp, plan};
use sea_orm::{ColumnTrait, QueryFilter};
use store::Tx;

use super::course::Bill;
use super::find::by_token;
use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::subscriptions::view::SubscriptionEntry;

/// Records a bill and the charge that paid it.
pub(super) fn record(
    tx: &Tx,
    row: &Model,
    plan: &plan::Model,
    bill: &Bill,
    charge: ChargeToken,
    now: Timestamp,
) {
    let entries = [
        (Annotation::ChargeCredit, bill.sum()),
        (Annotation::IntervalDebit, bill.interval_amount),
        (Annotation::SetupDebit, bill.setup_amount),
    ];
    // An amount of zero makes no entry (`docs/decisions.md`, 183).
    for (annotation, amount) in entries.into_iter().filter(|(_, amount)| *amount != 0) {
        tx.append(&subscription_entry::Model {
            account_id: row.account_id,
            id: tx.token(),
            subscription_id: row.id,
            interval_number: bill.number,
            annotation,
            amount,
            currency: plan.currency,
            charge_id: charge,
            created_at: now,
        });
    }
}

/// Returns a subscription's ledger, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn ledger(
    ctx: &Context,
    account: &Account,
    token: &str,
    paging: Params<Paging>,
) -> Result<ListPage<SubscriptionEntry>, Error> {
    let row = by_token(ctx.store.read(), account, token).await?.ok_or(ErrorCode::NotFound)?;
    let entries =
        subscription_entry::Entity::owned_by(account.id()).filter(Column::SubscriptionId.eq(row.id));
    let entries = List::newest_first(account.id(), entries).never_shrinking();
    let page = entries.ranged(ctx, paging.valid()?).await?;
    Ok(page.map(SubscriptionEntry::from))
}
