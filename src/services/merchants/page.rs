//! The payment pages to which a merchant's `resources` lead; its token is enough to read them (`docs/decisions.md`,
//! 238).

use entity::merchant::MerchantStatus;
use entity::{AccountToken, MerchantToken, account};
use sea_orm::EntityTrait;

use crate::error::{Error, ErrorCode};
use crate::services::context::Context;

/// The content of a payment page.
#[derive(Debug)]
pub struct PaymentPage {
    /// The name that customers know.
    pub business_name: String,
    /// The operator's decision.
    pub status: MerchantStatus,
}

/// Returns the page of a merchant, from its account alone.
///
///
/// Refusals: `not_found`.
pub async fn page(ctx: &Context, token: &str) -> Result<PaymentPage, Error> {
    let id: MerchantToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let own = account::Entity::find_by_id(AccountToken::new(id.id())).one(ctx.store.read()).await?;
    let own = own.filter(|own| own.closed_at.is_none() && own.referred_by.is_some());
    let own = own.ok_or(ErrorCode::NotFound)?;
    Ok(PaymentPage { business_name: own.business_name, status: own.status })
}
