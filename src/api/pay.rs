//! The pages that a merchant's `resources` name, outside of the API and without a key. They name the merchant, and say
//! that the page takes no payments.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use entity::merchant::MerchantStatus;
use maud::{Markup, html};
use web::handlers::get;

use super::extract::Path;
use super::pages;
use super::state::AppState;
use crate::config::Environment;
use crate::services::merchants::{self, PaymentPage};

/// Returns the routes outside of /1.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/pay/{merchant_token}", get(show))
        .route("/pay/{merchant_token}/surcharge", get(show))
}

async fn show(State(app): State<AppState>, Path(token): Path<String>) -> Response {
    match merchants::page(&app, &token).await {
        Ok(page) => pages::answer(StatusCode::OK, &markup(&page, app.info.environment)),
        Err(error) => pages::refused(
            &error,
            "This page does not exist. Please go back to the merchant and ask for the right address.",
            "Please load this page again.",
        ),
    }
}

fn markup(PaymentPage { business_name, status }: &PaymentPage, environment: Environment) -> Markup {
    let content = html! {
        h1 { (business_name) }
        p { "This page takes no payments. Please pay where " (business_name) " asks you to." }
        dl {
            dt { "Merchant" }
            dd { (business_name) }
            dt { "Status" }
            dd { (words(*status)) }
        }
        @if environment == Environment::Test {
            p.note { "This is a test: no money moves here." }
        }
    };
    pages::document(business_name, &content)
}

const fn words(status: MerchantStatus) -> &'static str {
    match status {
        MerchantStatus::PendingApproval => "Pending approval",
        MerchantStatus::Active => "Active",
        MerchantStatus::Declined => "Declined",
        MerchantStatus::OnHold => "On hold",
    }
}
