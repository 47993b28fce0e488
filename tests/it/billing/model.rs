//! Billing against a model of it, written from the specification and `docs/decisions.md`, 178 to 192, and sharing nothing
//! with the server: lives of subscriptions, then ten years, by one move of the clock and by many. Charges, dates and ledgers
//! are the model's.
//!
//! `CARD_PAYMENTS_BILLING_SEEDS` says how many lives are lived on SQLite (a tenth of them on PostgreSQL),
//! `CARD_PAYMENTS_BILLING_SEED` repeats one.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::harness::app::another_account;
use crate::harness::random::Random;
use crate::harness::{App, Client, Database, as_of, card, token_of, with};

const ACCEPTED: &str = "4200000000000000";
const DECLINED: &str = "4100000000000001";
/// Cards are good for the whole of 2033-05: all lives are lived before, and their ten years end after it.
const EXPIRES: &str = "2033-06-01T00:00:00Z";

type Time = DateTime<Utc>;

/// A plan as it is asked for.
#[derive(Debug, Clone)]
pub struct Plan {
    pub amount: i64,
    pub setup: i64,
    pub trial_amount: i64,
    pub every: (u32, &'static str),
    pub intervals: usize,
    pub trial: (u32, &'static str),
}

/// An action during a subscription's life.
#[derive(Debug, Clone)]
enum Action {
    Subscribe { plan: Plan, accepted: bool, include_setup: bool },
    Cancel(usize),
    Unsubscribe(usize),
    DeleteCustomer(usize),
    ChangeCard(usize, bool),
    Reactivate(usize, bool),
    Wait(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Trial,
    Active,
    Cancelling,
    Cancelled,
}

/// A subscription as the specification has it.
#[derive(Debug)]
pub struct Subscription {
    pub plan: Plan,
    /// Whether the customer's card is accepted; none is a deleted customer.
    pub card: Option<bool>,
    pub state: State,
    /// How many intervals were billed; the trial is none.
    pub billed: usize,
    /// When interval `first` began, by which all later ones are counted.
    pub anchor: Time,
    pub first: usize,
    /// The present interval.
    pub interval: (Time, Time),
    pub setup_due: bool,
    pub next_bill: Option<Time>,
    pub ends: Option<Time>,
    pub failures: Vec<Time>,
    pub cancelled_at: Option<Time>,
    /// Oldest first.
    pub ledger: Vec<(Time, &'static str, i64)>,
}

fn lasting(number: &str) -> Value {
    with(card(number), &json!({ "expiry_year": 2033 }))
}

/// `count` units later: the same day of a later month, or its last one.
fn later(from: Time, (length, unit): (u32, &str), count: usize) -> Time {
    let units = u64::from(length) * u64::try_from(count).unwrap();
    let months = match unit {
        "day" => return from + Days::new(units),
        "week" => return from + Days::new(units * 7),
        "month" => units,
        "year" => units * 12,
        other => panic!("{other}"),
    };
    let since_january = u64::from(from.month0()) + months;
    let (year, month) = (
        from.year() + i32::try_from(since_january / 12).unwrap(),
        u32::try_from(since_january % 12).unwrap() + 1,
    );
    let day = (1..=from.day()).rev().find_map(|day| NaiveDate::from_ymd_opt(year, month, day)).unwrap();
    day.and_time(from.time()).and_utc()
}

impl Subscription {
    /// None where the first charge is declined.
    pub fn new(plan: &Plan, accepted: bool, include_setup: bool, now: Time) -> Option<Self> {
        let in_trial = plan.trial.0 > 0;
        let end = if in_trial { later(now, plan.trial, 1) } else { later(now, plan.every, 1) };
        let mut this = Self {
            plan: plan.clone(),
            card: Some(accepted),
            state: if in_trial { State::Trial } else { State::Active },
            billed: usize::from(!in_trial),
            anchor: if in_trial { end } else { now },
            first: 1,
            interval: (now, end),
            setup_due: in_trial && include_setup,
            next_bill: None,
            ends: None,
            failures: Vec::new(),
            cancelled_at: None,
            ledger: Vec::new(),
        };
        let (interval, setup) = match (in_trial, include_setup) {
            (true, _) => (plan.trial_amount, 0),
            (false, true) => (plan.amount, plan.setup),
            (false, false) => (plan.amount, 0),
        };
        this.pays(now, interval, setup).then_some(())?;
        this.goes_on();
        Some(this)
    }

    /// Charges the card, if there is anything to charge.
    fn pays(&mut self, now: Time, interval: i64, setup: i64) -> bool {
        if interval + setup > 0 {
            if self.card != Some(true) || now >= EXPIRES.parse::<Time>().unwrap() {
                return false;
            }
            self.ledger.push((now, "charge_credit", interval + setup));
            self.ledger.extend((interval > 0).then_some((now, "interval_debit", interval)));
            self.ledger.extend((setup > 0).then_some((now, "setup_debit", setup)));
        }
        true
    }

    pub fn used_up(&self) -> bool {
        self.plan.intervals > 0 && self.billed >= self.plan.intervals
    }

    fn goes_on(&mut self) {
        self.failures.clear();
        (self.next_bill, self.ends) =
            if self.used_up() { (None, Some(self.interval.1)) } else { (Some(self.interval.1), None) };
    }

    pub fn cancel(&mut self, now: Time) {
        self.state = State::Cancelled;
        self.cancelled_at = Some(now);
        (self.next_bill, self.ends) = (None, None);
    }

    pub fn due(&self) -> Option<Time> {
        self.next_bill.or(self.ends)
    }

    fn bill(&mut self, now: Time) {
        let setup = if self.setup_due { self.plan.setup } else { 0 };
        if self.pays(now, self.plan.amount, setup) {
            let begins = self.interval.1;
            self.billed += 1;
            self.interval = (begins, later(self.anchor, self.plan.every, self.billed - self.first + 1));
            self.setup_due = false;
            self.state = State::Active;
            self.goes_on();
            return;
        }
        self.failures.push(now);
        let short = self.plan.every.1 == "day" && self.plan.every.0 < 7;
        let pause = [1, 3, 6].get(self.failures.len() - 1).filter(|_| !short);
        match pause {
            Some(days) => self.next_bill = Some(self.failures[0] + Days::new(*days)),
            None => self.cancel(now),
        }
    }

    pub fn step(&mut self, now: Time) {
        if self.next_bill.is_some() { self.bill(now) } else { self.cancel(now) }
    }

    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Trial | State::Active)
    }

    /// The status of each verb's answer.
    pub fn cancels(&mut self, now: Time) -> u16 {
        if !self.is_open() {
            return 400;
        }
        self.cancel(now);
        200
    }

    pub fn unsubscribes(&mut self) -> u16 {
        if !self.is_open() {
            return 400;
        }
        self.state = State::Cancelling;
        (self.next_bill, self.ends) = (None, Some(self.interval.1));
        200
    }

    pub fn reactivates(&mut self, include_setup: bool, now: Time) -> u16 {
        if self.is_open() || self.card.is_none() || self.used_up() {
            return 400;
        }
        if now >= self.interval.1 {
            let setup = if include_setup { self.plan.setup } else { 0 };
            if !self.pays(now, self.plan.amount, setup) {
                return 400;
            }
            self.billed += 1;
            (self.anchor, self.first) = (now, self.billed);
            self.interval = (now, later(now, self.plan.every, 1));
            self.setup_due = false;
        }
        self.state = if self.billed == 0 { State::Trial } else { State::Active };
        self.cancelled_at = None;
        self.goes_on();
        200
    }
}

fn shown(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// An account, the model of what it has, and its tokens.
struct World {
    client: Client,
    now: Time,
    model: Vec<Subscription>,
    /// Subscription and customer.
    tokens: Vec<(String, String)>,
}

impl World {
    async fn new(app: &App) -> Self {
        let client = app.with_key(another_account(app.ctx()).await.secret.expose());
        Self { client, now: as_of().to_string().parse().unwrap(), model: Vec::new(), tokens: Vec::new() }
    }

    async fn does(&mut self, action: &Action) {
        let now = self.now;
        let count = self.tokens.len().max(1);
        let (status, answer) = match action {
            Action::Wait(hours) => {
                self.moves_to(now + TimeDelta::hours(*hours)).await;
                return;
            }
            Action::Subscribe { plan, accepted, include_setup } => {
                self.subscribes(plan, *accepted, *include_setup).await;
                return;
            }
            Action::Cancel(n)
            | Action::Unsubscribe(n)
            | Action::DeleteCustomer(n)
            | Action::ChangeCard(n, _)
            | Action::Reactivate(n, _) => {
                let Some((subscription, customer)) = self.tokens.get(n % count) else { return };
                let model = &mut self.model[n % count];
                let (path, owner) =
                    (format!("/1/subscriptions/{subscription}"), format!("/1/customers/{customer}"));
                match action {
                    Action::Cancel(_) => (model.cancels(now), self.client.delete(&path).await),
                    Action::Unsubscribe(_) => {
                        (model.unsubscribes(), self.client.unsubscribes(subscription).await)
                    }
                    Action::Reactivate(_, include_setup) => {
                        let params = json!({ "include_setup_fee": include_setup });
                        let answer = self.client.put(&format!("{path}/reactivate"), &params).await;
                        (model.reactivates(*include_setup, now), answer)
                    }
                    Action::DeleteCustomer(_) => {
                        let status = if model.card.take().is_some() { 204 } else { 404 };
                        if model.state != State::Cancelled && status == 204 {
                            model.cancel(now);
                        }
                        (status, self.client.delete(&owner).await)
                    }
                    Action::ChangeCard(_, accepted) => {
                        let status = if model.card.is_some() { 200 } else { 404 };
                        model.card = model.card.map(|_| *accepted);
                        let number = if *accepted { ACCEPTED } else { DECLINED };
                        (status, self.client.put(&owner, &json!({ "card": lasting(number) })).await)
                    }
                    Action::Wait(_) | Action::Subscribe { .. } => unreachable!(),
                }
            }
        };
        assert_eq!(answer.status, status, "{action:?} at {now}: {}", answer.text);
    }

    async fn subscribes(&mut self, plan: &Plan, accepted: bool, include_setup: bool) {
        let number = if accepted { ACCEPTED } else { DECLINED };
        let customer = json!({ "email": "roland@example.com", "card": lasting(number) });
        let customer = token_of(&self.client.post("/1/customers", &customer).await.ok(201));
        let params = json!({
            "amount": plan.amount, "setup_amount": plan.setup, "trial_amount": plan.trial_amount, "interval": plan.every.0,
            "interval_unit": plan.every.1, "intervals": plan.intervals, "trial_interval": plan.trial.0,
            "trial_interval_unit": plan.trial.1,
        });
        let token = self.client.plan(&params).await;
        let answer =
            self.client.subscribing(&token, &customer, &json!({ "include_setup_fee": include_setup })).await;
        match Subscription::new(plan, accepted, include_setup, self.now) {
            Some(model) => {
                self.tokens.push((token_of(&answer.ok(201)), customer));
                self.model.push(model);
            }
            None => drop(answer.refused(400, "card_declined")),
        }
    }

    async fn moves_to(&mut self, to: Time) {
        loop {
            let moved = self.client.put("/1/sandbox/clock", &json!({ "to": shown(to) })).await.ok(200);
            if moved["complete"] == true {
                break;
            }
        }
        for model in &mut self.model {
            while let Some(due) = model.due().filter(|due| *due <= to) {
                // What was overdue happens now.
                model.step(due.max(self.now));
            }
        }
        self.now = to;
    }

    /// Everything is as the model says.
    async fn agrees(&self, life: &str) {
        let mut paid: Vec<(String, i64)> = Vec::new();
        for (model, (token, _)) in self.model.iter().zip(&self.tokens) {
            let record = self.client.subscription(token).await;
            let time = |time: Option<Time>| json!(time.map(shown));
            let state = format!("{:?}", model.state).to_lowercase();
            let expected = json!([
                state,
                time(model.next_bill),
                time(Some(model.interval.0)),
                time(Some(model.interval.1)),
                time(model.cancelled_at),
            ]);
            let found = [
                "state",
                "next_billing_date",
                "active_interval_started_at",
                "active_interval_finishes_at",
                "cancelled_at",
            ]
            .map(|field| record[field].clone());
            assert_eq!(json!(found), expected, "{life}\n{model:?}");
            let ledger = self.all(&format!("/1/subscriptions/{token}/ledger")).await;
            let found =
                ledger.iter().map(|entry| json!([entry["created_at"], entry["annotation"], entry["amount"]]));
            let expected = model.ledger.iter().map(|(at, what, amount)| json!([shown(*at), what, amount]));
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{life}\n{model:?}");
            let credits = model.ledger.iter().filter(|(_, what, _)| *what == "charge_credit");
            paid.extend(credits.map(|(at, _, amount)| (shown(*at), *amount)));
        }
        let charges = self.all("/1/charges").await;
        let mut found: Vec<_> = charges
            .iter()
            .map(|charge| {
                (charge["created_at"].as_str().unwrap().to_owned(), charge["amount"].as_i64().unwrap())
            })
            .collect();
        paid.sort();
        found.sort();
        assert_eq!(found, paid, "{life}");
    }

    /// All records of a list, oldest first.
    async fn all(&self, path: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for page in 1.. {
            let records = self.client.get(&format!("{path}?per_page=500&page={page}")).await.ok(200);
            let records = records.as_array().unwrap().clone();
            if records.is_empty() {
                break;
            }
            all.extend(records);
        }
        all.reverse();
        all
    }
}

pub fn plan(random: &mut Random) -> Plan {
    let amount = |random: &mut Random| [0, 100, 250][usize::try_from(random.below(3)).unwrap()];
    let length =
        |random: &mut Random, from: u64, to: u64| u32::try_from(from + random.below(to - from + 1)).unwrap();
    // Often enough to be seen, seldom enough for ten years.
    let (every, intervals) = match random.below(6) {
        0 => ((length(random, 1, 6), "day"), 1 + random.below(12)),
        1 => ((length(random, 60, 400), "day"), random.below(4)),
        2 => ((length(random, 1, 3), "week"), 1 + random.below(12)),
        3 => ((1, "month"), random.below(30)),
        4 => ((length(random, 2, 14), "month"), random.below(6)),
        _ => ((length(random, 1, 3), "year"), random.below(3)),
    };
    let trial = match random.below(3) {
        0 => (length(random, 1, 40), "day"),
        1 => (length(random, 1, 2), "month"),
        _ => (0, ""),
    };
    Plan {
        amount: 100 + amount(random) * i64::from(random.below(4) > 0),
        setup: amount(random),
        trial_amount: amount(random),
        every,
        intervals: usize::try_from(intervals).unwrap(),
        trial,
    }
    .or_free(random)
}

impl Plan {
    /// Some plans cost nothing.
    fn or_free(self, random: &mut Random) -> Self {
        if random.below(8) == 0 { Self { amount: 0, ..self } } else { self }
    }
}

fn life(random: &mut Random) -> Vec<Action> {
    // To an end of a month, or of February, or anywhere.
    let days = [26, 29, 60, 90, 302, 665, 728, 0][usize::try_from(random.below(8)).unwrap()];
    let mut acts = vec![Action::Wait(24 * days + 1)];
    for _ in 0..6 + random.below(12) {
        let which = usize::try_from(random.below(8)).unwrap();
        acts.push(match random.below(14) {
            0..=3 => Action::Subscribe {
                plan: plan(random),
                accepted: random.below(6) > 0,
                include_setup: random.below(3) > 0,
            },
            4 => Action::Cancel(which),
            5 => Action::Unsubscribe(which),
            6 => Action::DeleteCustomer(which),
            7 | 8 => Action::ChangeCard(which, random.below(2) == 0),
            9 | 10 => Action::Reactivate(which, random.below(2) == 0),
            _ => Action::Wait(1 + i64::try_from(random.below(24 * 70)).unwrap()),
        });
    }
    acts
}

async fn lives(database: Database, otherwise: u64, share: u64) {
    let Some(app) = App::start(database).await else { return };
    let number = |variable: &str| std::env::var(variable).ok().map(|number| number.parse::<u64>().unwrap());
    let seeds = match number("CARD_PAYMENTS_BILLING_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("CARD_PAYMENTS_BILLING_SEEDS").map_or(otherwise, |seeds| seeds.div_ceil(share)),
    };
    for seed in seeds {
        let mut random = Random(seed);
        let acts = life(&mut random);
        // Daily steps take their time.
        let step = if seed % 32 == 13 { 1 } else { 20 + random.below(60) };
        let context = format!("CARD_PAYMENTS_BILLING_SEED={seed}: {acts:?}, every {step} days");
        let (mut at_once, mut by_steps) = (World::new(&app).await, World::new(&app).await);
        for action in &acts {
            at_once.does(action).await;
            by_steps.does(action).await;
        }
        let to = at_once.now + Months::new(120);
        at_once.moves_to(to).await;
        while by_steps.now < to {
            by_steps.moves_to(to.min(by_steps.now + Days::new(step))).await;
        }
        at_once.agrees(&context).await;
        by_steps.agrees(&context).await;
    }
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_years_of_any_life_are_as_the_model_says_on_sqlite() {
    lives(Database::Sqlite, 8, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_years_of_any_life_are_as_the_model_says_on_postgres() {
    lives(Database::Postgres, 2, 10).await;
}
