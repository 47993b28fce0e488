//! The sign-in of users to the dashboard: in test by a secret key, in live by the operator's key or their provider.

use std::sync::Arc;

use base::client_network::ClientNetwork;
use base::clock::Clock;
use base::secret::Secret;
use governor::Quota;
use outbound::identity_provider::IdentityProvider;

use crate::api::rate_limit::Buckets;
use crate::config::Environment;
use crate::limits::{SIGN_IN_EVERY, SIGN_INS_AT_ONCE};

pub struct DashboardAuth {
    /// The sign-in of operators, in live.
    pub(super) operators: Option<OperatorAuth>,
    /// Sign-in attempts by the client's network; those without a known one are counted together.
    pub attempts: Buckets<Option<ClientNetwork>>,
}

/// The sign-in of operators: by the key that they share, or by the provider that knows each of them.
pub struct OperatorAuth {
    /// The shared key, if it opens the dashboard.
    pub key: Option<Secret>,
    pub provider: Option<IdentityProvider>,
}

impl DashboardAuth {
    /// Creates the authentication of an environment. A live server has a dashboard only if its operator has set a key or a
    /// provider.
    pub fn new(environment: Environment, operators: OperatorAuth, clock: Arc<dyn Clock>) -> Option<Self> {
        let operators = match environment {
            Environment::Test => None,
            Environment::Live if operators.key.is_none() && operators.provider.is_none() => return None,
            Environment::Live => Some(operators),
        };
        let quota = Quota::with_period(SIGN_IN_EVERY)?.allow_burst(SIGN_INS_AT_ONCE);
        Some(Self { operators, attempts: Buckets::new(quota, clock) })
    }

    /// Returns the provider that knows the operator's people.
    pub fn provider(&self) -> Option<&IdentityProvider> {
        self.operators.as_ref()?.provider.as_ref()
    }

    /// Returns whether a key opens the dashboard.
    pub fn takes_key(&self) -> bool {
        self.operators.as_ref().is_none_or(|operators| operators.key.is_some())
    }
}
