//! Disputes (specification, Endpoints, Disputes).

use axum::extract::State;

use super::AppState;
use super::answer::{Counted, Done, Envelope, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::{PageParameters, SearchParameters};
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::params::dispute::{ChangedEvidence, DisputeSearch};
use crate::services::Account;
use crate::services::disputes::{self, evidence, find};
use crate::views::dispute::Dispute;
use crate::views::dispute_activity::Activity;
use crate::views::evidence::EvidenceBatch;

/// List disputes.
///
/// Returns a paginated list of all disputes, newest first unless `sort` is given. X-Total-Count is their number.
#[utoipa::path(get, path = "/disputes", tag = "Disputes", operation_id = "list_disputes",
    params(
        ("sort" = Option<String>, Query, description = "received_at, evidence_required_by or amount"),
        ("direction" = Option<i32>, Query, description = "With sort: 1 ascending (default), -1 descending"),
        PageParameters,
    ),
    responses(
        (status = 200, description = "A page of disputes", body = LongList<Dispute>,
            headers(("X-Total-Count" = u64, description = "The number of disputes on all pages"))),
        (status = 400, description = "api_unavailable"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_disputes(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Counted<Dispute>, Error> {
    Ok(Counted(disputes::list(&site, &account, input.sorting(find::SORTS)).await?))
}

/// Search disputes.
///
/// Returns a paginated list of the disputes that match the search. The query has at least three characters:
/// a part of the status, or exactly the charge token. X-Total-Count is the number of matches.
#[utoipa::path(get, path = "/disputes/search", tag = "Disputes", operation_id = "search_disputes",
    params(
        SearchParameters,
        ("status" = Option<String>, Query, description = "Only disputes in this status"),
        ("sort" = Option<String>, Query, description = "received_at (default), evidence_required_by or amount"),
        PageParameters,
    ),
    responses(
        (status = 200, description = "A page of disputes", body = LongList<Dispute>,
            headers(("X-Total-Count" = u64, description = "How many disputes match"))),
        (status = 400, description = "api_unavailable, invalid_search_query_param"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn search_disputes(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Counted<Dispute>, Error> {
    let params = DisputeSearch::read(&input, find::SORTS);
    Ok(Counted(disputes::search(&site, &account, params).await?))
}

/// Get a dispute.
///
/// Returns the details of a dispute.
#[utoipa::path(get, path = "/disputes/{dispute_token}", tag = "Disputes", operation_id = "get_dispute",
    params(("dispute_token" = String, Path, description = "Dispute token")),
    responses(
        (status = 200, description = "The dispute", body = Envelope<Dispute>),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found"),
    ))]
pub async fn get_dispute(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Dispute>, Error> {
    Ok(Shown(disputes::show(&site, &account, &token).await?))
}

/// Get a dispute's activity.
///
/// Returns the activity of a dispute, newest first: its statuses, the money taken and returned, and last the capture of
/// its charge.
#[utoipa::path(get, path = "/disputes/{dispute_token}/activity", tag = "Disputes", operation_id = "get_dispute_activity",
    params(("dispute_token" = String, Path, description = "Dispute token")),
    responses(
        (status = 200, description = "The activity feed", body = Envelope<Vec<Activity>>),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found"),
    ))]
pub async fn get_dispute_activity(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Vec<Activity>>, Error> {
    Ok(Shown(disputes::activity(&site, &account, &token).await?))
}

/// Get a dispute's evidence.
///
/// Returns the current batch of evidence, without empty fields.
#[utoipa::path(get, path = "/disputes/{dispute_token}/evidence", tag = "Disputes", operation_id = "get_dispute_evidence",
    params(("dispute_token" = String, Path, description = "Dispute token")),
    responses(
        (status = 200, description = "The batch of evidence", body = Envelope<EvidenceBatch>),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found"),
    ))]
pub async fn get_dispute_evidence(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<EvidenceBatch>, Error> {
    Ok(Shown(evidence::show(&site, &account, &token).await?))
}

/// Update a dispute's evidence.
///
/// Changes the batch of evidence. Absent fields stay, empty ones are cleared.
#[utoipa::path(put, path = "/disputes/{dispute_token}/evidence", tag = "Disputes", operation_id = "update_dispute_evidence",
    params(("dispute_token" = String, Path, description = "Dispute token")),
    request_body(content((Option<ChangedEvidence> = "application/json"), (Option<ChangedEvidence> = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The batch of evidence", body = Envelope<EvidenceBatch>),
        (status = 400, description = "api_unavailable, dispute_already_under_review, dispute_already_resolved, dispute_already_cancelled"),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn update_dispute_evidence(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<EvidenceBatch>, Error> {
    let params = request.input.params::<ChangedEvidence>();
    request.answer(evidence::update(&site, &request.caller, &token, params)).await
}

/// Submit a dispute's evidence.
///
/// Submits the batch of evidence for review. From then on it cannot be changed.
#[utoipa::path(post, path = "/disputes/{dispute_token}/evidence", tag = "Disputes", operation_id = "submit_dispute_evidence",
    params(("dispute_token" = String, Path, description = "Dispute token")),
    responses(
        (status = 200, description = "Submitted"),
        (status = 400, description = "api_unavailable, dispute_already_under_review, dispute_already_resolved, dispute_already_cancelled"),
        (status = 404, description = "not_found"),
    ))]
pub async fn submit_dispute_evidence(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Done, Error> {
    request.answer(evidence::submit(&site, &request.caller, &token)).await
}

/// Accept a dispute.
///
/// Accepts the dispute: the cardholder keeps the money.
#[utoipa::path(post, path = "/disputes/{dispute_token}/accept", tag = "Disputes", operation_id = "accept_dispute",
    params(("dispute_token" = String, Path, description = "Dispute token")),
    responses(
        (status = 200, description = "The dispute", body = Envelope<Dispute>),
        (status = 400, description = "api_unavailable, dispute_already_under_review, dispute_already_resolved, dispute_already_cancelled"),
        (status = 404, description = "not_found"),
    ))]
pub async fn accept_dispute(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Dispute>, Error> {
    request.answer(disputes::accept(&site, &request.caller, &token)).await
}
