//! The marks of erased customers, beside the files: they say which erasures a database has lost that was restored from an older
//! copy. The vault signs them, because an erasure cannot be undone.

use std::collections::{HashMap, HashSet};
use std::io;

use entity::audit_entry::Action;
use entity::erasure::{self, Column};
use entity::{AccountToken, CustomerToken, JsonText, Owned, account};
use outbound::blobs::Mark;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use serde_json::json;
use vault::{Purpose, Vault};

use crate::error::Error;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::Context;
use crate::services::customers::delete::plan_erasure;
use crate::services::erasures::person;

/// The number of marks that the last start did not obey, because the vault has not signed them.
pub const MARKS_REFUSED: &str = "card_payments_erasure_marks_refused";

/// Returns the signed mark of a customer. No rotation of keys changes it.
pub fn signed(vault: &Vault, account: AccountToken, customer: CustomerToken) -> Mark {
    let parts = [account.id(), customer.id()];
    let signature = vault.keyed_hash(Purpose::Erasure, &parts.each_ref().map(|id| &id.as_bytes()[..]));
    Mark { account, customer, signature: Some(signature) }
}

/// Plans the marked erasures that the database has not done, and deletes their customers. Returns how many. A mark without a signature is
/// signed if the database has done the erasure, as those of earlier releases are, and otherwise refused.
pub async fn repeat_marked(ctx: &Context) -> Result<usize, Error> {
    let failed = |error: io::Error| Error::internal(format!("marks: {error}"));
    let marks = ctx.blobs.marks().await.map_err(failed)?;
    let mut marked: HashMap<_, HashMap<_, _>> = HashMap::new();
    for mark in marks {
        let is_signed = mark == signed(&ctx.vault, mark.account, mark.customer);
        *marked.entry(mark.account).or_default().entry(mark.customer).or_insert(false) |= is_signed;
    }
    let (mut planned, mut refused, mut last_error) = (0, 0_u32, None);
    for (account, customers) in marked {
        let Some(owner) = account::Entity::find_by_id(account).one(ctx.store.read()).await? else { continue };
        let done = erasure::Entity::owned_by(account).filter(Column::ErasedAt.is_not_null());
        let done = done.filter(Column::DueAt.is_null());
        let done = done.select_only().column(Column::Id).into_tuple().all(ctx.store.read()).await?;
        let done: HashSet<CustomerToken> = done.into_iter().collect();
        for (customer, is_signed) in customers {
            match (done.contains(&customer), is_signed) {
                (true, true) => {}
                (true, false) => {
                    let mark = signed(&ctx.vault, account, customer);
                    ctx.blobs.put_mark(mark).await.map_err(failed)?;
                }
                (false, true) => match plan(ctx, &owner, customer).await {
                    Ok(()) => planned += 1,
                    Err(error) => last_error = Some(error),
                },
                (false, false) => {
                    tracing::error!(%account, %customer, "a mark of an erased customer is not signed: it is not obeyed");
                    refused += 1;
                }
            }
        }
    }
    metrics::gauge!(MARKS_REFUSED).set(refused);
    last_error.map_or(Ok(planned), Err)
}

async fn plan(ctx: &Context, owner: &account::Model, customer: CustomerToken) -> Result<(), Error> {
    // By the time that erasures go by: a restored database makes the server doubt its clock, and the mark is an order, not an age.
    let now = owner.now(ctx.trusted.earliest());
    let plan = (owner.id, customer, now, ctx.clock.now());
    let unit = ctx.store.write(plan, async |tx, (account, customer, now, wall)| {
        let cards = JsonText::encode(&[(); 0])?;
        let row = plan_erasure(tx, (*account, *customer), cards, (*now, *now), Some(*now)).await?;
        // At once: a renewal may be due.
        person::delete_customer(tx, &row, *now).await?;
        let (subject, detail) = (customer.to_string(), json!({ "by_mark": true }));
        let act = OperatorAction::about(Action::CustomerErased, *account, subject, detail);
        audit::record_by_server(tx, &act, *wall)
    });
    unit.await
}
