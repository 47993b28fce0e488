//! Finds the card that pays. The payment methods are exclusive (specification, Charges; `docs/decisions.md`, 119).

use entity::card::{self, CardState};
use entity::{CardToken, CustomerToken, JsonText, PaymentSourceToken};

use super::cards::CardCredentials;
use super::context::{Account, Context};
use super::{cards, customers};
use crate::error::Error;
use crate::params::values::INVALID;
use crate::params::{FieldErrors, non_blank};
use crate::services::cards::params::{EXACTLY_ONE_PAYER, NewCard};
use crate::services::cards::view::Card;

/// The payment methods that a request names.
#[derive(Default)]
pub struct PaymentMethodParams<'a> {
    /// A card given inline.
    pub card: Option<&'a NewCard>,
    pub card_token: Option<&'a str>,
    /// A stored payment source.
    pub payment_source_token: Option<&'a str>,
    pub customer_token: Option<&'a str>,
}

/// The card that pays.
pub struct Payer {
    /// The card's row before the charge.
    pub card: card::Model,
    /// The card as the API shows it in charges.
    pub shown: JsonText,
    /// The card's credentials, with cvc and proof if they were not used before.
    pub credentials: CardCredentials,
    /// The charge's effect on the card's token.
    pub token: TokenUse,
}

/// The effect of a charge on the token of the card that pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// The card came with the request: its token was never returned.
    Inline,
    /// The charge spends this single-use token.
    Single(CardToken),
    /// A customer's card, which may be charged repeatedly.
    Again(CustomerToken),
}

/// A payment method that was found.
pub enum PayerLookup {
    /// The card that pays.
    Payer(Box<Payer>),
    /// Its single-use token is spent or reserved.
    Spent,
}

impl From<Payer> for PayerLookup {
    fn from(payer: Payer) -> Self {
        Self::Payer(Box::new(payer))
    }
}

/// Finds the card that pays. `None` means that `faults` holds the reason.
///
/// Refusals: `service_unavailable` if the acquirer does not return the number's details.
pub async fn find(
    ctx: &Context,
    account: &Account,
    offered: &PaymentMethodParams<'_>,
    faults: &mut FieldErrors,
) -> Result<Option<PayerLookup>, Error> {
    let is_ambiguous = faults.contains("card", EXACTLY_ONE_PAYER);
    if let Some(card) = offered.card {
        // What else is wrong with one card of several ways to pay is told as well.
        let payer = inline(ctx, account, card, faults).await?;
        return Ok(payer.filter(|_| !is_ambiguous));
    }
    if is_ambiguous {
        return Ok(None);
    }
    if let Some(token) = non_blank(offered.card_token) {
        return stored(ctx, account, token, faults).await;
    }
    if let Some(token) = non_blank(offered.customer_token) {
        return of_customer(ctx, account, token, faults).await;
    }
    if let Some(token) = non_blank(offered.payment_source_token) {
        return of_source(ctx, account, token, faults).await;
    }
    Ok(None)
}

async fn inline(
    ctx: &Context,
    account: &Account,
    card: &NewCard,
    faults: &mut FieldErrors,
) -> Result<Option<PayerLookup>, Error> {
    let presented = cards::validate(ctx, account, card, "card.", faults).await?;
    let Some(presented) = presented else { return Ok(None) };
    let cards::ValidatedCard { mut row, credentials } = presented;
    // The token is never returned, so never used: it is created spent, and its credentials never reach the database.
    row.state = CardState::Used;
    Ok(Some(payer(row, None, credentials, TokenUse::Inline)?.into()))
}

async fn stored(
    ctx: &Context,
    account: &Account,
    token: &str,
    faults: &mut FieldErrors,
) -> Result<Option<PayerLookup>, Error> {
    let row = match token.parse() {
        Ok(id) => cards::find(ctx, account, id).await?,
        Err(_) => None,
    };
    let Some(row) = row else {
        faults.add("card_token", INVALID);
        return Ok(None);
    };
    match (row.state, row.customer_id) {
        (CardState::Reserved | CardState::Used, _) | (CardState::Attached, None) => {
            Ok(Some(PayerLookup::Spent))
        }
        (CardState::Unused, _) => Ok(Some(single(ctx, row).await?.into())),
        (CardState::Attached, Some(customer)) => {
            let primary = cards::find_primary_id(ctx, account, &row).await?;
            Ok(Some(again(ctx, row, customer, primary).await?.into()))
        }
    }
}

/// The card in a payment source has the source's id.
async fn of_source(
    ctx: &Context,
    account: &Account,
    token: &str,
    faults: &mut FieldErrors,
) -> Result<Option<PayerLookup>, Error> {
    let row = match token.parse::<PaymentSourceToken>() {
        Ok(id) => cards::find(ctx, account, CardToken::new(id.id())).await?,
        Err(_) => None,
    };
    let Some(row) = row.filter(|row| row.source.is_some()) else {
        faults.add("payment_source_token", INVALID);
        return Ok(None);
    };
    match row.state {
        CardState::Unused => Ok(Some(single(ctx, row).await?.into())),
        // A customer's card is charged by the customer's token or by the card's own.
        CardState::Reserved | CardState::Used | CardState::Attached => Ok(Some(PayerLookup::Spent)),
    }
}

async fn single(ctx: &Context, row: card::Model) -> Result<Payer, Error> {
    let credentials = cards::unseal(ctx, &row).await?;
    let token = TokenUse::Single(row.id);
    payer(row, None, credentials, token)
}

async fn of_customer(
    ctx: &Context,
    account: &Account,
    token: &str,
    faults: &mut FieldErrors,
) -> Result<Option<PayerLookup>, Error> {
    let found = match token.parse() {
        Ok(id) => customers::find::with_primary(ctx, account, id).await?,
        Err(_) => None,
    };
    let Some((customer, card)) = found else {
        faults.add("customer_token", INVALID);
        return Ok(None);
    };
    Ok(Some(again(ctx, card, customer.id, Some(customer.primary_card_id)).await?.into()))
}

/// Returns a customer's card as payer. It may be charged repeatedly.
pub async fn again(
    ctx: &Context,
    card: card::Model,
    customer: CustomerToken,
    primary: Option<CardToken>,
) -> Result<Payer, Error> {
    let credentials = cards::unseal(ctx, &card).await?;
    payer(card, primary, credentials, TokenUse::Again(customer))
}

fn payer(
    card: card::Model,
    primary: Option<CardToken>,
    credentials: CardCredentials,
    token: TokenUse,
) -> Result<Payer, Error> {
    let shown = JsonText::encode(&Card::new(card.clone(), primary))?;
    Ok(Payer { card, shown, credentials, token })
}
