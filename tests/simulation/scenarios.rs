//! Scenarios: short plays, each in an account of its own and about one promise that a slip may break.

mod cards;
mod charges;
mod clocks;
mod endpoints;
mod keys;
mod payouts;
mod refunds;
mod subscriptions;

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::client::{Answer, Call, Client};
use crate::faults::{CLOCK_JUMP_MAX, Wishes};
use crate::harness::random::Random;
use crate::judge;
use crate::network::at;
use crate::payer::{card, token};
use crate::receivers::Receivers;
use crate::shop::TO_RECEIVERS;

/// How many scenarios a history plays.
pub const PLAYS: usize = 8;
/// How often a scenario looks again at what it waits for.
const LOOK_AGAIN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(8)];
/// How soon a clock has moved.
const MOVED_MAX: Duration = Duration::from_mins(20);
/// The card that every issuer of the sandbox approves.
pub const GOOD_CARD: &str = "4200000000000000";

/// Where a scenario is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Anything,
    /// A wall clock that goes on: what it waits for becomes due by itself, and all faults happen.
    RunningClock,
    /// A wall clock that stands, so that an account's clock can be set to the very millisecond, and no call seems to be lost.
    StandingClock,
}

/// A scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    needs: Needs,
    play: fn(&mut Stage) -> LocalBoxFuture<'_, ()>,
}

macro_rules! scenarios {
    ($($room:ident::$name:ident $needs:ident)*) => {
        /// Every scenario.
        const ALL: &[Scenario] = &[$(Scenario {
            name: stringify!($name),
            needs: Needs::$needs,
            play: |stage| $room::$name(stage).boxed_local(),
        }),*];
    };
}

scenarios! {
    keys::a_key_belongs_to_one_request Anything
    keys::refused_requests_leave_their_keys_free Anything
    keys::a_revoked_key_is_refused Anything
    cards::a_token_pays_once Anything
    charges::a_charge_is_captured_once Anything
    charges::a_lost_answer_charges_nothing RunningClock
    charges::slow_payments_have_one_outcome RunningClock
    refunds::refunds_never_exceed_their_charge Anything
    refunds::a_failed_refund_gives_its_amount_back Anything
    refunds::a_refund_without_an_answer_is_made_once RunningClock
    payouts::a_settlement_pays_each_line_once Anything
    payouts::a_returned_transfer_gives_everything_back Anything
    subscriptions::an_interval_is_billed_once RunningClock
    endpoints::a_refused_webhook_fails_in_the_end RunningClock
    endpoints::a_killed_delivery_is_made_again RunningClock
    endpoints::a_slow_endpoint_gets_everything RunningClock
    endpoints::a_quiet_server_sends_webhooks_at_once RunningClock
    clocks::an_authorisation_expires_at_its_instant StandingClock
    clocks::a_moving_clock_waits_for_a_payment StandingClock
}

/// Returns the named scenarios that a history can play; if none is named, it draws some.
pub fn choose(random: &mut Random, time_stands: bool, named: &[String]) -> Vec<Scenario> {
    let missing = if time_stands { Needs::RunningClock } else { Needs::StandingClock };
    let mut left: Vec<_> = ALL.iter().copied().filter(|it| it.needs != missing).collect();
    if !named.is_empty() {
        left.retain(|it| named.iter().any(|name| name == it.name));
        return left;
    }
    let draw = |_| left.swap_remove(usize::try_from(random.below(left.len() as u64)).unwrap());
    (0..PLAYS).map(draw).collect()
}

impl Scenario {
    /// Plays it; panics where something is not as it should be.
    pub async fn play(self, mut stage: Stage) {
        (self.play)(&mut stage).await;
    }
}

/// Where a scenario is played: an account, and what is around it.
pub struct Stage {
    pub client: Client,
    pub random: Random,
    pub receivers: Receivers,
    pub wishes: Wishes,
    /// When the faults end, by the time of the machine.
    pub end: Duration,
    /// All cents of the account before the play.
    opening: i64,
    name: String,
    requests: usize,
}

impl Stage {
    /// Opens an account for a play of this name.
    pub async fn open(
        maker: &Client,
        name: String,
        seed: u64,
        receivers: Receivers,
        wishes: Wishes,
        end: Duration,
    ) -> Self {
        let made = maker.insist(Method::POST, "/1/sandbox/accounts", Some(&name), &json!({})).await.record();
        let client = maker.keyed(made["secret_key"].as_str().unwrap());
        let opening = judge::balance(&client).await;
        Self { client, random: Random(seed), receivers, wishes, end, opening, name, requests: 0 }
    }

    /// Makes a request under a key of its own.
    pub fn call(&mut self, method: Method, path: &str, body: Value) -> Call {
        self.requests += 1;
        let key = format!("{}-{}", self.name, self.requests);
        Call { key: Some(key), ..Call::new(method, path, body) }
    }

