//! Disputes (specification, Endpoints, Disputes).

use axum::extract::State;
use entity::dispute::DisputeStatus;

use super::answer::{Counted, Done, Envelope, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::{PageParameters, SearchParameters};
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{
    self, ApiUnavailable, DisputeAlreadyCancelled, DisputeAlreadyResolved, DisputeAlreadyUnderReview,
    InvalidResource, InvalidSearchQueryParam, NotFound,
};
use crate::services::Account;
use crate::services::disputes::activity_view::Activity;
use crate::services::disputes::evidence_view::EvidenceBatch;
use crate::services::disputes::params::{ChangedEvidence, DisputeSearch};
use crate::services::disputes::view::Dispute;
use crate::services::disputes::{self, evidence, find};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(list_disputes))
        .routes(routes!(search_disputes))
        .routes(routes!(get_dispute))
        .routes(routes!(get_dispute_activity))
        .routes(routes!(get_dispute_evidence, update_dispute_evidence, submit_dispute_evidence))
        .routes(routes!(accept_dispute))
}

/// The refusals of an answer to a dispute that awaits none.
const CLOSED: [ErrorCode; 3] = [DisputeAlreadyUnderReview, DisputeAlreadyResolved, DisputeAlreadyCancelled];

/// List disputes.
///
/// Returns a paginated list of all disputes, newest first unless an order is asked for. X-Total-Count is their number.
#[utoipa::path(get, path = "/disputes", tag = "Disputes",
    params(
        ("sort" = Option<String>, Query, description = "The field by which the disputes are ordered; the newest come first if it is absent.",
            extensions(("x-enum" = json!(find::SORTS)))),
        ("direction" = Option<i64>, Query, description = "The direction of the order: 1 is ascending, and is meant if it is absent, -1 is descending; not read without `sort`."),
        PageParameters,
    ),
    responses((status = 200, description = "A page of disputes", body = LongList<Dispute>,
        headers(("X-Total-Count" = u64, description = "How many disputes there are on all pages")))),
    extensions(("x-rights" = json!({ "charges": "read" })), ("x-refusals" = json!([ApiUnavailable, InvalidResource]))))]
pub async fn list_disputes(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Counted<Dispute>, Error> {
    Ok(Counted(disputes::list(&app, &account, input.sorting(find::SORTS)).await?))
}

/// Search disputes.
///
/// Returns a paginated list of the disputes that match the search. The query, of at least three characters, is matched
/// against the status as a part of it, and exactly against the charge token. X-Total-Count is the number of matches.
#[utoipa::path(get, path = "/disputes/search", tag = "Disputes",
    params(
        SearchParameters,
        ("status" = Option<DisputeStatus>, Query, description = "The status of the disputes; all if it is absent."),
        ("sort" = Option<String>, Query, description = "The field by which the disputes are ordered; `received_at` if absent.",
            extensions(("x-enum" = json!(find::SORTS)))),
        PageParameters,
    ),
    responses((status = 200, description = "A page of disputes", body = LongList<Dispute>,
        headers(("X-Total-Count" = u64, description = "How many disputes match")))),
    extensions(("x-rights" = json!({ "charges": "read" })), ("x-refusals" = json!([ApiUnavailable, InvalidSearchQueryParam, InvalidResource]))))]
pub async fn search_disputes(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Counted<Dispute>, Error> {
    let params = DisputeSearch::read(&input, find::SORTS);
    Ok(Counted(disputes::search(&app, &account, params).await?))
}

/// Get a dispute.
///
/// Returns the details of a dispute.
#[utoipa::path(get, path = "/disputes/{dispute_token}", tag = "Disputes",
    responses((status = 200, description = "The dispute", body = Envelope<Dispute>)),
    extensions(("x-rights" = json!({ "charges": "read" })), ("x-refusals" = json!([ApiUnavailable, NotFound]))))]
pub async fn get_dispute(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Dispute>, Error> {
    Ok(Shown(disputes::show(&app, &account, &token).await?))
}

/// Get a dispute's activity.
///
/// Returns what happened to a dispute, newest first: its statuses, the money taken and given back, and at the end the
/// capture of its charge.
#[utoipa::path(get, path = "/disputes/{dispute_token}/activity", tag = "Disputes",
    responses((status = 200, description = "The activity feed", body = Envelope<Vec<Activity>>)),
    extensions(("x-refusals" = json!([ApiUnavailable, NotFound]))))]
pub async fn get_dispute_activity(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Vec<Activity>>, Error> {
    Ok(Shown(disputes::activity(&app, &account, &token).await?))
}

/// Get a dispute's evidence.
///
/// Returns the current batch of evidence: what was set of it.
#[utoipa::path(get, path = "/disputes/{dispute_token}/evidence", tag = "Disputes",
    responses((status = 200, description = "The batch of evidence", body = Envelope<EvidenceBatch>)),
    extensions(("x-rights" = json!({ "files": "read" })), ("x-refusals" = json!([ApiUnavailable, NotFound]))))]
pub async fn get_dispute_evidence(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<EvidenceBatch>, Error> {
    Ok(Shown(evidence::show(&app, &account, &token).await?))
}

/// Update a dispute's evidence.
///
/// Changes the batch of evidence. What is absent stays, what is empty is cleared.
#[utoipa::path(put, path = "/disputes/{dispute_token}/evidence", tag = "Disputes",
    request_body(content = Option<ChangedEvidence>, example = json!({ "additional_evidence_text": "It was delivered on 2 March." })),
    responses((status = 200, description = "The batch of evidence", body = Envelope<EvidenceBatch>)),
    extensions(("x-rights" = json!({ "files": "read" })), ("x-refusals" = json!([ApiUnavailable, CLOSED, NotFound, InvalidResource]))))]
pub async fn update_dispute_evidence(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<EvidenceBatch>, Error> {
    let params = request.input.params::<ChangedEvidence>();
    request.answer(evidence::update(&app, &request.caller, &token, params)).await
}

/// Submit a dispute's evidence.
///
/// Submits the batch of evidence for review. From then on it cannot be changed.
#[utoipa::path(post, path = "/disputes/{dispute_token}/evidence", tag = "Disputes",
    responses((status = 200, description = "Submitted")),
    extensions(("x-refusals" = json!([ApiUnavailable, CLOSED, NotFound]))))]
pub async fn submit_dispute_evidence(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Done, Error> {
    request.answer(evidence::submit(&app, &request.caller, &token)).await
}

/// Accept a dispute.
///
/// Gives in: the cardholder keeps the money.
#[utoipa::path(post, path = "/disputes/{dispute_token}/accept", tag = "Disputes",
    responses((status = 200, description = "The dispute", body = Envelope<Dispute>)),
    extensions(("x-rights" = json!({ "charges": "read" })), ("x-refusals" = json!([ApiUnavailable, CLOSED, NotFound]))))]
pub async fn accept_dispute(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Dispute>, Error> {
    request.answer(disputes::accept(&app, &request.caller, &token)).await
}
