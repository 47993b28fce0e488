//! People and their requests. A request is carried out later, so the server withdraws it as soon as it learns that its asker may not
//! ask for that any more (`docs/decisions.md`, 390): when somebody ends the person's sessions, and when the person signs in.

use std::net::IpAddr;

use entity::Timestamp;
use entity::approval::{Column, Entity, Model};
use entity::audit_entry::Action;
use entity::section::{Right, Section};
use outbound::identity_provider::Identity;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Select};
use serde_json::json;
use store::{Operator, Tx};

use super::{ApprovalAction, DECISION, action_on, decided, is_open, next};
use crate::Store;
use crate::error::{Error, ErrorCode};
use crate::services::audit::{self, OperatorAction};
use crate::services::context::Context;
use crate::services::people::view::SignedInPerson;
use crate::services::people::{self, OpenSessionUnit, Person, full_name};

/// Opens a session for a sign-in, and withdraws the person's requests for what the roles do not allow any more. Returns the secret of
/// the session's cookie.
///
/// Refusals: `unauthorized` if the sign-in has opened a session already.
pub async fn sign_in(
    ctx: &Context,
    person: Person,
    attempt: &str,
    from: Option<IpAddr>,
) -> Result<[u8; 32], Error> {
    let (session, secret) = OpenSessionUnit::new(ctx, &person, attempt, from)?;
    let server = audit::server(ctx.clock.now());
    let unit = ctx.store.write((session, person, server), async |tx, (session, person, server)| {
        session.record(tx)?;
        let may_write = |section| person.restriction.right(section) >= Right::Write;
        let Identity { issuer, subject, .. } = &person.identity;
        withdraw(tx, (issuer, subject), may_write, server).await.map(drop)
    });
    unit.await?;
    Ok(secret)
}

/// Withdraws all requests of a person to whom the provider gives no role.
pub async fn refuse_sign_in(ctx: &Context, identity: &Identity) -> Result<(), Error> {
    let Identity { issuer, subject, .. } = identity.clone();
    let server = audit::server(ctx.clock.now());
    let unit = ctx.store.write((issuer, subject, server), async |tx, (issuer, subject, server)| {
        withdraw(tx, (issuer, subject), |_| false, server).await.map(drop)
    });
    unit.await
}

/// Ends all sessions of a person at every copy of the server for somebody else, and withdraws the person's requests. `by` is the
/// person who does, at the dashboard; otherwise it is the operator who runs the command. Returns how many sessions have ended.
///
/// Refusals: `not_found` if the person has neither an open session nor an open request; `forbidden` if there is no operator.
pub async fn end_sessions(
    store: &Store,
    (issuer, subject): (&str, &str),
    by: Option<Operator>,
    wall: Timestamp,
) -> Result<u64, Error> {
    let unit = EndSessionsUnit { issuer: issuer.to_owned(), subject: subject.to_owned(), by, wall };
    store.write(unit, async |tx, unit| unit.record(tx).await).await
}

struct EndSessionsUnit {
    issuer: String,
    subject: String,
    by: Option<Operator>,
    wall: Timestamp,
}

impl EndSessionsUnit {
    async fn record(&self, tx: &Tx) -> Result<u64, Error> {
        let Self { issuer, subject, by, wall } = self;
        let by = by.as_ref().or_else(|| tx.operator()).ok_or(ErrorCode::Forbidden)?;
        let by = &Operator { at: *wall, ..by.clone() };
        let (ended, name) = people::end_all(tx, (issuer, subject), *wall).await?;
        let withdrawn = withdraw(tx, (issuer, subject), |_| false, by).await?;
        let name = name.map(|name| full_name(&name, subject));
        let name = name.or_else(|| Some(withdrawn.last()?.asked_by.clone())).ok_or(ErrorCode::NotFound)?;
        let act = OperatorAction {
            action: Action::PersonSessionsEnded,
            account: None,
            subject: name,
            detail: json!({ "issuer": issuer, "sessions": ended, "requests": withdrawn.len() }),
        };
        audit::record_by(tx, by, &act)?;
        Ok(ended)
    }
}

/// Returns the people who are signed in, and those whose requests wait for a decision.
pub async fn list(store: &Store, wall: Timestamp) -> Result<Vec<SignedInPerson>, Error> {
    let mut people = people::list(store, wall).await?;
    for row in open(wall).all(store.read()).await? {
        let Model { asker_issuer: issuer, asker_subject: subject, asked_by, asked_at, .. } = row;
        let known = people.iter_mut().find(|known| known.subject == subject && known.issuer == issuer);
        if let Some(known) = known {
            known.requests += 1;
            known.seen_at = known.seen_at.max(asked_at);
            continue;
        }
        let name = asked_by.strip_suffix(&format!(" ({subject})")).unwrap_or(&asked_by).to_owned();
        let (roles, sessions, requests, since, seen_at) = (Vec::new(), 0, 1, asked_at, asked_at);
        people.push(SignedInPerson { subject, issuer, name, roles, sessions, requests, since, seen_at });
    }
    people.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(people)
}

/// Withdraws a person's open requests, but for those in whose section the person may write. Returns them.
async fn withdraw(
    tx: &Tx,
    (issuer, subject): (&str, &str),
    may_write: impl Fn(Section) -> bool + Send,
    by: &Operator,
) -> Result<Vec<Model>, Error> {
    let theirs = open(by.at).filter(Column::AskerSubject.eq(subject)).filter(Column::AskerIssuer.eq(issuer));
    let mut withdrawn = Vec::new();
    for row in theirs.all(tx).await? {
        if may_write(row.kind.section()) {
            continue;
        }
        let to = next(row.state, ApprovalAction::Withdraw).ok_or(ErrorCode::InvalidState)?;
        // Somebody may have decided it since it was read.
        if tx.compare_and_swap(&row, &decided(&row, to, by), &DECISION).await? {
            audit::record_by(tx, by, &action_on(&row, Action::ApprovalWithdrawn)?)?;
            withdrawn.push(row);
        }
    }
    Ok(withdrawn)
}

fn open(wall: Timestamp) -> Select<Entity> {
    Entity::find().filter(is_open(wall)).order_by_asc(Column::Id)
}
