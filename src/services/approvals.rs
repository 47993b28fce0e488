//! What takes two persons at the dashboard (`docs/decisions.md`, 386): one asks, and another one with the same right decides.
//! The decision is in the commit of what it approves, so that is done once, or not at all.

use std::sync::Arc;

use entity::approval::{ApprovalKind, ApprovalState, Column, Entity, Model};
use entity::audit_entry::Action;
use entity::section::Right;
use entity::{JsonText, Timestamp};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::{Value, json};
use uuid::Uuid;

use super::accounts::restricted_keys;
use super::audit::{self, OperatorAction};
use super::context::{Account, Caller, Context, WriteCondition};
use super::people::Person;
use super::state_table::draw;
use super::{disputes, merchants, transfers};
use crate::error::{Error, ErrorCode};
use crate::limits::APPROVALS_LISTED;
use crate::params;
use crate::params::api_key::NewApiKey;
use crate::params::dispute::DecidedDispute;
use crate::params::merchant::DecidedMerchant;
use crate::params::transfer::NewTransfer;
use crate::store::{Operator, Tx};

/// What a person does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAction {
    /// Another person approves it.
    Approve,
    /// Another person declines it.
    Decline,
    /// The person who asks takes it back.
    Withdraw,
}

/// Returns the state after an action; `None` if it is not legal.
pub fn next(from: ApprovalState, action: ApprovalAction) -> Option<ApprovalState> {
    match (from, action) {
        (ApprovalState::Pending, ApprovalAction::Approve) => Some(ApprovalState::Approved),
        (ApprovalState::Pending, ApprovalAction::Decline) => Some(ApprovalState::Declined),
        (ApprovalState::Pending, ApprovalAction::Withdraw) => Some(ApprovalState::Withdrawn),
        (ApprovalState::Approved | ApprovalState::Declined | ApprovalState::Withdrawn, _) => None,
    }
}

/// Returns the table as text.
pub fn table() -> String {
    let actions = [ApprovalAction::Approve, ApprovalAction::Decline, ApprovalAction::Withdraw];
    draw(ApprovalState::ALL.iter().copied(), &actions, |state, action| {
        let to = next(state, action)?.code();
        let action = match action {
            ApprovalAction::Approve => "another person approves",
            ApprovalAction::Decline => "another person declines",
            ApprovalAction::Withdraw => "its asker withdraws",
        };
        Some(format!("{} -- {action} --> {to}", state.code()))
    })
}

/// What a person asks for.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The kind of operation.
    pub kind: ApprovalKind,
    /// The record that it is about; empty if it makes one.
    pub subject: String,
    /// Its parameters, as the API has them.
    pub parameters: Value,
}

/// Records a request.
///
/// Refusals, first match wins: `forbidden`, `invalid_resource` or `not_found` as the operation itself.
pub async fn request(ctx: &Context, account: &Account, request: ApprovalRequest) -> Result<(), Error> {
    let ApprovalRequest { kind, subject, parameters } = request;
    let person = acting_person(account, kind)?;
    check(ctx, account, kind, &subject, &parameters).await?;
    let wall = ctx.clock.now();
    let row = Model {
        id: ctx.ids.next(),
        account: account.id(),
        kind,
        state: ApprovalState::Pending,
        subject,
        parameters: JsonText::of(&parameters)?,
        asker_issuer: person.identity.issuer.clone(),
        asker_subject: person.identity.subject.clone(),
        asked_by: person.name(),
        asked_at: wall,
        decided_by: None,
        decided_at: None,
    };
    let act = action_on(&row, Action::ApprovalRequested)?;
    let unit = ctx.store.write((row, act, person.acting(wall)), |tx, (row, act, operator)| {
        async move {
            tx.append(row);
            audit::record_by(tx, operator, act)
        }
        .boxed()
    });
    unit.await
}

/// Returns the latest requests of an account, newest first.
pub async fn list(ctx: &Context, account: &Account) -> Result<Vec<Model>, Error> {
    let rows = Entity::find().filter(Column::Account.eq(account.id())).order_by_desc(Column::Id);
    Ok(rows.limit(APPROVALS_LISTED).all(ctx.store.read()).await?)
}

/// Approves a request: does what it asks for, and returns what the API would show of it.
///
/// Refusals, first match wins: `not_found`, `forbidden`, `invalid_state`, those of the operation.
pub async fn approve(ctx: &Context, account: &Account, id: &str) -> Result<Value, Error> {
    let row = find(ctx, account, id).await?;
    let person = acting_person(account, row.kind)?;
    let decision = Decision::new(ctx, &row, person, ApprovalAction::Approve)?;
    let caller = Caller {
        account: account.clone(),
        claim: None,
        condition: Some(Arc::new(decision) as Arc<dyn WriteCondition>),
    };
    let (kind, token) = (row.kind, row.subject.as_str());
    let parameters: Value = serde_json::from_str(row.parameters.as_str())?;
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
    let action = if own { ApprovalAction::Withdraw } else { ApprovalAction::Decline };
    let decision = Decision::new(ctx, &row, person, action)?;
    ctx.store.write(decision, |tx, decision| decision.require(tx)).await
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

/// Refuses a request that could not be approved as it is.
async fn check(
    ctx: &Context,
    account: &Account,
    kind: ApprovalKind,
    subject: &str,
    parameters: &Value,
) -> Result<(), Error> {
    match kind {
        ApprovalKind::Transfer => drop(params::read::<NewTransfer>(parameters).valid()?),
        ApprovalKind::Dispute => {
            disputes::show(ctx, account, subject).await?;
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

/// A decision, which its unit records if nobody has decided before.
#[derive(Debug)]
struct Decision {
    seen: Model,
    decided: Model,
    act: OperatorAction,
    operator: Operator,
}

impl Decision {
    fn new(ctx: &Context, row: &Model, person: &Person, action: ApprovalAction) -> Result<Self, Error> {
        if action == ApprovalAction::Approve && person.is(&row.asker_issuer, &row.asker_subject) {
            let sentence = "You have asked for this yourself: another person must approve it.";
            return Err(Error::explained(ErrorCode::Forbidden, sentence));
        }
        let to = next(row.state, action).ok_or(ErrorCode::InvalidState)?;
        let wall: Timestamp = ctx.clock.now();
        let operator = person.acting(wall);
        let decided = Model {
            state: to,
            decided_by: Some(operator.name.clone()),
            decided_at: Some(wall),
            ..row.clone()
        };
        let act = action_on(
            row,
            match action {
                ApprovalAction::Approve => Action::ApprovalApproved,
                ApprovalAction::Decline => Action::ApprovalDeclined,
                ApprovalAction::Withdraw => Action::ApprovalWithdrawn,
            },
        )?;
        Ok(Self { seen: row.clone(), decided, act, operator })
    }
}

impl WriteCondition for Decision {
    fn require<'u>(&'u self, tx: &'u Tx) -> BoxFuture<'u, Result<(), Error>> {
        async move {
            let columns = [Column::State, Column::DecidedBy, Column::DecidedAt];
            if !tx.compare_and_swap(&self.seen, &self.decided, &columns).await? {
                return Err(ErrorCode::InvalidState.into());
            }
            audit::record_by(tx, &self.operator, &self.act)
        }
        .boxed()
    }
}

fn action_on(row: &Model, action: Action) -> Result<OperatorAction, Error> {
    let parameters: Value = serde_json::from_str(row.parameters.as_str())?;
    let detail = json!({
        "kind": row.kind, "subject": row.subject, "parameters": parameters, "asked_by": row.asked_by,
    });
    Ok(OperatorAction::about(action, row.account, row.id.to_string(), detail))
}