    pub async fn post(&mut self, path: &str, body: Value) -> Answer {
        let call = self.call(Method::POST, path, body);
        self.client.finish(&call).await
    }

    pub async fn put(&mut self, path: &str, body: Value) -> Answer {
        let call = self.call(Method::PUT, path, body);
        self.client.finish(&call).await
    }

    /// Makes a charge of a card, captured or authorised only.
    pub async fn charge(&mut self, amount: i64, number: &str, captures: bool) -> Value {
        self.post("/1/charges", charge(amount, number, captures)).await.record()
    }

    /// Makes a customer, of whom there is an event.
    pub async fn customer(&mut self) -> Value {
        self.post("/1/customers", customer()).await.record()
    }

    /// Sets the faults of the account's acquirer.
    pub async fn set_acquirer(&mut self, faults: Value) {
        self.put("/1/sandbox/acquirer", faults).await.record();
    }

    /// Registers an endpoint, and returns its path.
    pub async fn endpoint(&mut self) -> String {
        let path = format!("/{}", self.name);
        let url = json!({ "url": format!("http://{}{path}", at(TO_RECEIVERS)) });
        let endpoint = self.post("/1/webhook_endpoints", url).await.record();
        self.receivers.know(&path, endpoint["key"].as_str().unwrap());
        path
    }

    /// Returns the time of the account's clock.
    pub async fn now(&self) -> DateTime<Utc> {
        time(&self.client.get("/1/sandbox/clock").await["now"])
    }

    /// Moves the account's clock to a time, or finds that it has passed it.
    pub async fn move_clock(&mut self, to: DateTime<Utc>) {
        let end = simulated_machine::now().max(self.end) + MOVED_MAX;
        loop {
            let answer = self.put("/1/sandbox/clock", json!({ "to": shown(to) })).await;
            // An earlier request may have moved it, and time goes on; the next server's may be behind again.
            let is_there = if answer.status == 422 {
                self.now().await >= to
            } else {
                answer.record()["complete"] == true
            };
            if is_there {
                return;
            }
            assert!(
                simulated_machine::now() < end,
                "{}: the clock does not move: {}",
                self.name,
                answer.text
            );
            sleep(LOOK_AGAIN[0]).await;
        }
    }

    /// Moves the account's clock on by so much.
    pub async fn advance(&mut self, time: TimeDelta) {
        let now = self.now().await;
        self.move_clock(now + time).await;
    }

    /// Moves the account's clock on until its opening deposit has arrived, even if servers made it and moved the clock that were ahead of
    /// the next.
    pub async fn may_spend_its_deposit(&mut self) {
        self.advance(TimeDelta::milliseconds(2 * CLOCK_JUMP_MAX.cast_signed())).await;
    }

    /// Waits until something is so: for so long at most, or so long after the faults have ended.
    pub async fn wait_for(&self, what: &str, most: Duration, is_so: impl AsyncFn() -> bool) {
        let end = simulated_machine::now().max(self.end) + most;
        let [mut pause, longest] = LOOK_AGAIN;
        while !is_so().await {
            assert!(simulated_machine::now() < end, "{}: {what} within {} s", self.name, most.as_secs());
            sleep(pause).await;
            pause = (2 * pause).min(longest);
        }
    }

    /// Checks that the account has what it had, and so many cents more or less.
    pub async fn has_earned(&self, earned: i64) {
        self.compare_balance(judge::balance(&self.client).await, earned);
    }

    /// Checks that a balance is what the account had, and so many cents more or less.
    pub fn compare_balance(&self, balance: i64, earned: i64) {
        assert_eq!(balance - self.opening, earned, "{}: the balance", self.name);
    }

    /// Returns the tokens of the records that events of a type are about, oldest first.
    pub async fn events(&self, kind: &str) -> Vec<String> {
        let events = self.client.all("events").await;
        events.iter().rev().filter(|event| event["type"] == kind).map(|event| token(&event["data"])).collect()
    }
}

/// Returns the parameters of a charge.
pub fn charge(amount: i64, number: &str, captures: bool) -> Value {
    json!({
        "email": "roland@example.com", "description": "simulated", "amount": amount, "ip_address": "203.192.1.172",
        "capture": captures, "card": card(number),
    })
}

/// Returns the parameters of a customer.
pub fn customer() -> Value {
    json!({ "email": "roland@example.com", "card": card(GOOD_CARD) })
}

/// Returns what a captured charge earns.
pub fn entitlement(charge: &Value) -> i64 {
    charge["merchant_entitlement"].as_i64().unwrap_or_else(|| panic!("no entitlement: {charge}"))
}

pub fn time(value: &Value) -> DateTime<Utc> {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no time: {value}"))
}

fn shown(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
