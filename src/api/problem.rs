//! Middleware around every route: a refusal names the page that explains it (`docs/decisions.md`, 430), and is a problem of RFC 9457
//! for clients that ask for one (431).

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};

use super::accept;
use super::observe::{REQUEST_ID, observe};
use super::state::AppState;
use crate::error::{ErrorCode, KeyFault};

/// The error by which a response refuses; its extension, so that the middleware need not read the body.
#[derive(Debug, Clone, Copy)]
pub struct RefusedBy {
    pub code: ErrorCode,
    /// The reason why no key opens the request, where that is the reason.
    pub key_fault: Option<KeyFault>,
}

const PROBLEM: &str = "application/problem+json";

/// Middleware around what reports requests; see the module.
pub async fn explain_refusals(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let wants_problem = wants_problem(request.headers());
    let mut response = observe(&app, request, next).await;
    if response.status().as_u16() < 400 || !is_json(response.headers()) {
        return response;
    }
    let known = response.extensions().get::<RefusedBy>().copied();
    let mut refusal = None;
    // The answer to an earlier request is replayed as it was kept, so only its body says which code it has.
    if wants_problem || known.is_none() {
        let (head, body) = response.into_parts();
        let Ok(body) = body.collect().await else { return Response::from_parts(head, Body::empty()) };
        let bytes = body.to_bytes();
        refusal = Refusal::read(&bytes, known);
        response = Response::from_parts(head, Body::from(bytes));
    }
    let Some(by) = known.or(refusal.as_ref().map(|refusal| refusal.by)) else { return response };
    link(&mut response, app.info.base_path(), by);
    if let Some(refusal) = refusal.filter(|_| wants_problem) {
        let status = response.status().as_u16();
        let request_id = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
        let problem = refusal.problem(&app.info.base_url, request_id, status).to_string();
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        *response.body_mut() = problem.into();
    }
    response
}

/// Returns whether the client names problems, and wants them no less than JSON.
fn wants_problem(headers: &HeaderMap) -> bool {
    let wanted = accept::weight(headers, &[PROBLEM]);
    wanted > 0 && wanted >= accept::weight(headers, accept::JSON)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// Links to the page of the code, and in it to the reason.
fn link(response: &mut Response, base: &str, by: RefusedBy) {
    let page = format!("<{base}{}>; rel=\"help\"", by.page());
    if let Ok(page) = HeaderValue::from_str(&page) {
        response.headers_mut().append(header::LINK, page);
    }
}

impl RefusedBy {
    /// Returns the path of the page that explains it.
    fn page(self) -> String {
        let fragment = self.key_fault.map(|fault| format!("#{}", fault.code())).unwrap_or_default();
        format!("/docs/errors/{}{fragment}", self.code.code())
    }
}

/// A refusal as its body tells it.
struct Refusal {
    by: RefusedBy,
    facts: Map<String, Value>,
}

impl Refusal {
    /// Reads the body of a refusal; `None` if it is another body, such as an empty one.
    fn read(body: &[u8], by: Option<RefusedBy>) -> Option<Self> {
        let facts = match serde_json::from_slice(body).ok()? {
            Value::Object(facts) => facts,
            Value::Array(items) => match items.into_iter().next()? {
                Value::Object(facts) => facts,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return None;
                }
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        let spelled = || {
            let code = ErrorCode::spelled(facts.get("error")?.as_str()?).next()?;
            Some(RefusedBy { code, key_fault: None })
        };
        Some(Self { by: by.or_else(spelled)?, facts })
    }

    /// Returns the same facts as a problem.
    fn problem(self, base_url: &str, request_id: Option<&str>, status: u16) -> Value {
        let Self { by, facts } = self;
        let detail = by.key_fault.map_or_else(
            || facts.get("error_description").cloned().unwrap_or_default(),
            |fault| fault.sentence().into(),
        );
        let mut problem = json!({
            "type": format!("{base_url}/docs/errors/{}", by.code.code()),
            "title": by.code.description(),
            "status": status,
            "detail": detail,
            "remedy": by.code.explanation().remedy,
        });
        if let Some(id) = request_id {
            problem["request_id"] = id.into();
        }
        if let Some(problem) = problem.as_object_mut() {
            problem.extend(facts);
        }
        problem
    }
}
