//! The pages to which a merchant's `resources` lead: whoever knows its token may read them.

use entity::merchant::MerchantStatus;
use entity::{AccountToken, MerchantToken, account};
use sea_orm::EntityTrait;

use crate::error::{Error, ErrorCode};
use crate::services::context::Context;

/// What they show.
#[derive(Debug)]
pub struct PaymentPage {
    /// The name customers know.
    pub business_name: String,
    /// What the operator has decided.
    pub status: MerchantStatus,
}

/// The page of a merchant: its account says it all.
///
/// Refusals: `not_found`.
pub async fn page(ctx: &Context, token: &str) -> Result<PaymentPage, Error> {
    let id: MerchantToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let own = account::Entity::find_by_id(AccountToken::new(id.id())).one(ctx.store.read()).await?;
    let own = own.filter(|own| own.closed_at.is_none() && own.referred_by.is_some());
    let own = own.ok_or(ErrorCode::NotFound)?;
    Ok(PaymentPage { business_name: own.business_name, status: own.status })
}
