//! The attacks that a rule has noticed, as the process knows them.

use std::collections::HashMap;

use entity::card_attack::{self, CardTestingRule};
use entity::{AccountToken, TimeSpan, Timestamp};

use super::windows::Key;

/// The number of attacks of one account that a server knows.
const KNOWN_MAX: usize = 10_000;
/// The length of the longest attack: a server that starts reads back as far.
pub const READ_BACK: TimeSpan = TimeSpan::seconds(3600);

/// An attack, as the process knows it.
#[derive(Debug)]
pub struct KnownAttack {
    began_at: Timestamp,
    ends_at: Timestamp,
    /// By the wall clock.
    recorded_at: Timestamp,
    /// Whether the table does not have it yet.
    is_new: bool,
    /// The number of refused payments that the table does not have yet.
    refused: i64,
}

impl KnownAttack {
    fn is_active(&self, now: Timestamp) -> bool {
        self.began_at <= now && now < self.ends_at
    }

    fn is_unwritten(&self) -> bool {
        self.is_new || self.refused > 0
    }

    /// Counts refused payments.
    pub fn count_refused(&mut self, n: i64) {
        self.refused += n;
    }
}

/// The attacks that the process knows, by account, and by rule and subject.
#[derive(Debug, Default)]
pub struct KnownAttacks {
    of_accounts: HashMap<AccountToken, HashMap<(CardTestingRule, String), KnownAttack>>,
    /// By the wall clock: the last time that the table was read.
    pub read_at: Option<Timestamp>,
}

impl KnownAttacks {
    /// Returns whether the account has known attacks, which may be over.
    pub fn has(&self, account: AccountToken) -> bool {
        self.of_accounts.contains_key(&account)
    }

    /// Returns the attack by a subject, if it lasts at this time of the account's clock.
    pub fn active(&mut self, (account, rule, subject): Key, now: Timestamp) -> Option<&mut KnownAttack> {
        let attacks = self.of_accounts.get_mut(&account)?;
        attacks.get_mut(&(rule, subject.to_string())).filter(|attack| attack.is_active(now))
    }

    /// Begins an attack. Returns whether there was room for it.
    pub fn begin(
        &mut self,
        (account, rule, subject): Key,
        (began_at, ends_at): (Timestamp, Timestamp),
        wall: Timestamp,
    ) -> bool {
        let attacks = self.of_accounts.entry(account).or_default();
        if attacks.len() >= KNOWN_MAX {
            attacks.retain(|_, attack| attack.is_active(began_at) || attack.is_unwritten());
            if attacks.len() >= KNOWN_MAX {
                return false;
            }
        }
        let attack = KnownAttack { began_at, ends_at, recorded_at: wall, is_new: true, refused: 0 };
        attacks.insert((rule, subject.to_string()), attack);
        true
    }

    /// Takes what the table does not have yet, and forgets attacks that are long over.
    pub fn take_unwritten(&mut self, wall: Timestamp) -> Vec<card_attack::Model> {
        let mut unwritten = Vec::new();
        for (account, attacks) in &mut self.of_accounts {
            for ((rule, subject), attack) in attacks.iter_mut() {
                if attack.is_unwritten() {
                    unwritten.push(card_attack::Model {
                        account_id: *account,
                        rule: *rule,
                        subject: subject.clone(),
                        began_at: attack.began_at,
                        ends_at: attack.ends_at,
                        refused: std::mem::take(&mut attack.refused),
                        recorded_at: wall,
                    });
                    attack.is_new = false;
                }
            }
            // No clock of an account is slower than the wall clock.
            attacks.retain(|_, attack| wall < attack.recorded_at + READ_BACK);
        }
        self.of_accounts.retain(|_, attacks| !attacks.is_empty());
        // Two copies that write the same rows do so in one order, so that they do not deadlock.
        unwritten.sort_by(|a, b| (a.account_id, a.rule, &a.subject).cmp(&(b.account_id, b.rule, &b.subject)));
        unwritten
    }

    /// Takes back what was not written.
    pub fn give_back(&mut self, unwritten: &[card_attack::Model]) {
        for row in unwritten {
            let attacks = self.of_accounts.get_mut(&row.account_id);
            let attack = attacks.and_then(|attacks| attacks.get_mut(&(row.rule, row.subject.clone())));
            if let Some(attack) = attack {
                attack.is_new = true;
                attack.refused += row.refused;
            }
        }
    }

    /// Learns of an attack from the table.
    pub fn learn(&mut self, row: card_attack::Model) {
        let card_attack::Model { account_id, rule, subject, began_at, ends_at, recorded_at, .. } = row;
        let attacks = self.of_accounts.entry(account_id).or_default();
        let known = attacks.entry((rule, subject));
        let known =
            known.or_insert(KnownAttack { began_at, ends_at, recorded_at, is_new: false, refused: 0 });
        if known.ends_at < ends_at {
            (known.began_at, known.ends_at, known.recorded_at) = (began_at, ends_at, recorded_at);
        }
    }
}
