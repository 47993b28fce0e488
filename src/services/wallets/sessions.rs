//! Sessions: the provider allows a merchant's page to request a payment from a device.

use base::hexadecimal;
use base::random::RandomStream;
use entity::TimeSpan;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{Provider, domains, enabled};
use crate::error::{Error, ErrorCode};
use crate::limits::WALLET_TIMEOUT;
use crate::params::{Params, non_blank, rules};
use crate::services::context::{Account, Caller, Context};
use crate::services::idempotency;
use crate::services::wallets::params::{Initiative, NewSession};
use crate::services::wallets::view::WalletSession;

/// The time for which a device may show the payment.
const LIFETIME: TimeSpan = TimeSpan::seconds(5 * 60);

/// Requests a session from the provider. Stores nothing except the response of an Idempotency-Key.
///
/// Refusals, first match wins: `api_unavailable`, `bad_request`, `gateway_error`.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewSession>,
) -> Result<WalletSession, Error> {
    let account = &caller.account;
    enabled(account)?;
    let Ok(params) = params.valid() else { return Err(bad_request()) };
    let url = callable(ctx, &params.validation_url).ok_or_else(bad_request)?;
    let context = non_blank(params.initiative_context.as_deref());
    let context = match (params.initiative, context) {
        (Initiative::Web, Some(domain)) if domains::find(ctx, account, domain).await?.is_some() => {
            Some(domain)
        }
        (Initiative::Web, _) => return Err(bad_request()),
        (Initiative::Messaging, context) => context,
    };
    let session = match &ctx.wallets.provider {
        Some(provider) => provider.request_session(account, &url, (params.initiative, context)).await?,
        None => simulated(ctx, account, context),
    };
    idempotency::write(ctx, caller, session, async |_, session| Ok(session.clone())).await
}

fn bad_request() -> Error {
    ErrorCode::BadRequest.into()
}

/// Parses the validation URL and checks its host. The URL comes from a page, so it is untrusted: only the provider's
/// hosts are called. A simulated provider has any host that may be called; a server without a provider has none.
fn callable(ctx: &Context, url: &str) -> Option<Url> {
    rules::http_url(url).ok()?;
    let url = Url::parse(url).ok()?;
    let plain = url.scheme() == "https"
        && url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && url.fragment().is_none();
    let known = match (&ctx.wallets.provider, &ctx.wallets.simulated) {
        (Some(provider), _) => {
            url.host_str().is_some_and(|host| provider.hosts.iter().any(|known| known == host))
        }
        (None, Some(_)) => ctx.outbound.policy().permits_literal(&url),
        (None, None) => false,
    };
    (plain && known).then_some(url)
}

impl Provider {
    /// Calls the provider as the identity's merchant and returns its answer unchanged.
    async fn request_session(
        &self,
        account: &Account,
        url: &Url,
        (initiative, context): (Initiative, Option<&str>),
    ) -> Result<WalletSession, Error> {
        let body = json!({
            "merchantIdentifier": self.merchant_id,
            "displayName": account.settings().business_name,
            "initiative": initiative,
            "initiativeContext": context.unwrap_or_default(),
        });
        let answer = self.outbound.post_json(url.as_str(), body.to_string().into(), WALLET_TIMEOUT).await;
        let body = match answer {
            Ok((200, body)) => body,
            Ok((status, _)) => {
                tracing::warn!(status, "the provider of walletA refused a session");
                return Err(ErrorCode::GatewayError.into());
            }
            Err(unreached) => {
                tracing::warn!(%unreached, "the provider of walletA gave no session");
                return Err(ErrorCode::GatewayError.into());
            }
        };
        serde_json::from_slice(&body).map_err(|_| ErrorCode::GatewayError.into())
    }
}

/// Returns a session such as a provider would.
fn simulated(ctx: &Context, account: &Account, context: Option<&str>) -> WalletSession {
    let draw = RandomStream::WalletSession;
    let merchant = hexadecimal::encode(&Sha256::digest(account.id().to_string()));
    WalletSession {
        epoch_timestamp: account.now.millis(),
        expires_at: (account.now + LIFETIME).millis(),
        merchant_session_identifier: format!("SSH{}", hexadecimal::encode(&ctx.random.bytes::<32>(draw))),
        nonce: hexadecimal::encode(&ctx.random.bytes::<4>(draw)),
        operational_analytics_identifier: Some(format!("{}:{merchant}", account.settings().business_name)),
        psp_id: Some(merchant.clone()),
        merchant_identifier: merchant,
        domain_name: context.unwrap_or_default().to_owned(),
        display_name: account.settings().business_name.clone(),
        signature: hexadecimal::encode(&ctx.random.bytes::<64>(draw)),
        retries: 0,
    }
}
