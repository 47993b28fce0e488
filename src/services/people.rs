//! The people who sign in at a live dashboard, and their sessions (`docs/decisions.md`, 386). Sessions are rows, so that every
//! copy of the server knows when one has ended. All times are by the wall clock.

pub(super) mod person;
pub mod view;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use entity::audit_entry::Action;
use entity::person::Role;
use entity::person_session::{COLUMN, Column, Entity, Model};
use entity::{JsonText, Timestamp};
use outbound::identity_provider::Identity;
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select, UpdateMany};
use serde_json::json;
use store::{Operator, Tx};
use vault::{Purpose, Vault};

pub use self::person::Person;
pub(super) use self::person::full_name;
use super::audit::{self, OperatorAction};
use super::context::Context;
use crate::Store;
use crate::error::{Error, ErrorCode};
use crate::limits::{DASHBOARD_SESSION, PERSON_SESSION_IDLE};
use crate::services::people::view::SignedInPerson;

/// Opens a session for a sign-in. A sign-in opens one session at most, although a browser or a provider repeats its answer.
pub(super) struct OpenSessionUnit {
    row: Model,
    act: OperatorAction,
    operator: Operator,
}

impl OpenSessionUnit {
    /// Returns the unit, and the secret of the session's cookie.
    pub fn new(
        ctx: &Context,
        person: &Person,
        attempt: &str,
        from: Option<IpAddr>,
    ) -> Result<(Self, [u8; 32]), Error> {
        let wall = ctx.clock.now();
        let secret = ctx.vault.keyed_hash(Purpose::Link, &[b"session of a sign-in", attempt.as_bytes()]);
        let identity = &person.identity;
        let row = Model {
            hash: hash_of(&ctx.vault, &secret).to_vec(),
            issuer: identity.issuer.clone(),
            subject: identity.subject.clone(),
            name: identity.name.clone(),
            roles: JsonText::encode(&identity.roles)?,
            created_at: wall,
            seen_at: wall,
            ends_at: wall + DASHBOARD_SESSION,
            ended_at: None,
        };
        let detail = json!({ "from": from, "issuer": identity.issuer, "roles": identity.roles });
        let act = OperatorAction::on_dashboard(Action::PersonSignedIn, detail);
        Ok((Self { row, act, operator: person.acting(wall) }, secret))
    }

    /// Adds the session.
    ///
    /// Refusals: `unauthorized` if the sign-in has opened one already.
    pub fn record(&self, tx: &Tx) -> Result<(), Error> {
        tx.append_unique(&self.row, ErrorCode::Unauthorized)?;
        audit::record_by(tx, &self.operator, &self.act)
    }
}

/// Returns the person of a session, which goes on for as long as requests come. `None` if it has ended, or if another provider
/// has opened it.
pub async fn authenticate(
    ctx: &Context,
    secret: &[u8; 32],
    issuer: &str,
) -> Result<Option<Arc<Person>>, Error> {
    let (wall, hash) = (ctx.clock.now(), hash_of(&ctx.vault, secret));
    let row = open(wall, Entity::find().filter(Column::Hash.eq(hash.to_vec())));
    let Some(row) = row.filter(Column::Issuer.eq(issuer)).one(ctx.store.read()).await? else {
        return Ok(None);
    };
    if row.seen_at < wall {
        let seen = Entity::update_many().col_expr(Column::SeenAt, Expr::value(wall.millis()));
        let seen = open(wall, seen.filter(Column::Hash.eq(hash.to_vec())));
        // It may have ended since it was read.
        if ctx.update(seen).await? == 0 {
            return Ok(None);
        }
    }
    let roles: Vec<Role> = serde_json::from_str(row.roles.as_str())?;
    let Model { issuer, subject, name, .. } = row;
    let person = Person::new(Identity { issuer, subject, name, roles });
    Ok(Some(Arc::new(Person { session: Some(hash.to_vec()), ..person })))
}

/// Requires that the person's session is open, and keeps it so until the commit: it may have ended since the request was authenticated.
///
/// Refusals: `unauthorized`.
pub(super) async fn require_open_session(tx: &Tx, person: &Person, wall: Timestamp) -> Result<(), Error> {
    let own = open(wall, Entity::find().filter(Column::Hash.eq(person.session.clone())));
    let session = own.lock(LockType::Share).one(tx).await?;
    session.map(drop).ok_or_else(|| ErrorCode::Unauthorized.into())
}

