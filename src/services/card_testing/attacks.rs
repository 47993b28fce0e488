//! The attacks that a rule has noticed, in a table: for other copies of the server, for a server that starts, and for people.

use entity::audit_entry::Action;
use entity::card_attack::{self, COLUMN, Column, Entity};
use entity::{Owned, TimeSpan, Timestamp};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use serde_json::json;
use store::Tx;

use crate::error::Error;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::{Account, Context};
use crate::services::memory::card_testing::READ_BACK;

/// The number of attacks that one unit of work writes.
const BATCH: usize = 16;
/// The number of attacks that are listed.
const LISTED: u64 = 50;
/// The time before its last reading from which a server reads again, for copies whose clocks differ.
const READ_AGAIN: TimeSpan = TimeSpan::seconds(30);
/// The time for which attacks are kept, by the wall clock.
const KEPT: TimeSpan = TimeSpan::days(90);

/// Writes the attacks that this process has noticed, and reads those of other copies.
pub async fn synchronise(ctx: &Context) -> Result<(), Error> {
    let wall = ctx.clock.now();
    let unwritten = ctx.memory.card_testing.lock().attacks.take_unwritten(wall);
    let mut left = unwritten.chunks(BATCH);
    while let Some(some) = left.next() {
        let unit = ctx.store.write(some.to_vec(), async |tx, some| write(tx, some).await);
        if let Err(error) = unit.await {
            let rest: Vec<_> = some.iter().chain(left.flatten()).cloned().collect();
            ctx.memory.card_testing.lock().attacks.give_back(&rest);
            return Err(error);
        }
    }
    let read_at = ctx.memory.card_testing.lock().attacks.read_at;
    let since = read_at.map_or(wall - READ_BACK, |read_at| read_at - READ_AGAIN);
    let rows = Entity::find().filter(COLUMN.recorded_at.gt(since)).order_by_asc(Column::RecordedAt);
    let rows = rows.all(ctx.store.read()).await?;
    let mut memory = ctx.memory.card_testing.lock();
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
    let old = Entity::find().filter(COLUMN.recorded_at.lte(wall - KEPT));
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
