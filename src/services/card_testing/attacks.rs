//! The attacks that a rule has noticed: in memory for payments, and in a table for other copies of the server, for a server
//! that starts, and for people.

use std::collections::HashMap;

use entity::audit_entry::Action;
use entity::card_attack::{self, CardTestingRule, Column, Entity};
use entity::{AccountToken, Owned, TimeSpan, Timestamp};
use futures::FutureExt;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use serde_json::json;

use super::windows::Key;
use crate::error::Error;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::{Account, Context};
use crate::store::Tx;

/// How many attacks of one account a server knows.
const KNOWN_MAX: usize = 10_000;
/// How many attacks one unit of work writes.
const BATCH: usize = 16;
/// How many attacks are listed.
const LISTED: u64 = 50;
/// The longest attack: how far back a server reads when it starts.
const READ_BACK: TimeSpan = TimeSpan::seconds(3600);
/// How far back a server reads each time, for copies whose clocks differ.
const READ_AGAIN: TimeSpan = TimeSpan::seconds(30);
/// How long attacks are kept, by the wall clock.
const KEPT: TimeSpan = TimeSpan::days(90);

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
    read_at: Option<Timestamp>,
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
    fn take_unwritten(&mut self, wall: Timestamp) -> Vec<card_attack::Model> {
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
    fn give_back(&mut self, unwritten: &[card_attack::Model]) {
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
    fn learn(&mut self, row: card_attack::Model) {
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

/// Writes the attacks that this process has noticed, and reads those of other copies.
pub async fn synchronise(ctx: &Context) -> Result<(), Error> {
    let wall = ctx.clock.now();
    let unwritten = ctx.card_testing.lock().attacks.take_unwritten(wall);
    let mut left = unwritten.chunks(BATCH);
    while let Some(some) = left.next() {
        let unit = ctx.store.write(some.to_vec(), |tx, some| write(tx, some).boxed());
        if let Err(error) = unit.await {
            let rest: Vec<_> = some.iter().chain(left.flatten()).cloned().collect();
            ctx.card_testing.lock().attacks.give_back(&rest);
            return Err(error);
        }
    }
    let read_at = ctx.card_testing.lock().attacks.read_at;
    let since = read_at.map_or(wall - READ_BACK, |read_at| read_at - READ_AGAIN);
    let rows = Entity::find().filter(Column::RecordedAt.gt(since)).order_by_asc(Column::RecordedAt);
    let rows = rows.all(ctx.store.read()).await?;
    let mut memory = ctx.card_testing.lock();
    for row in rows {
        memory.attacks.learn(row);
    }
    memory.attacks.read_at = Some(wall);
    Ok(())
}

/// Adds attacks to the table. One that another copy has noticed as well is the same attack.
async fn write(tx: &Tx, some: &[card_attack::Model]) -> Result<(), Error> {
    for row in some {
        let seen = Entity::owned_by(row.account_id)
            .filter(Column::Rule.eq(row.rule))
            .filter(Column::Subject.eq(row.subject.as_str()))
            .lock(LockType::NoKeyUpdate)
            .one(tx)
            .await?;
        match seen {
            Some(seen) if row.began_at < seen.ends_at => {
                let counted = card_attack::Model { refused: seen.refused + row.refused, ..seen.clone() };
                tx.update(&seen, &counted).await?;
                continue;
            }
            Some(seen) => tx.update(&seen, row).await?,
            None => tx.append(row),
        }
        let detail = json!({ "rule": row.rule, "subject": row.subject, "began_at": row.began_at });
        let noticed = OperatorAction::on(Action::CardTestingNoticed, row.account_id, detail);
        audit::record_by_server(tx, &noticed, row.recorded_at)?;
    }
    Ok(())
}

/// Returns the account's attacks, newest first.
pub async fn list(ctx: &Context, account: &Account) -> Result<Vec<card_attack::Model>, Error> {
    let newest = Entity::owned_by(account.id()).order_by_desc(Column::BeganAt).limit(LISTED);
    Ok(newest.all(ctx.store.read()).await?)
}

/// Selects attacks past their retention, by the wall clock.
pub fn old(wall: Timestamp) -> Select<Entity> {
    let old = Entity::find().filter(Column::RecordedAt.lte(wall - KEPT));
    old.order_by_asc(Column::RecordedAt)
}

/// Deletes an attack past its retention.
pub async fn forget(ctx: &Context, attack: card_attack::Model) -> Result<(), Error> {
    let same = Condition::all()
        .add(Column::AccountId.eq(attack.account_id))
        .add(Column::Rule.eq(attack.rule))
        .add(Column::Subject.eq(attack.subject))
        .add(Column::RecordedAt.eq(attack.recorded_at));
    ctx.delete(Entity::delete_many().filter(same)).await
}