/// Ends a session, or all of the person's sessions at every copy of the server. Returns how many have ended.
pub async fn end_sessions(
    ctx: &Context,
    person: &Person,
    secret: Option<&[u8; 32]>,
    from: Option<IpAddr>,
) -> Result<u64, Error> {
    let wall = ctx.clock.now();
    let own = select_person(&person.identity.issuer, &person.identity.subject, ending(wall));
    let (action, ended) = match secret {
        Some(secret) => {
            let hash = hash_of(&ctx.vault, secret).to_vec();
            (Action::PersonSignedOut, own.filter(Column::Hash.eq(hash)))
        }
        None => (Action::PersonSignedOutEverywhere, own),
    };
    let act = OperatorAction::on_dashboard(action, json!({ "from": from }));
    let unit = ctx.store.write((ended, act, person.acting(wall)), async |tx, (ended, act, operator)| {
        let ended = ended.clone().exec(tx).await?.rows_affected;
        audit::record_by(tx, operator, act)?;
        Ok(ended)
    });
    unit.await
}

/// Returns the people who are signed in, each with all of their open sessions.
pub(super) async fn list(store: &Store, wall: Timestamp) -> Result<Vec<SignedInPerson>, Error> {
    let mut people: BTreeMap<_, SignedInPerson> = BTreeMap::new();
    let rows = open(wall, Entity::find()).order_by_asc(Column::CreatedAt);
    for Model { issuer, subject, name, roles, created_at, seen_at, .. } in rows.all(store.read()).await? {
        let known = people.entry((subject.clone(), issuer.clone())).or_insert_with(|| SignedInPerson {
            subject,
            issuer,
            name: String::new(),
            roles: Vec::new(),
            sessions: 0,
            requests: 0,
            since: created_at,
            seen_at,
        });
        known.name = name;
        known.sessions += 1;
        known.seen_at = known.seen_at.max(seen_at);
        known.roles.extend(serde_json::from_str::<Vec<Role>>(roles.as_str())?);
        known.roles.sort_unstable();
        known.roles.dedup();
    }
    Ok(people.into_values().collect())
}

/// Ends all sessions of a person at every copy of the server. Returns how many have ended, and the person's name if there was one.
pub(super) async fn end_all(
    tx: &Tx,
    (issuer, subject): (&str, &str),
    wall: Timestamp,
) -> Result<(u64, Option<String>), Error> {
    let theirs = open(wall, select_person(issuer, subject, Entity::find())).order_by_desc(Column::CreatedAt);
    let latest = theirs.one(tx).await?;
    let ended = open(wall, select_person(issuer, subject, ending(wall))).exec(tx).await?.rows_affected;
    Ok((ended, latest.map(|session| session.name)))
}

/// Selects the sessions whose latest end has passed.
pub fn ended(wall: Timestamp) -> Select<Entity> {
    Entity::find().filter(COLUMN.ends_at.lte(wall)).order_by_asc(Column::EndsAt)
}

/// Deletes an ended session.
pub async fn forget(ctx: &Context, session: Model) -> Result<(), Error> {
    ctx.delete(Entity::delete_many().filter(Column::Hash.eq(session.hash))).await
}

/// Adds the conditions under which a session is open.
fn open<Q: QueryFilter>(wall: Timestamp, sessions: Q) -> Q {
    sessions
        .filter(Column::EndedAt.is_null())
        .filter(COLUMN.ends_at.gt(wall))
        .filter(COLUMN.seen_at.gt(wall - PERSON_SESSION_IDLE))
}

/// Keeps the sessions of a person only.
fn select_person<Q: QueryFilter>(issuer: &str, subject: &str, sessions: Q) -> Q {
    sessions.filter(Column::Subject.eq(subject)).filter(Column::Issuer.eq(issuer))
}

/// Ends sessions that have not ended yet.
fn ending(wall: Timestamp) -> UpdateMany<Entity> {
    Entity::update_many()
        .col_expr(Column::EndedAt, Expr::value(wall.millis()))
        .filter(Column::EndedAt.is_null())
}

fn hash_of(vault: &Vault, secret: &[u8; 32]) -> [u8; 32] {
    vault.keyed_hash(Purpose::Link, &[b"session of a person", secret])
}
