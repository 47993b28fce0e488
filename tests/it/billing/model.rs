//! Billing against a model of it, written from the specification and `docs/decisions.md`, 178 to 192, and sharing nothing
//! with the server: lives of subscriptions, then ten years, by one move of the clock and by many. Charges, dates and ledgers
//! are the model's.
//!
//! `CARD_PAYMENTS_BILLING_SEEDS` says how many lives are lived on SQLite (a tenth of them on PostgreSQL),
//! `CARD_PAYMENTS_BILLING_SEED` repeats one.

use chrono::{DateTime, Days, Months, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

use super::course::{Plan, State, Subscription, plan};
use crate::harness::app::another_account;
use crate::harness::random::Random;
use crate::harness::{App, Client, Database, as_of, card, token_of, with};

const ACCEPTED: &str = "4200000000000000";
const DECLINED: &str = "4100000000000001";

type Time = DateTime<Utc>;

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

fn lasting(number: &str) -> Value {
    with(card(number), &json!({ "expiry_year": 2033 }))
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
