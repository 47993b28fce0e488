//! Plans and subscriptions as the specification and `docs/decisions.md`, 178 to 192, have them, without a server.

use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};

use crate::harness::random::Random;

type Time = DateTime<Utc>;

/// Cards are good for the whole of 2033-05: all lives are lived before, and their ten years end after it.
const EXPIRES: &str = "2033-06-01T00:00:00Z";

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
        this.schedule_next();
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

    fn schedule_next(&mut self) {
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
            self.schedule_next();
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
        self.schedule_next();
        200
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
