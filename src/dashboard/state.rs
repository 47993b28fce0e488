//! The state of the dashboard: the server's, and its own sign-in.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::FromRef;

use super::sign_in::DashboardAuth;
use crate::api;
use crate::api::state::AppState;

/// The state that pages of the dashboard share.
#[derive(Clone)]
pub struct DashboardState {
    app: AppState,
    /// The dashboard's authentication.
    pub auth: Arc<DashboardAuth>,
    /// The API, once a page has sent a request to it.
    api: Arc<OnceLock<Router>>,
}

impl DashboardState {
    /// Creates the state of a server's dashboard.
    pub fn new(app: AppState, auth: DashboardAuth) -> Self {
        Self { app, auth: Arc::new(auth), api: Arc::default() }
    }

    /// Returns the API in all its middleware, as clients reach it.
    pub fn api(&self) -> Router {
        self.api.get_or_init(|| api::router(self.app.clone(), Router::new())).clone()
    }
}

impl Deref for DashboardState {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.app
    }
}

/// Extractors for any request of the server read those of the dashboard, too.
impl FromRef<DashboardState> for AppState {
    fn from_ref(dashboard: &DashboardState) -> Self {
        dashboard.app.clone()
    }
}
