//! Payment sources store cards in one form, whether they come from the client, a wallet or a card network
//! (specification, Payment sources; `docs/decisions.md`, 109).

pub mod params;
pub mod view;

use entity::card::SourceType;
use entity::wallet_payload;
use sea_orm::ActiveEnum;
use wallet::{DecryptedPayload, Unreadable, WalletAToken, WalletGToken};

use super::cards::{self, ValidatedCard};
use super::context::{Account, Caller, Context};
use super::idempotency;
use super::wallets::{certificates, payloads};
use crate::error::Error;
use crate::params::Params;
use crate::services::payment_sources::params::{NewPaymentSource, unusable};
use crate::services::payment_sources::view::PaymentSource;

/// Stores a payment source in exchange for a single-use token. Verifies and decrypts a wallet's payload, which can be
/// stored only once.
///
/// Refusals: `service_unavailable` if the acquirer does not return the number's details; `invalid_resource`, which
/// gives no reason for an unusable payload.
pub async fn store(
    ctx: &Context,
    caller: &Caller,
    new_source: NewPaymentSource,
) -> Result<PaymentSource, Error> {
    let account = &caller.account;
    let (presented, used) = match new_source {
        NewPaymentSource::Card(Params { value, mut faults }) => {
            let card = cards::validate(ctx, account, &value, AT, &mut faults).await?;
            let mut card = card.filter(|_| faults.is_empty()).ok_or(faults)?;
            card.row.source = Some(SourceType::Card);
            (card, None)
        }
        NewPaymentSource::NetworkToken(Params { value, mut faults }) => {
            let card = cards::validate_network_token(ctx, account, &value, AT, &mut faults).await?;
            (card.filter(|_| faults.is_empty()).ok_or(faults)?, None)
        }
        NewPaymentSource::WalletA(token) => {
            of_wallet(ctx, account, SourceType::WalletA, of_wallet_a(ctx, account, &token).await?).await?
        }
        NewPaymentSource::WalletG(token) => {
            of_wallet(ctx, account, SourceType::WalletG, of_wallet_g(ctx, account, &token)).await?
        }
    };
    let row = cards::single_use(ctx, account, presented);
    let unit = idempotency::write(ctx, caller, (row, used), async |tx, (row, used)| {
        if let Some(used) = used
            && !payloads::record_use(tx, used).await?
        {
            return Err(unusable().into());
        }
        tx.append(row);
        PaymentSource::new(row.clone()).ok_or_else(|| Error::internal("a payment source without its type"))
    });
    unit.await
}

/// The prefix of the card's parameter names.
const AT: &str = "source.";

/// Decrypts a walletA payload with the account's key that it names.
async fn of_wallet_a(
    ctx: &Context,
    account: &Account,
    token: &WalletAToken,
) -> Result<Result<DecryptedPayload, Unreadable>, Error> {
    let Some(merchant) = certificates::merchant(ctx, account, &token.header.public_key_hash).await? else {
        return Ok(Err(Unreadable));
    };
    Ok(token.open(&merchant, &ctx.wallets.roots, ctx.clock.now()))
}

/// Decrypts a walletG payload. All accounts share the gateway's key, so the payload must name this account as its
/// merchant (`docs/decisions.md`, 223).
fn of_wallet_g(
    ctx: &Context,
    account: &Account,
    token: &WalletGToken,
) -> Result<DecryptedPayload, Unreadable> {
    let gateway = ctx.wallets.gateway.as_ref().ok_or(Unreadable)?;
    let opened = token.open(gateway, &ctx.wallets.roots, ctx.clock.now())?;
    let meant = opened.merchant.as_deref() == Some(account.id().to_string().as_str());
    if meant { Ok(opened) } else { Err(Unreadable) }
}

async fn of_wallet(
    ctx: &Context,
    account: &Account,
    wallet: SourceType,
    opened: Result<DecryptedPayload, Unreadable>,
) -> Result<(ValidatedCard, Option<wallet_payload::Model>), Error> {
    let DecryptedPayload { card, payment, until, merchant: _ } = opened.map_err(|Unreadable| unusable())?;
    let card = cards::validate_wallet_card(ctx, account, wallet, card).await?.ok_or_else(unusable)?;
    Ok((card, Some(payloads::used(account.id(), &wallet.to_value(), &payment, until))))
}
