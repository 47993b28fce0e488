//! Settlement: what has become available is paid out at midnight.

use chrono::{Datelike, Days, NaiveDate, NaiveTime, Weekday};
use http::Method;
use serde_json::{Value, json};

use super::payouts::{Transfer, own_account};
use super::wire::Time;
use super::world::{TokenSource, World, below, expect_record, pick, shown};
use crate::harness::random::Random;

/// One movement of the merchant's money.
pub struct Movement {
    /// The day from which on it is available.
    pub day: NaiveDate,
    pub amount: i64,
    /// The charge whose entitlement it is.
    charge: Option<usize>,
    /// The settlement that it is a line of.
    paid_by: Option<usize>,
    /// Whether it is a settlement itself, and a line of none.
    settles: bool,
}

/// The next midnight, or that of the next Monday.
fn next_run(schedule: &str, now: Time) -> Option<Time> {
    let mut days = now.date_naive().iter_days().skip(1);
    let day = match schedule {
        "daily" => days.next(),
        "weekly" => days.find(|day| day.weekday() == Weekday::Mon),
        _ => None,
    };
    day.map(|day| day.and_time(NaiveTime::MIN).and_utc())
}

impl World {
    /// Money comes today, or goes.
    pub fn moves(&mut self, amount: i64) {
        self.moved.push(Movement { day: self.today(), amount, charge: None, paid_by: None, settles: false });
    }

    /// A charge's entitlement comes five days later.
    pub fn earns(&mut self, charge: usize) {
        let (day, amount) = (self.today() + Days::new(5), self.charges[charge].entitlement());
        self.moved.push(Movement { day, amount, charge: Some(charge), paid_by: None, settles: false });
    }

    pub async fn schedules(&mut self, random: &mut Random) {
        let schedule = ["manual", "weekly", "daily", "daily"][below(random, 4)];
        let request = json!({ "transfers_schedule": schedule });
        let answer = self.wire.change(random, Method::PUT, "/1/sandbox/account", &[], &request).await;
        let expected = json!({
            "disputes": true, "wallet": true, "partner": true, "transfers_enabled": true,
            "transfers_schedule": schedule, "settlement_delay_days": 5,
            "card_testing": {
                "action": "off", "network_declines": 10, "network_cards": 15, "card_declines": 10, "customer_cards": 5,
                "account_cards": 20,
            },
            "strict_parameters": false,
        });
        expect_record(&answer, 200, expected);
        // The same schedule set again changes nothing.
        if schedule != self.schedule {
            (self.schedule, self.settles_at) = (schedule, next_run(schedule, self.now));
        }
    }

    /// Midnight: what is available and was not paid out is, if that is something.
    pub fn settles(&mut self) {
        self.settles_at = next_run(self.schedule, self.now);
        let (today, transfer, available) = (self.today(), self.transfers.len(), self.available());
        let waits = |line: &Movement| line.day <= today && line.paid_by.is_none() && !line.settles;
        let lines = || self.moved.iter().filter(|line| waits(line));
        let (count, amount) = (lines().count(), lines().map(|line| line.amount).sum::<i64>());
        let credits: i64 = lines().map(|line| line.amount.max(0)).sum();
        if amount <= 0 || amount > available {
            return;
        }
        for line in self.moved.iter_mut().filter(|line| waits(line)) {
            line.paid_by = Some(transfer);
        }
        let now = shown(self.now);
        let shows = json!({
            "token": "?tfer_", "status": "succeeded", "currency": "AUD", "description": "Settlement", "amount": amount,
            "total_debits": credits - amount, "total_credits": credits, "created_at": now, "paid_at": now,
            "reference": "Sandbox", "line_items_count": count, "bank_account": own_account(), "recipient": null,
        });
        self.moved.push(Movement { day: today, amount: -amount, charge: None, paid_by: None, settles: true });
        self.transfers.push(Transfer::settlement(shows.clone()));
        self.happens_of("transfer.created", shows, Some(TokenSource::Transfer(transfer)));
    }

    /// How a charge shows by which settlement it was paid out.
    pub fn paid_by(&self, charge: usize) -> Vec<Value> {
        let line = self.moved.iter().find(|line| line.charge == Some(charge));
        let paid_by = line.and_then(|line| line.paid_by).map(|transfer| &self.transfers[transfer].shown);
        let shows = |by: &Value| json!({ "state": "paid", "paid_at": by["paid_at"], "token": by["token"] });
        paid_by.map(shows).into_iter().collect()
    }

    /// The lines of a settlement: which charges, and what else.
    pub async fn looks_at_lines(&mut self, random: &mut Random) {
        let Some(n) = pick(random, self.transfers.len()) else { return };
        let path = format!("/1/transfers/{}", self.transfers[n].shown["token"].as_str().unwrap());
        expect_record(&self.wire.get(&path).await, 200, self.transfers[n].shown.clone());
        let found = self.wire.all(&format!("{path}/line_items"), 50, true).await;
        let mut found: Vec<_> = found
            .iter()
            .map(|line| json!([line["type"], line["amount"], line["token"]]).to_string())
            .collect();
        let lines = self.moved.iter().filter(|line| line.paid_by == Some(n));
        let mut expected: Vec<_> = lines
            .map(|line| {
                let kind = if line.charge.is_some() { "charge_merchant_entitlement" } else { "adjustment" };
                json!([kind, line.amount, line.charge.map(|charge| &self.charges[charge].token)]).to_string()
            })
            .collect();
        if !self.transfers[n].is_settlement() {
            expected = vec![json!(["adjustment", self.transfers[n].shown["amount"], null]).to_string()];
        }
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "lines");
    }
}
