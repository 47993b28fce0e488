//! The Swagger page, which works offline.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use serde_json::{Value, json};

use super::{Site, own_machine};
use crate::config::Environment;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The page and what it reads; its first script is ours, for the sake of the key.
pub fn routes() -> Router<Site> {
    Router::new()
        .route("/docs", get(async || Redirect::to("/docs/")))
        .route("/docs/", get(async || Html(PAGE)))
        .route("/docs/swagger-initializer.js", get(initializer))
        .route("/docs/{file}", get(file))
        .route("/openapi.json", get(document))
}

async fn document(State(site): State<Site>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], site.document.json(&site.index))
}

/// Readable without a browser: all else of the page is compressed.
const PAGE: &str = r#"<!DOCTYPE html>
<html lang="en">
<meta charset="UTF-8">
<title>Swagger UI</title>
<link rel="stylesheet" href="swagger-ui.css">
<link rel="stylesheet" href="index.css">
<link rel="icon" type="image/png" href="favicon-32x32.png" sizes="32x32">
<div id="swagger-ui"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="swagger-ui-standalone-preset.js"></script>
<script src="swagger-initializer.js"></script>
</html>
"#;

/// A part of the page, as it lies in the program.
async fn file(Path(name): Path<String>) -> Response {
    let Ok(Some(file)) = utoipa_swagger_ui::serve(&name, Arc::default()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let encoding = file.gzpipped.then_some([(header::CONTENT_ENCODING, "gzip")]);
    ([(header::CONTENT_TYPE, file.content_type)], encoding, file.bytes.into_owned()).into_response()
}

/// No badge of somebody else's validator, deep links, and the test key for whoever sits at the server. In test the page is
/// there to be tried, and remembers the key; in live it is to be read: it sends nothing by itself, and no live key stays in a
/// browser.
async fn initializer(State(site): State<Site>, request: Parts) -> impl IntoResponse {
    let key = own_machine::test_key(&site, &request);
    let key = key.map_or(Value::Null, |key| key.expose().into());
    let to_be_tried = site.index.environment == Environment::Test;
    let settings = json!({
        "url": "/openapi.json", "dom_id": "#swagger-ui", "layout": "StandaloneLayout", "validatorUrl": "none",
        "deepLinking": true, "tryItOutEnabled": to_be_tried, "persistAuthorization": to_be_tried, "docExpansion": "none",
        "defaultModelsExpandDepth": 0,
    });
    let script = format!(
        "window.onload = () => {{\n\
         \x20 const key = {key}\n\
         \x20 const {{ presets: {{ apis }}, plugins: {{ DownloadUrl }} }} = SwaggerUIBundle\n\
         \x20 window.ui = SwaggerUIBundle({{\n\
         \x20   ...{settings},\n\
         \x20   presets: [apis, SwaggerUIStandalonePreset],\n\
         \x20   plugins: [DownloadUrl],\n\
         \x20   onComplete() {{\n\
         \x20     // Somebody's own key, kept by the browser, stays.\n\
         \x20     const given = window.ui.authSelectors.authorized()\n\
         \x20     if (key && !given.has('secret_key')) window.ui.preauthorizeBasic('secret_key', key, '')\n\
         \x20   }},\n\
         \x20 }})\n\
         }}\n"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // No page of anybody else's may run it and read the key.
        (RESOURCE_POLICY, "same-origin"),
    ];
    (headers, script)
}
