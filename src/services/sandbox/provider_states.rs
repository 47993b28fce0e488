//! POST /sandbox/provider_states: what the verifier of a pact asks of a provider before an interaction, and after it
//! (`docs/decisions.md`, 473).

use std::sync::Arc;

use entity::api_key::KeyKind;
use entity::provider_state::{ProviderState, StateAction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use validator::Validate;

use crate::error::{Error, ErrorCode};
use crate::params::values::{BLANK, USED};
use crate::params::{self, FieldErrors, Params};
use crate::services::charges::{ChargeRequestInfo, create as create_charge};
use crate::services::context::{Caller, Context, Ctx};
use crate::services::idempotency::claim::{IdempotencyClaim, IdempotentRequest};
use crate::services::sandbox::params::NewProviderState;
use crate::services::sandbox::view::ProviderStateValues;
use crate::services::sandbox::{acquirer, deposits, refunds as decided_refunds};
use crate::services::{
    authorisations, cards, charges, customers, disputes, idempotency, plans, recipients, refunds,
    subscriptions, transfers,
};

/// The address from which the examples come.
const IP_ADDRESS: &str = "203.192.1.172";

/// Makes a state, or ends it. Its records are made one after the other, each as by its own request; a state that fails on the way
/// keeps those that it has made.
///
/// Refusals: `invalid_resource`, also if the operation that makes a record refuses it.
pub async fn change(
    ctx: &Ctx,
    caller: &Caller,
    params: Params<NewProviderState>,
) -> Result<ProviderStateValues, Error> {
    let NewProviderState { state, params, action, .. } = params.valid()?;
    let state = state.unwrap_or(ProviderState::Account);
    let (task, caller) = (Ctx::clone(ctx), caller.clone());
    ctx.in_own_task(async move {
        claim(&task, &caller).await?;
        let (own, values) = (Caller::without_key(caller.account.clone()), ProviderStateValues::default());
        let mut change = StateChange { ctx: &task, caller: &own, params: params.unwrap_or_default(), values };
        let done = match action.unwrap_or(StateAction::Setup) {
            StateAction::Setup => change.set_up(state).await,
            StateAction::Teardown => change.tear_down(state).await,
        };
        answer(&task, &caller, done.map(|()| change.values).map_err(refused)).await
    })
    .await
}

/// Claims the request's own Idempotency-Key before the first record is made, because the records have commits of their own.
///
/// Refusals: `idempotency_key_in_use`.
async fn claim(ctx: &Context, caller: &Caller) -> Result<(), Error> {
    if caller.claim.is_none() {
        return Ok(());
    }
    let unit = ctx.store.write((caller.clone(), ctx.trusted.latest()), async |tx, (caller, claimed_at)| {
        caller.require_and_claim(tx, *claimed_at).await
    });
    unit.await?;
    caller.confirm();
    Ok(())
}

/// Stores the response under the claimed key, or releases the key of a state that failed.
async fn answer(
    ctx: &Context,
    caller: &Caller,
    made: Result<ProviderStateValues, Error>,
) -> Result<ProviderStateValues, Error> {
    let Some(claim) = &caller.claim else { return made };
    let response = made.as_ref().ok().map(|values| claim.response(values)).transpose()?;
    let data = (Arc::clone(&ctx.vault), caller.account.id(), Arc::clone(claim), response);
    let unit = ctx.store.write(data, async |tx, (vault, account, claim, response)| match response {
        Some(response) if idempotency::is_still_claimed(tx, *account, claim).await? => {
            idempotency::store_response(tx, vault, *account, claim.hash(), response)
        }
        Some(_) => Ok(()),
        None => idempotency::release_key(tx, *account, claim.hash()).await,
    });
    unit.await?;
    made
}

/// Returns the refusal of a state whose record was refused: parameters are named as the operation that makes the record names them.
fn refused(error: Error) -> Error {
    let code = error.code();
    if code == ErrorCode::InvalidResource || (code.status() >= 500 && code != ErrorCode::GatewayError) {
        return error;
    }
    // That of a plan has its own code.
    if let Error::Refused(refusal) = error
        && code == ErrorCode::UnprocessableEntity
        && let Some(messages) = refusal.messages
    {
        return Error::with_messages(ErrorCode::InvalidResource, messages);
    }
    FieldErrors::one("params", format!("make no such state: {}", code.code())).into()
}

/// A change on the way.
struct StateChange<'a> {
    ctx: &'a Ctx,
    caller: &'a Caller,
    /// The parameters that the verifier sends, which replace those of the examples.
    params: Map<String, Value>,
    values: ProviderStateValues,
}

