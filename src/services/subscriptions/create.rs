//! POST /subscriptions and POST /plans/{token}/subscriptions: a payment, or one commit if there is nothing to charge.

use entity::charge::Origin;
use entity::counter::Counted;
use entity::subscription::{self, SubscriptionState};
use entity::{CardToken, Rate, card, charge, customer, plan};
use store::Tx;

use super::bill::at_billing_time;
use super::course::{Bill, Subscriber, continue_interval, start};
use super::record_outcome::{pay, starts};
use super::rows::{lock_customer, record_event};
use super::state::next;
use crate::error::{Error, ErrorCode};
use crate::params::{FieldErrors, Params, non_blank};
use crate::services::context::{Account, Caller, Context, Ctx};
use crate::services::payments::creation::{PaymentIntent, record_row};
use crate::services::payments::order::{ChargeIntent, ChargeOrder, Terms};
use crate::services::subscriptions::params::{NewPlanSubscription, NewSubscription};
use crate::services::subscriptions::view::Subscription;
use crate::services::{acquirer_lookup, cards, counts, customers, idempotency, payer, plans};

/// Subscribes a customer to a plan. May take as long as the acquirer.
///
/// Refusals, first match wins: `invalid_resource` (400), `resource_not_found` (the plan, then the customer),
/// `invalid_request` (the card); then the acquirer's: a decline, or `gateway_error`, which always mean that there is no
/// subscription and nothing was charged.
pub async fn create(
    ctx: &Ctx,
    caller: &Caller,
    params: Params<NewSubscription>,
) -> Result<Subscription, Error> {
    let new_subscription = params.valid().map_err(Error::subscription)?;
    let unknown = ErrorCode::RecordNotFound;
    let plan = plans::find::by_token(ctx.store.read(), &caller.account, new_subscription.plan_token.trim())
        .await?
        .ok_or(unknown)?;
    let NewSubscription { customer_token, card_token, include_setup_fee, .. } = new_subscription;
    let new_subscription = NewPlanSubscription { customer_token, card_token, include_setup_fee };
    subscribe(ctx, caller, plan, new_subscription, unknown).await
}

/// Subscribes a customer to the plan in the path. May take as long as the acquirer.
///
/// Refusals, first match wins: `not_found` (the plan), `invalid_resource` (400), `not_found` (the customer), then as
/// [`create`].
pub async fn create_for_plan(
    ctx: &Ctx,
    caller: &Caller,
    plan: &str,
    params: Params<NewPlanSubscription>,
) -> Result<Subscription, Error> {
    let unknown = ErrorCode::NotFound;
    let plan = plans::find::by_token(ctx.store.read(), &caller.account, plan).await?.ok_or(unknown)?;
    let new_subscription = params.valid().map_err(Error::subscription)?;
    subscribe(ctx, caller, plan, new_subscription, unknown).await
}

/// Subscribes a customer; `unknown` is the refusal of an unknown one.
async fn subscribe(
    ctx: &Ctx,
    caller: &Caller,
    plan: plan::Model,
    new_subscription: NewPlanSubscription,
    unknown: ErrorCode,
) -> Result<Subscription, Error> {
    let caller = &at_billing_time(ctx, caller);
    let account = &caller.account;
    let include_setup_fee = new_subscription.include_setup_fee.unwrap_or(true);
    let customer = new_subscription.customer_token.trim().parse().map_err(|_| unknown)?;
    let (customer, primary) = customers::find::with_primary(ctx, account, customer).await?.ok_or(unknown)?;
    let named = match non_blank(new_subscription.card_token.as_deref()) {
        Some(token) => Some(card_of(ctx, account, &customer, token).await?),
        None => None,
    };
    let subscriber = Subscriber {
        id: ctx.ids.token(),
        customer: customer.id,
        card: named.as_ref().map(|card| card.id),
        include_setup_fee,
    };
    let row = start(&plan, &subscriber, account.now);
    let bill = Bill::first(&row, &plan, include_setup_fee);
    if bill.sum() == 0 {
        let unit = CreateSubscriptionUnit { row, plan, unknown };
        return idempotency::write(ctx, caller, unit, async |tx, unit| unit.free(tx).await).await;
    }
    let rate = rate_of(ctx, &plan).await?;
    let payer = (&plan, customer, named.unwrap_or(primary));
    let order = order(ctx, account, Origin::Subscription, (&bill, rate), payer).await?;
    let ChargeOrder { intent: charge, call } = order.under_key(caller);
    let intent = SubscribeIntent { unit: CreateSubscriptionUnit { row, plan, unknown }, charge };
    pay(ctx, caller, intent, call, unknown).await
}

