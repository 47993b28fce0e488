//! Which card pays: the ways to pay are exclusive (specification, Charges; decisions 5).

use entity::card::{self, CardState};
use entity::{CardToken, CustomerToken, JsonText, PaymentSourceToken};

use super::cards::CardCredentials;
use super::context::{Account, Context};
use super::{cards, customers};
use crate::error::Error;
use crate::params::card::NewCard;
use crate::params::{FieldErrors, non_blank};
use crate::views;

/// The ways to pay that a request names.
#[derive(Default)]
pub struct PaymentMethodParams<'a> {
    /// A card given inline.
    pub card: Option<&'a NewCard>,
    /// A stored card.
    pub card_token: Option<&'a str>,
    /// A stored payment source.
    pub payment_source_token: Option<&'a str>,
    /// A customer.
    pub customer_token: Option<&'a str>,
}

/// The card that pays.
pub struct Payer {
    /// Its row as it stands before the charge.
    pub card: card::Model,
    /// The card as charges show it.
    pub shown: JsonText,
    /// What it pays by; cvc and proof where they were not used before.
    pub digits: CardCredentials,
    /// What the charge does to the card's token.
    pub token: TokenUse,
}

/// What a charge does to the token of the card that pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// The card came with the request: its token was never given out.
    Inline,
    /// A single-use token is spent.
    Single(CardToken),
    /// A customer's card may be charged again and again.
    Again(CustomerToken),
}

/// A way to pay that was found.
pub enum PayerLookup {
    /// It pays.
    Payer(Box<Payer>),
    /// Its single use is over, or under way.
    Spent,
}

impl From<Payer> for PayerLookup {
    fn from(payer: Payer) -> Self {
        Self::Payer(Box::new(payer))
    }
}

/// Find the card that pays. `None` means that `faults` says why there is none.
///
/// Refusals: `service_unavailable` where the acquirer does not say what it knows of a number.
pub async fn find(
    ctx: &Context,
    account: &Account,
    offered: &PaymentMethodParams<'_>,
    faults: &mut FieldErrors,
) -> Result<Option<PayerLookup>, Error> {
    let card_token = non_blank(offered.card_token);
    let source = non_blank(offered.payment_source_token);
    let customer = non_blank(offered.customer_token);
    // What is named but wrong is named.
    let named = [
        offered.card.is_some() || faults.has("card"),
        card_token.is_some() || faults.has("card_token"),
        source.is_some() || faults.has("payment_source_token"),
        customer.is_some() || faults.has("customer_token"),
    ];
    if named.iter().filter(|named| **named).count() != 1 {
        faults.add("card", EXACTLY_ONE);
        return Ok(None);
    }
    if let Some(card) = offered.card {
        return inline(ctx, account, card, faults).await;
    }
    if let Some(token) = card_token {
        return stored(ctx, account, token, faults).await;
    }
    if let Some(token) = customer {
        return of_customer(ctx, account, token, faults).await;
    }
    if let Some(token) = source {
        return of_source(ctx, account, token, faults).await;
    }
    Ok(None)
}

const EXACTLY_ONE: &str =
    "Exactly one of card, card_token, payment_source_token or customer_token is required";
const UNKNOWN: &str = "is not valid";

async fn inline(
    ctx: &Context,
    account: &Account,
    card: &NewCard,
    faults: &mut FieldErrors,
) -> Result<Option<PayerLookup>, Error> {
    let presented = cards::present(ctx, account, card, "card.", faults).await?;
    let Some(presented) = presented else { return Ok(None) };
    let cards::ValidatedCard { mut row, digits } = presented;
    // Never given out, so never used: it is born spent, and its digits never reach the database.
    row.state = CardState::Used;
    Ok(Some(payer(row, None, digits, TokenUse::Inline)?.into()))
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
        faults.add("card_token", UNKNOWN);
        return Ok(None);
    };
    match (row.state, row.customer_id) {
        (CardState::Reserved | CardState::Used, _) | (CardState::Attached, None) => {
            Ok(Some(PayerLookup::Spent))
        }
        (CardState::Unused, _) => Ok(Some(single(ctx, row).await?.into())),
        (CardState::Attached, Some(customer)) => {
            let primary = cards::primary_beside(ctx, account, &row).await?;
            Ok(Some(again(ctx, row, customer, primary).await?.into()))
        }
    }
}

/// The card inside of a payment source has its id.
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
        faults.add("payment_source_token", UNKNOWN);
        return Ok(None);
    };
    match row.state {
        CardState::Unused => Ok(Some(single(ctx, row).await?.into())),
        // A customer's card is charged by the customer's name, or by its own.
        CardState::Reserved | CardState::Used | CardState::Attached => Ok(Some(PayerLookup::Spent)),
    }
}

async fn single(ctx: &Context, row: card::Model) -> Result<Payer, Error> {
    let digits = cards::unseal(ctx, &row).await?;
    let token = TokenUse::Single(row.id);
    payer(row, None, digits, token)
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
        faults.add("customer_token", UNKNOWN);
        return Ok(None);
    };
    Ok(Some(again(ctx, card, customer.id, Some(customer.primary_card_id)).await?.into()))
}

/// A customer's card, which may be charged again and again.
pub async fn again(
    ctx: &Context,
    card: card::Model,
    customer: CustomerToken,
    primary: Option<CardToken>,
) -> Result<Payer, Error> {
    let digits = cards::unseal(ctx, &card).await?;
    payer(card, primary, digits, TokenUse::Again(customer))
}

fn payer(
    card: card::Model,
    primary: Option<CardToken>,
    digits: CardCredentials,
    token: TokenUse,
) -> Result<Payer, Error> {
    let shown = JsonText::of(&views::card::Card::new(card.clone(), primary))?;
    Ok(Payer { card, shown, digits, token })
}
