//! POST /authorisations.

use entity::charge::Origin;

use crate::error::Error;
use crate::params::Params;
use crate::services::authorisations::params::NewAuthorisation;
use crate::services::authorisations::view::Authorisation;
use crate::services::charges::order::build_order;
use crate::services::charges::params::NewCharge;
use crate::services::context::{Caller, Ctx};
use crate::services::payments::creation::pay;

/// Reserves money on a card. May take as long as the acquirer.
///
/// Refusals, first match wins: `invalid_resource`, `token_already_used`; then the acquirer's, as for a charge. The
/// failed attempt is recorded and listed.
///
/// `outcome` is the word of a `Sandbox-Outcome` header.
pub async fn create(
    ctx: &Ctx,
    caller: &Caller,
    params: Params<NewAuthorisation>,
    outcome: Option<&str>,
) -> Result<Authorisation, Error> {
    let Params { value, faults } = params;
    let params = Params { value: NewCharge::from(value), faults };
    let order = build_order(ctx, &caller.account, Origin::Authorisation, params, outcome).await?;
    let (now, row) = pay(ctx, caller, order).await?;
    Ok(Authorisation::at(now, row))
}
