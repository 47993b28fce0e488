//! Approvals of operations that take two persons at the dashboard (`docs/decisions.md`, 386): one asks, and another one with the
//! same right decides. The decision is in the commit of the approved operation, so that the operation is done once, or not at all.

pub mod askers;
mod facts;

use std::sync::Arc;

use entity::approval::{ApprovalKind, ApprovalState, COLUMN, Column, Entity, Model};
use entity::audit_entry::Action;
use entity::section::Right;
use entity::{JsonText, Timestamp};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::{Value, json};
use store::{Operator, Tx};
use uuid::Uuid;

use self::facts::Reading;
pub use self::facts::digest;
use super::accounts::access::{Access, access};
use super::accounts::restricted_keys;
use super::audit::{self, OperatorAction};
use super::context::{Account, Caller, Context, WriteCondition};
use super::people::{self, Person};
use super::state_table::draw;
use super::{disputes, merchants, transfers};
use crate::error::{Error, ErrorCode};
use crate::limits::{APPROVAL_OPEN, APPROVALS_LISTED};
use crate::params;
use crate::services::accounts::key_params::NewApiKey;
use crate::services::disputes::params::DecidedDispute;
use crate::services::merchants::params::DecidedMerchant;
use crate::services::transfers::params::NewTransfer;

/// An action on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAction {
    /// Another person approves it.
    Approve,
    /// Another person declines it.
    Decline,
    /// The person who asks takes it back, or may not ask for it any more ([`askers`]).
    Withdraw,
    /// [`APPROVAL_OPEN`] passes.
    Expire,
}

/// Returns the state after an action; `None` if it is not legal.
pub fn next(from: ApprovalState, action: ApprovalAction) -> Option<ApprovalState> {
    match (from, action) {
        (ApprovalState::Pending, ApprovalAction::Approve) => Some(ApprovalState::Approved),
        (ApprovalState::Pending, ApprovalAction::Decline) => Some(ApprovalState::Declined),
        (ApprovalState::Pending, ApprovalAction::Withdraw) => Some(ApprovalState::Withdrawn),
        (ApprovalState::Pending, ApprovalAction::Expire) => Some(ApprovalState::Expired),
        (
            ApprovalState::Approved
            | ApprovalState::Declined
            | ApprovalState::Withdrawn
            | ApprovalState::Expired,
            _,
        ) => None,
    }
}

/// Returns the state at a time of the wall clock.
fn state_at(row: &Model, wall: Timestamp) -> ApprovalState {
    let is_late = wall >= row.asked_at + APPROVAL_OPEN;
    next(row.state, ApprovalAction::Expire).filter(|_| is_late).unwrap_or(row.state)
}

/// Selects the requests that somebody may still decide.
fn is_open(wall: Timestamp) -> Condition {
    Condition::all()
        .add(Column::State.eq(ApprovalState::Pending))
        .add(COLUMN.asked_at.gt(wall - APPROVAL_OPEN))
}

pub fn table() -> String {
    let actions =
        [ApprovalAction::Approve, ApprovalAction::Decline, ApprovalAction::Withdraw, ApprovalAction::Expire];
    draw(ApprovalState::ALL.iter().copied(), &actions, |state, action| {
        let to = next(state, action)?.code();
        let action = match action {
            ApprovalAction::Approve => "another person approves",
            ApprovalAction::Decline => "another person declines",
            ApprovalAction::Withdraw => "its asker withdraws, or may not ask for it any more",
            ApprovalAction::Expire => "seven days",
        };
        Some(format!("{} -- {action} --> {to}", state.code()))
    })
}

/// The operation that a person requests.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    pub kind: ApprovalKind,
    /// The record that it is about; empty if it makes one.
    pub subject: String,
    /// Its parameters, as the API has them.
    pub parameters: Value,
}

impl ApprovalRequest {
    /// Returns what a stored request asks for.
    fn from_row(row: &Model) -> Result<Self, Error> {
        let parameters = serde_json::from_str(row.parameters.as_str())?;
        Ok(Self { kind: row.kind, subject: row.subject.clone(), parameters })
    }
}

/// Records a request with its facts as they are now.
///
/// Refusals, first match wins: `forbidden`, `api_unavailable`, `invalid_resource` or `not_found` as the operation itself.
pub async fn request(ctx: &Context, account: &Account, request: ApprovalRequest) -> Result<(), Error> {
    let person = acting_person(account, request.kind)?;
    require_active(ctx, account, request.kind)?;
    check(ctx, account, &request).await?;
    let facts = facts::read(ctx.store.read(), account, &request, Reading::Shown).await?;
    let facts = JsonText::encode(&facts.ok_or(ErrorCode::NotFound)?)?;
    let ApprovalRequest { kind, subject, parameters } = request;
    let subject = match kind {
        ApprovalKind::Transfer | ApprovalKind::Key => String::new(),
        ApprovalKind::Dispute | ApprovalKind::Merchant => subject,
    };
    let wall = ctx.clock.now();
    let row = Model {
        id: ctx.ids.next(),
        account: account.id(),
        kind,
        state: ApprovalState::Pending,
        subject,
        parameters: JsonText::encode(&parameters)?,
        asker_issuer: person.identity.issuer.clone(),
        asker_subject: person.identity.subject.clone(),
        asked_by: person.name(),
        asked_at: wall,
        decided_by: None,
        decided_at: None,
        facts: Some(facts),
    };
    let act = action_on(&row, Action::ApprovalRequested)?;
    let unit = ctx.store.write((row, act, person.clone()), async |tx, (row, act, person)| {
        people::require_open_session(tx, person, row.asked_at).await?;
        // The end of the person's sessions may be in the same batch, and must find it.
        tx.insert(row).await?;
        audit::record_by(tx, &person.acting(row.asked_at), act)
    });
    unit.await
}

