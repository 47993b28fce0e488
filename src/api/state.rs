//! The state that requests and handlers share, and its parts.

use std::sync::Arc;

use axum::extract::FromRef;
use base::secret::Secret;
use tokio::sync::watch;
use web::server::ServerPhase;

use super::admission::AdmissionControl;
use super::document::Document;
use super::known_parameters::OperationParameters;
use super::metrics::Metrics;
use super::rate_limit::RateLimit;
use super::rights::OperationRights;
use super::server_info::ServerInfo;
use crate::recorder::Recorder;
use crate::services::{Context, Ctx};

/// The state that requests and handlers share. Every layer around a handler holds it, and every request clones those layers.
#[derive(Clone)]
pub struct AppState(Arc<AppStateInner>);

/// The shared state: the services' context and more.
#[derive(Clone)]
pub struct AppStateInner {
    /// The context of the services.
    pub ctx: Ctx,
    /// The server's statements about itself.
    pub info: Arc<ServerInfo>,
    pub installation: Arc<str>,
    pub document: Arc<Document>,
    pub metrics: Metrics,
    /// The key that pages fill in on the server's own machine: a test environment's first secret key.
    pub test_key: Option<Arc<Secret>>,
    /// The rights that operations need of a restricted key.
    pub rights: Arc<OperationRights>,
    pub parameters: Arc<OperationParameters>,
    /// Whether there is a dashboard, to which the index links.
    pub has_dashboard: bool,
    pub rate: Arc<RateLimit>,
    pub admission: Arc<AdmissionControl>,
    /// The phase: whether the server is shutting down, and how far.
    pub phase: watch::Receiver<ServerPhase>,
    /// The recording of its requests.
    pub recorder: Option<Arc<Recorder>>,
}

impl AppState {
    /// Shares the state.
    pub fn new(shared: AppStateInner) -> Self {
        Self(Arc::new(shared))
    }
}

impl std::ops::Deref for AppState {
    type Target = AppStateInner;

    fn deref(&self) -> &AppStateInner {
        &self.0
    }
}

impl std::ops::Deref for AppStateInner {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}

/// A handler may take a part alone: `State<Arc<ServerInfo>>`.
impl FromRef<AppState> for Arc<ServerInfo> {
    fn from_ref(app: &AppState) -> Self {
        Self::clone(&app.info)
    }
}

/// Middleware may take the document alone.
impl FromRef<AppState> for Arc<Document> {
    fn from_ref(app: &AppState) -> Self {
        Self::clone(&app.document)
    }
}

/// A handler that only calls services may take their context alone.
impl FromRef<AppState> for Ctx {
    fn from_ref(app: &AppState) -> Self {
        Self::clone(&app.ctx)
    }
}
