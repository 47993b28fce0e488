//! The people who sign in at a live dashboard, and their sessions (`docs/decisions.md`, 386). Sessions are rows, so that every
//! copy of the server knows when one has ended. All times are by the wall clock.

use std::net::IpAddr;
use std::sync::Arc;

use entity::api_key::KeyRestriction;
use entity::audit_entry::Action;
use entity::person::Role;
use entity::person_session::{Column, Entity, Model};
use entity::section::Section;
use entity::{JsonText, Timestamp};
use futures::FutureExt;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Select, UpdateMany};
use serde_json::json;

use super::audit::{self, OperatorAction};
use super::context::Context;
use crate::error::{Error, ErrorCode};
use crate::identity_provider::Identity;
use crate::limits::{DASHBOARD_SESSION, PERSON_SESSION_IDLE};
use crate::store::Operator;
use crate::vault::{Purpose, Vault};

/// A person who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The provider and its name for the person: who they are.
    pub identity: Identity,
    /// The rights of their roles, as a restricted key would have them.
    pub restriction: KeyRestriction,
}

impl Person {
    /// Returns a person with the rights of all their roles.
    pub fn new(identity: Identity) -> Self {
        let most = |section: Section| identity.roles.iter().map(|role| role.right(section)).max();
        let rights = Section::ALL.iter().filter_map(|section| Some((*section, most(*section)?))).collect();
        let restriction = KeyRestriction {
            name: identity.name.clone(),
            last_characters: String::new(),
            rights,
            networks: Vec::new(),
        };
        Self { identity, restriction }
    }

    /// Returns the name in the audit trail: that for people, and the one that never changes.
    pub fn name(&self) -> String {
        let Identity { name, subject, .. } = &self.identity;
        if name == subject { name.clone() } else { format!("{name} ({subject})") }
    }

    /// Returns the operator who acts, for the audit trail.
    pub fn acting(&self, at: Timestamp) -> Operator {
        Operator { name: self.name(), at }
    }

    /// Whether the provider has one name for both: one person, in however many sessions.
    pub fn is(&self, issuer: &str, subject: &str) -> bool {
        self.identity.issuer == issuer && self.identity.subject == subject
    }
}

/// Opens a session for a sign-in, and returns the secret of its cookie. A sign-in opens one session at most, although a
/// browser or a provider repeats its answer.
///
/// Refusals: `unauthorized` if the sign-in has opened one already.
pub async fn open_session(
    ctx: &Context,
    person: &Person,
    attempt: &str,
    from: IpAddr,
) -> Result<[u8; 32], Error> {
    let wall = ctx.clock.now();
    let secret = ctx.vault.keyed_hash(Purpose::Link, &[b"session of a sign-in", attempt.as_bytes()]);
    let identity = &person.identity;
    let row = Model {
        hash: hash_of(&ctx.vault, &secret).to_vec(),
        issuer: identity.issuer.clone(),
        subject: identity.subject.clone(),
        name: identity.name.clone(),
        roles: JsonText::of(&identity.roles)?,
        created_at: wall,
        seen_at: wall,
        ends_at: wall + DASHBOARD_SESSION,
        ended_at: None,
    };
    let detail = json!({ "from": from, "issuer": identity.issuer, "roles": identity.roles });
    let act = OperatorAction::on_dashboard(Action::PersonSignedIn, detail);
    let unit = ctx.store.write((row, act, person.acting(wall)), |tx, (row, act, operator)| {
        async move {
            tx.append_unique(row, ErrorCode::Unauthorized)?;
            audit::record_by(tx, operator, act)
        }
        .boxed()
    });
    unit.await?;
    Ok(secret)
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
        if update(ctx, seen).await? == 0 {
            return Ok(None);
        }
    }
    let roles: Vec<Role> = serde_json::from_str(row.roles.as_str())?;
    let Model { issuer, subject, name, .. } = row;
    Ok(Some(Arc::new(Person::new(Identity { issuer, subject, name, roles }))))
}

/// Ends a session, or all of the person's sessions at every copy of the server. Returns how many have ended.
pub async fn end_sessions(
    ctx: &Context,
    person: &Person,
    secret: Option<&[u8; 32]>,
    from: IpAddr,
) -> Result<u64, Error> {
    let wall = ctx.clock.now();
    let Identity { issuer, subject, .. } = &person.identity;
    let own = Entity::update_many()
        .col_expr(Column::EndedAt, Expr::value(wall.millis()))
        .filter(Column::EndedAt.is_null())
        .filter(Column::Subject.eq(subject.as_str()))
        .filter(Column::Issuer.eq(issuer.as_str()));
    let (action, ended) = match secret {
        Some(secret) => {
            let hash = hash_of(&ctx.vault, secret).to_vec();
            (Action::PersonSignedOut, own.filter(Column::Hash.eq(hash)))
        }
        None => (Action::PersonSignedOutEverywhere, own),
    };
    let act = OperatorAction::on_dashboard(action, json!({ "from": from }));
    let unit = ctx.store.write((ended, act, person.acting(wall)), |tx, (ended, act, operator)| {
        async move {
            let ended = ended.clone().exec(tx).await?.rows_affected;
            audit::record_by(tx, operator, act)?;
            Ok(ended)
        }
        .boxed()
    });
    unit.await
}

/// Selects the sessions whose latest end has passed.
pub fn ended(wall: Timestamp) -> Select<Entity> {
    Entity::find().filter(Column::EndsAt.lte(wall)).order_by_asc(Column::EndsAt)
}

/// Deletes an ended session.
pub async fn forget(ctx: &Context, session: Model) -> Result<(), Error> {
    ctx.delete(Entity::delete_many().filter(Column::Hash.eq(session.hash))).await
}

/// Adds the conditions under which a session is open.
fn open<Q: QueryFilter>(wall: Timestamp, sessions: Q) -> Q {
    sessions
        .filter(Column::EndedAt.is_null())
        .filter(Column::EndsAt.gt(wall))
        .filter(Column::SeenAt.gt(wall - PERSON_SESSION_IDLE))
}

async fn update(ctx: &Context, rows: UpdateMany<Entity>) -> Result<u64, Error> {
    let unit = ctx
        .store
        .write(rows, |tx, rows| async move { Ok(rows.clone().exec(tx).await?.rows_affected) }.boxed());
    unit.await
}

fn hash_of(vault: &Vault, secret: &[u8; 32]) -> [u8; 32] {
    vault.keyed_hash(Purpose::Link, &[b"session of a person", secret])
}