impl StateChange<'_> {
    async fn set_up(&mut self, state: ProviderState) -> Result<(), Error> {
        let (ctx, caller) = (self.ctx, self.caller);
        match state {
            ProviderState::Account => {}
            ProviderState::Card => {
                let card = cards::store(ctx, caller, self.read(self.card())).await?;
                self.keep("card_token", &card)?;
            }
            ProviderState::Customer => drop(self.customer().await?),
            ProviderState::Charge => drop(self.charge(&json!({})).await?),
            ProviderState::AuthorisedCharge => drop(self.charge(&json!({ "capture": false })).await?),
            ProviderState::VoidedCharge => {
                let charge = self.charge(&json!({ "capture": false })).await?;
                charges::void(ctx, caller, &charge).await?;
            }
            ProviderState::DeclinedCharge => self.declined_charge().await?,
            ProviderState::PendingCharge => {
                let three_d_secure =
                    json!({ "enabled": true, "callback_url": "https://shop.example.com/verified" });
                self.charge(&json!({ "three_d_secure": three_d_secure })).await?;
            }
            ProviderState::Refund => drop(self.refund().await?),
            ProviderState::SettledRefund => self.decided_refund("succeeded").await?,
            ProviderState::FailedRefund => self.decided_refund("failed").await?,
            ProviderState::Authorisation => {
                let params = self.read(self.payment(&json!({})));
                let made = authorisations::create(ctx, caller, params, None).await?;
                self.keep("auth_token", &made)?;
            }
            ProviderState::Plan => drop(self.plan().await?),
            ProviderState::Subscription => drop(self.subscription().await?),
            ProviderState::CancelledSubscription => {
                let subscription = self.subscription().await?;
                subscriptions::cancel(ctx, caller, &subscription).await?;
            }
            ProviderState::Recipient => {
                let account = json!({ "name": "Mr Roland Robot", "bsb": "806-015", "number": "987654321" });
                let example = json!({ "email": "roland@example.com", "name": "Mr Roland Robot", "bank_account": account });
                let made = recipients::create(ctx, caller, self.read(example)).await?;
                self.keep("recipient_token", &made)?;
            }
            ProviderState::Transfer => {
                let example = json!({ "description": "Earnings", "amount": 400, "currency": "AUD", "recipient": "self" });
                let made = transfers::create(ctx, caller, self.read(example)).await?;
                self.keep("transfer_token", &made)?;
            }
            ProviderState::Deposit => {
                let made = deposits::create(ctx, caller, self.read(json!({ "amount": 50_000 }))).await?;
                self.keep("deposit_token", &made)?;
            }
            ProviderState::Dispute => {
                let charge = self.charge(&json!({})).await?;
                let params = params::read(&json!({ "charge_token": charge }));
                let made = disputes::open::open(ctx, caller, params).await?;
                self.keep("dispute_token", &made)?;
            }
            ProviderState::DecliningAcquirer => {
                let params = self.read(json!({ "decline": "card_declined" }));
                acquirer::change(ctx, caller, params).await?;
            }
            ProviderState::RequestInFlight => self.claim_key().await?,
        }
        Ok(())
    }

    /// Ends what would change later interactions. Records stay: they change none.
    async fn tear_down(&mut self, state: ProviderState) -> Result<(), Error> {
        if state == ProviderState::DecliningAcquirer {
            let none = params::read(&json!({ "decline": "" }));
            acquirer::change(self.ctx, self.caller, none).await?;
        }
        if state == ProviderState::RequestInFlight {
            self.release_key().await?;
        }
        Ok(())
    }

    /// Reads the parameters of an example, in which those that the verifier sends replace the others.
    fn read<T: DeserializeOwned + Validate>(&self, mut example: Value) -> Params<T> {
        replace(&mut example, &self.params);
        params::read(&example)
    }

    /// Adds the token of a record to the values, and returns it.
    fn keep(&mut self, name: &'static str, record: &impl Serialize) -> Result<String, Error> {
        let record = serde_json::to_value(record)?;
        let token = record["token"].as_str().ok_or_else(|| Error::internal("a record without a token"))?;
        self.values.0.insert(name, token.to_owned());
        if let Some(url) = record["redirect_url"].as_str() {
            self.values.0.insert("redirect_url", url.to_owned());
        }
        Ok(token.to_owned())
    }

    fn card(&self) -> Value {
        let year = i64::from(self.caller.account.now.year_and_month().0) + 3;
        json!({
            "number": "4200000000000000", "expiry_month": 12, "expiry_year": year, "cvc": "123", "name": "Roland Robot",
            "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
        })
    }

    /// Returns a payment with the example's card, unless the verifier names another way to pay.
    fn payment(&self, changes: &Value) -> Value {
        let mut payment = json!({
            "email": "roland@example.com", "description": "A pact", "amount": 400, "ip_address": IP_ADDRESS,
        });
        let ways = ["card_token", "payment_source_token", "customer_token"];
        if !ways.iter().any(|way| self.params.contains_key(*way)) {
            payment["card"] = self.card();
        }
        if let Some(changes) = changes.as_object() {
            replace(&mut payment, changes);
        }
        payment
    }

    async fn charge(&mut self, changes: &Value) -> Result<String, Error> {
        let params = self.read(self.payment(changes));
        let made = Box::pin(create_charge(self.ctx, self.caller, params, self.request(None))).await?;
        self.keep("charge_token", &made)
    }

    fn request<'r>(&'r self, outcome: Option<&'r str>) -> ChargeRequestInfo<'r> {
        ChargeRequestInfo { outcome, challenge: None, base_url: &self.ctx.settings.base_url }
    }

    async fn declined_charge(&mut self) -> Result<(), Error> {
        let outcome = self.text("outcome").unwrap_or("card_declined").to_owned();
        let params = self.read(self.payment(&json!({})));
        let request = self.request(Some(&outcome));
        let Err(error) = Box::pin(create_charge(self.ctx, self.caller, params, request)).await else {
            return Err(FieldErrors::one("outcome", "is no decline").into());
        };
        let Some(charge) = error.charge_token() else { return Err(error) };
        self.values.0.insert("charge_token", charge.to_owned());
        Ok(())
    }

    async fn refund(&mut self) -> Result<String, Error> {
        let charge = self.charge(&json!({})).await?;
        let made = refunds::create(self.ctx, self.caller, &charge, params::read(&json!({}))).await?;
        self.keep("refund_token", &made)
    }

    async fn decided_refund(&mut self, outcome: &str) -> Result<(), Error> {
        let refund = self.refund().await?;
        let params = params::read(&json!({ "outcome": outcome }));
        decided_refunds::decide(self.ctx, self.caller, &refund, params).await.map(drop)
    }

    async fn customer(&mut self) -> Result<String, Error> {
        let mut example = json!({ "email": "roland@example.com" });
        if !self.params.contains_key("card_token") {
            example["card"] = self.card();
        }
        let params = self.read(example);
        let made = customers::create(self.ctx, self.caller, IP_ADDRESS.to_owned(), params).await?;
        let record = serde_json::to_value(&made)?;
        self.keep("card_token", &record["card"])?;
        self.keep("customer_token", &record)
    }

    async fn plan(&mut self) -> Result<String, Error> {
        let example =
            json!({ "name": "Coffee plan", "amount": 1000, "interval": 1, "interval_unit": "month" });
        let made = plans::create(self.ctx, self.caller, self.read(example)).await?;
        self.keep("plan_token", &made)
    }

    /// Subscribes a customer to a plan; the verifier's parameters are the plan's.
    async fn subscription(&mut self) -> Result<String, Error> {
        let plan = self.plan().await?;
        let named = std::mem::take(&mut self.params);
        let customer = self.customer().await?;
        self.params = named;
        let params = params::read(&json!({ "plan_token": plan, "customer_token": customer }));
        let made = Box::pin(subscriptions::create(self.ctx, self.caller, params)).await?;
        self.keep("sub_token", &made)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    /// Returns the claim of the request that is in flight.
    fn claim(&self) -> Result<IdempotencyClaim, Error> {
        let named = |name| self.text(name).ok_or_else(|| FieldErrors::one(name, BLANK));
        let parameters = self.params.get("parameters").cloned().unwrap_or_else(|| json!({}));
        let request = IdempotentRequest {
            kind: KeyKind::Secret,
            key: named("idempotency_key")?,
            method: named("method")?,
            // The handlers of /1 see the path below it.
            path: named("path").map(|path| path.strip_prefix("/1").unwrap_or(path))?,
            parameters: &parameters,
            restriction: None,
        };
        Ok(IdempotencyClaim::new(&self.ctx.vault, &request))
    }

    /// Returns whether the request is in flight, by an earlier setup that nothing has torn down.
    async fn is_in_flight(&self) -> Result<bool, Error> {
        match idempotency::find_response(self.ctx, self.caller.account.id(), &self.claim()?).await {
            Err(error) if error.code() == ErrorCode::IdempotencyKeyInUse => Ok(true),
            Err(error) if error.code() == ErrorCode::IdempotencyKeyReused => Ok(false),
            found => found.map(|_| false),
        }
    }

    async fn claim_key(&self) -> Result<(), Error> {
        if self.is_in_flight().await? {
            return Ok(());
        }
        let claim = (self.caller.account.id(), self.claim()?, self.ctx.trusted.latest());
        let unit =
            self.ctx.store.write(claim, async |tx, (account, claim, at)| claim.record(tx, *account, *at));
        match unit.await {
            Err(error) if error.code() == ErrorCode::IdempotencyKeyInUse => {
                Err(FieldErrors::one("idempotency_key", USED).into())
            }
            claimed => claimed,
        }
    }

    /// Gives the key back; one that another request has used stays its own.
    async fn release_key(&self) -> Result<(), Error> {
        if !self.is_in_flight().await? {
            return Ok(());
        }
        let claim = (self.caller.account.id(), self.claim()?);
        let unit = self.ctx.store.write(claim, async |tx, (account, claim)| {
            idempotency::release_key(tx, *account, claim.hash()).await
        });
        unit.await
    }
}

/// Replaces values in an object; objects within it are merged.
fn replace(tree: &mut Value, with: &Map<String, Value>) {
    for (name, value) in with {
        match (&mut tree[name.as_str()], value) {
            (fields @ Value::Object(_), Value::Object(with)) => replace(fields, with),
            (slot, value) => *slot = value.clone(),
        }
    }
}