/// A request as it is now.
#[derive(Debug, Clone)]
pub struct ListedRequest {
    pub row: Model,
    /// Whether nobody can approve it any more, because what it shows has changed.
    pub has_changed: bool,
}

/// Returns the requests of an account as they are now, those about what the person may read: the open ones, and then the latest others,
/// both newest first.
pub async fn list(ctx: &Context, account: &Account) -> Result<Vec<ListedRequest>, Error> {
    let wall = ctx.clock.now();
    let kinds = ApprovalKind::ALL.iter().copied();
    let readable = kinds.filter(|kind| account.may(kind.section(), Right::Read));
    let all = Entity::find()
        .filter(Column::Account.eq(account.id()))
        .filter(Column::Kind.is_in(readable))
        .order_by_desc(Column::Id);
    let mut rows = all.clone().filter(is_open(wall)).all(ctx.store.read()).await?;
    rows.extend(all.filter(is_open(wall).not()).limit(APPROVALS_LISTED).all(ctx.store.read()).await?);
    let mut requests = Vec::with_capacity(rows.len());
    for row in rows {
        let row = Model { state: state_at(&row, wall), ..row };
        let has_changed = row.state == ApprovalState::Pending
            && facts::have_changed(ctx.store.read(), account, &row, Reading::Shown).await?;
        requests.push(ListedRequest { row, has_changed });
    }
    Ok(requests)
}

/// Approves a request: does what it asks for, and returns what the API would show of it.
///
/// Refusals, first match wins: `not_found`, `forbidden`, `api_unavailable`, `invalid_state`, those of the operation, and in its
/// commit `invalid_state` if what the request shows has changed.
pub async fn approve(ctx: &Context, account: &Account, id: &str) -> Result<Value, Error> {
    let row = find(ctx, account, id).await?;
    let person = acting_person(account, row.kind)?;
    require_active(ctx, account, row.kind)?;
    let approval = (ApprovalAction::Approve, Action::ApprovalApproved);
    let decision = Decision::new(ctx, &row, person, approval)?;
    let approval = Approval { decision, account: account.clone() };
    let caller = Caller {
        account: account.clone(),
        claim: None,
        condition: Some(Arc::new(approval) as Arc<dyn WriteCondition>),
    };
    let ApprovalRequest { kind, subject, parameters } = ApprovalRequest::from_row(&row)?;
    let token = subject.as_str();
    Ok(match kind {
        ApprovalKind::Transfer => serde_json::to_value(
            transfers::create(ctx, &caller, params::read::<NewTransfer>(&parameters)).await?,
        ),
        ApprovalKind::Dispute => {
            let params = params::read::<DecidedDispute>(&parameters);
            serde_json::to_value(disputes::decide(ctx, &caller, token, params).await?)
        }
        ApprovalKind::Merchant => {
            let params = params::read::<DecidedMerchant>(&parameters);
            serde_json::to_value(merchants::decide(ctx, &caller, token, params).await?)
        }
        ApprovalKind::Key => {
            let params = params::read::<NewApiKey>(&parameters);
            serde_json::to_value(restricted_keys::create(ctx, &caller, params).await?)
        }
    }?)
}

/// Declines a request, or withdraws the person's own.
///
/// Refusals, first match wins: `not_found`, `forbidden`, `invalid_state`.
pub async fn decline(ctx: &Context, account: &Account, id: &str) -> Result<(), Error> {
    let row = find(ctx, account, id).await?;
    let person = acting_person(account, row.kind)?;
    let own = person.is(&row.asker_issuer, &row.asker_subject);
    let refusal = if own {
        (ApprovalAction::Withdraw, Action::ApprovalWithdrawn)
    } else {
        (ApprovalAction::Decline, Action::ApprovalDeclined)
    };
    let decision = Decision::new(ctx, &row, person, refusal)?;
    ctx.store.write(decision, async |tx, decision| decision.record(tx).await).await
}

/// Returns the person who acts, with the right that an operation of this kind needs. Two who share a key are not two persons.
fn acting_person(account: &Account, kind: ApprovalKind) -> Result<&Person, Error> {
    let section = kind.section();
    let refused = |sentence: String| Error::explained(ErrorCode::Forbidden, sentence);
    let person = account.person.as_deref();
    let person =
        person.ok_or_else(|| refused("This takes two persons, who sign in by the provider.".into()))?;
    if !account.may(section, Right::Write) {
        return Err(refused(format!("Your roles may not write {}.", section.name())));
    }
    Ok(person)
}