/// Returns a card of the customer.
///
/// Refusals: `invalid_request`.
pub(super) async fn card_of(
    ctx: &Context,
    account: &Account,
    customer: &customer::Model,
    token: &str,
) -> Result<card::Model, Error> {
    let card = match token.trim().parse() {
        Ok(id) => cards::find(ctx, account, id).await?,
        Err(_) => None,
    };
    card.filter(|card| card.customer_id == Some(customer.id)).ok_or_else(Error::not_the_customers_card)
}

/// Returns the rate of a plan's currency.
///
/// Refusals: `service_unavailable`; `invalid_resource` if the acquirer does not take the currency any more.
pub(super) async fn rate_of(ctx: &Context, plan: &plan::Model) -> Result<Rate, Error> {
    let untaken = || Error::subscription(FieldErrors::one("plan_token", "is not in a supported currency"));
    acquirer_lookup::rate(ctx, plan.currency).await?.ok_or_else(untaken)
}

/// Makes the order of a bill, with the customer's e-mail, the plan's name, and the address from which the customer was
/// created.
pub(super) async fn order(
    ctx: &Context,
    account: &Account,
    origin: Origin,
    (bill, rate): (&Bill, Rate),
    (plan, customer, card): (&plan::Model, customer::Model, card::Model),
) -> Result<ChargeOrder, Error> {
    let terms = Terms {
        origin,
        amount: bill.sum(),
        currency: plan.currency,
        rate,
        capture: true,
        email: customer.email,
        description: plan.name.clone(),
        ip_address: customer.ip_address,
        reference: None,
        metadata: Vec::new(),
        platform_adjustment: None,
        three_d_secure: None,
    };
    let payer = payer::again(ctx, card, customer.id, Some(customer.primary_card_id)).await?;
    ChargeOrder::new(ctx, account, terms, payer)
}

struct CreateSubscriptionUnit {
    row: subscription::Model,
    plan: plan::Model,
    unknown: ErrorCode,
}

impl CreateSubscriptionUnit {
    /// Begins it at once, without a charge.
    async fn free(&self, tx: &Tx) -> Result<Subscription, Error> {
        let step = next(SubscriptionState::Starting, starts(&self.row))?;
        let row = continue_interval(&self.row, step, &self.plan);
        self.insert(tx, &row).await?;
        counts::add(tx, row.account_id, Counted::Subscriptions, 1);
        record_event(tx, row, step.emits, self.row.created_at)
    }

    /// Inserts it if plan, customer and card exist. A concurrent deletion of one of them waits, or finds the subscription.
    async fn insert(&self, tx: &Tx, row: &subscription::Model) -> Result<(), Error> {
        if !lock_customer(tx, row.account_id, row.customer_id).await? {
            return Err(self.unknown.into());
        }
        if let Some(card) = row.card_id {
            check_card(tx, row, card).await?;
        }
        if !plans::count::count_move(tx, row.account_id, row.plan_id, None, Some(row.state)).await? {
            return Err(self.unknown.into());
        }
        Ok(tx.insert(row).await?)
    }
}

/// Adds the subscription in the intent of its first charge, hidden until the acquirer has agreed.
struct SubscribeIntent {
    unit: CreateSubscriptionUnit,
    charge: Box<ChargeIntent>,
}

impl PaymentIntent for SubscribeIntent {
    async fn record(&self, tx: &Tx) -> Result<Option<charge::Model>, Error> {
        let mut row = self.unit.row.clone();
        row.attempt += 1;
        row.charge_id = Some(self.charge.row.id);
        record_row(tx, &self.charge).await?;
        self.unit.insert(tx, &row).await?;
        Ok(Some(self.charge.row.clone()))
    }
}

/// Checks that the named card still belongs to the customer, whose lock keeps it there.
pub(super) async fn check_card(tx: &Tx, row: &subscription::Model, card: CardToken) -> Result<(), Error> {
    let card = cards::load(tx, row.account_id, card).await?;
    match card {
        Some(card) if card.customer_id == Some(row.customer_id) => Ok(()),
        Some(_) | None => Err(Error::not_the_customers_card()),
    }
}
