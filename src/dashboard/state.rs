//! The state of the dashboard: the server's, and its own sign-in.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;

use super::sign_in::DashboardAuth;
use crate::api::state::AppState;

/// The state that pages of the dashboard share.
#[derive(Clone)]
pub struct DashboardState {
    app: AppState,
    /// The dashboard's authentication.
    pub auth: Arc<DashboardAuth>,
}

impl DashboardState {
    /// Creates the state of a server's dashboard.
    pub fn new(app: AppState, auth: DashboardAuth) -> Self {
        Self { app, auth: Arc::new(auth) }
    }
}

impl Deref for DashboardState {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.app
    }
}

/// What reads any request of the server reads those of the dashboard, too.
impl FromRef<DashboardState> for AppState {
    fn from_ref(dashboard: &DashboardState) -> Self {
        dashboard.app.clone()
    }
}