/// Refuses a payout of an account that is not active, as POST /transfers does (`docs/decisions.md`, 72).
fn require_active(ctx: &Context, account: &Account, kind: ApprovalKind) -> Result<(), Error> {
    let is_active = access(ctx.environment, account.settings().status) == Access::Full;
    match kind {
        ApprovalKind::Transfer if !is_active => Err(ErrorCode::ApiUnavailable.into()),
        ApprovalKind::Transfer | ApprovalKind::Dispute | ApprovalKind::Merchant | ApprovalKind::Key => Ok(()),
    }
}

/// Refuses a request that could not be approved as it is.
async fn check(ctx: &Context, account: &Account, request: &ApprovalRequest) -> Result<(), Error> {
    let ApprovalRequest { kind, subject, parameters } = request;
    match kind {
        ApprovalKind::Transfer => drop(params::read::<NewTransfer>(parameters).valid()?),
        ApprovalKind::Dispute => {
            // As the decision itself, whether or not the merchant may use the disputes API.
            disputes::find::by_token(ctx, account, subject).await?;
            params::read::<DecidedDispute>(parameters).valid()?;
        }
        ApprovalKind::Merchant => {
            merchants::show(ctx, account, subject).await?;
            params::read::<DecidedMerchant>(parameters).valid()?;
        }
        ApprovalKind::Key => drop(params::read::<NewApiKey>(parameters).parse(ctx.clock.now())?),
    }
    Ok(())
}

async fn find(ctx: &Context, account: &Account, id: &str) -> Result<Model, Error> {
    let id = Uuid::parse_str(id).map_err(|_| ErrorCode::NotFound)?;
    let row = Entity::find_by_id(id).filter(Column::Account.eq(account.id()));
    row.one(ctx.store.read()).await?.ok_or_else(|| ErrorCode::NotFound.into())
}

/// The error message for a decision about an expired request.
const EXPIRED: &str = "The request has expired, and nobody can decide it any more. Ask again.";

/// The error message for an approval of what has changed.
const CHANGED: &str = "What the request shows has changed since it was asked for. Ask again.";

/// A decision, which its unit records if nobody has decided before.
#[derive(Debug)]
struct Decision {
    seen: Model,
    decided: Model,
    act: OperatorAction,
    person: Person,
    operator: Operator,
}

impl Decision {
    fn new(
        ctx: &Context,
        row: &Model,
        person: &Person,
        (action, act): (ApprovalAction, Action),
    ) -> Result<Self, Error> {
        if action == ApprovalAction::Approve && person.is(&row.asker_issuer, &row.asker_subject) {
            let sentence = "You have asked for this yourself: another person must approve it.";
            return Err(Error::explained(ErrorCode::Forbidden, sentence));
        }
        let wall = ctx.clock.now();
        let state = state_at(row, wall);
        if state == ApprovalState::Expired {
            return Err(Error::explained(ErrorCode::InvalidState, EXPIRED));
        }
        let to = next(state, action).ok_or(ErrorCode::InvalidState)?;
        let operator = person.acting(wall);
        let decided = decided(row, to, &operator);
        let act = action_on(row, act)?;
        Ok(Self { seen: row.clone(), decided, act, person: person.clone(), operator })
    }

    async fn record(&self, tx: &Tx) -> Result<(), Error> {
        people::require_open_session(tx, &self.person, self.operator.at).await?;
        if !tx.compare_and_swap(&self.seen, &self.decided, &DECISION).await? {
            return Err(ErrorCode::InvalidState.into());
        }
        audit::record_by(tx, &self.operator, &self.act)
    }
}

/// The approval of an operation in its own commit, for which the facts stay as the request shows them.
#[derive(Debug)]
struct Approval {
    decision: Decision,
    account: Account,
}

impl WriteCondition for Approval {
    fn require<'u>(&'u self, tx: &'u Tx) -> BoxFuture<'u, Result<(), Error>> {
        async move {
            let Self { decision, account } = self;
            if facts::have_changed(tx, account, &decision.seen, Reading::Locked).await? {
                return Err(Error::explained(ErrorCode::InvalidState, CHANGED));
            }
            decision.record(tx).await
        }
        .boxed()
    }
}

/// The columns of a decision.
const DECISION: [Column; 3] = [Column::State, Column::DecidedBy, Column::DecidedAt];

fn decided(row: &Model, to: ApprovalState, by: &Operator) -> Model {
    Model { state: to, decided_by: Some(by.name.clone()), decided_at: Some(by.at), ..row.clone() }
}

fn action_on(row: &Model, action: Action) -> Result<OperatorAction, Error> {
    let parameters: Value = serde_json::from_str(row.parameters.as_str())?;
    let detail = json!({
        "kind": row.kind, "subject": row.subject, "parameters": parameters, "asked_by": row.asked_by, "digest": digest(row),
    });
    Ok(OperatorAction::about(action, row.account, row.id.to_string(), detail))
}
