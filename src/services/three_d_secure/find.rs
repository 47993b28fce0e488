//! Finds sessions by the secret of their page or by their token.

use entity::three_d_secure::{self, SessionState};
use entity::{AccountToken, Listed, SessionToken, Timestamp, account, card, challenge_page, charge};
use sea_orm::EntityTrait;
use subtle::ConstantTimeEq;
use vault::{Purpose, Vault};

use crate::error::{Error, ErrorCode};
use crate::services::accounts::wipe::deleted;
use crate::services::context::{Account, Context};

/// Returns the keyed hash under which a page's secret is stored.
pub fn page_hash(vault: &Vault, secret: &str) -> [u8; 32] {
    vault.keyed_hash(Purpose::Link, &["3-D Secure page", secret].map(str::as_bytes))
}

/// Finds the session of a page, and its account. An expired session has no page.
///
/// Refusals: `not_found`.
pub async fn by_secret(ctx: &Context, secret: &str) -> Result<(Account, three_d_secure::Model), Error> {
    let hash = page_hash(&ctx.vault, secret);
    let page = challenge_page::Entity::find_by_id(hash.to_vec()).one(ctx.store.read()).await?;
    // The index look-up compares parts of the hash; this compares the whole in constant time.
    let page = page.filter(|page| page.hash.as_slice().ct_eq(&hash).into()).ok_or(ErrorCode::NotFound)?;
    let account = account::Entity::find_by_id(page.account_id).one(ctx.store.read()).await?;
    let account = account.filter(|account| account.closed_at.is_none()).ok_or(ErrorCode::NotFound)?;
    let account = Account::new(account, ctx.clock.now());
    let session = by_id(ctx, account.id(), page.session_id).await?;
    let session = session.filter(|session| !is_expired(session, account.now));
    Ok((account, session.ok_or(ErrorCode::NotFound)?))
}

pub async fn by_id(
    ctx: &Context,
    account: AccountToken,
    id: SessionToken,
) -> Result<Option<three_d_secure::Model>, Error> {
    let session = three_d_secure::Entity::at(account, id);
    Ok(session.one(ctx.store.read()).await?)
}

/// Returns whether the session's thirty minutes are over, even if no worker has expired it yet.
pub fn is_expired(session: &three_d_secure::Model, now: Timestamp) -> bool {
    match session.state {
        SessionState::Open => session.expires_at.is_some_and(|at| at <= now),
        SessionState::Expired => true,
        SessionState::Approved | SessionState::Failed | SessionState::Unavailable => false,
    }
}

pub async fn charge(ctx: &Context, session: &three_d_secure::Model) -> Result<charge::Model, Error> {
    let charge = charge::Entity::at(session.account_id, session.charge_id).one(ctx.store.read()).await?;
    charge.ok_or_else(deleted)
}

/// Returns the copy of the paying card, which exists as long as the session is open.
pub async fn card(ctx: &Context, session: &three_d_secure::Model) -> Result<Option<card::Model>, Error> {
    let card = card::Entity::at(session.account_id, session.card_id);
    Ok(card.one(ctx.store.read()).await?)
}
