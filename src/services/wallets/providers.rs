//! The operator's wallet settings: issuers of payloads and the provider of walletA.

use std::sync::Arc;

use base::random::RandomSource;
use base::secret::Secret;
use outbound::{AddressPolicy, Identity, Outbound};
use wallet::certificate::Certified;
use wallet::{Gateway, Issuer, Roots};

/// The operator's wallet settings.
#[derive(Default)]
pub struct Wallets {
    /// The root certificates of trusted payloads.
    pub roots: Roots,
    /// The gateway to which walletG payloads are encrypted. Without it, none is accepted.
    pub gateway: Option<Gateway>,
    /// The provider of walletA. Without it there is no provider, or a simulated one.
    pub provider: Option<Provider>,
    /// The simulated devices and providers of the test environment.
    pub simulated: Option<Issuer>,
}

/// The provider of walletA.
pub struct Provider {
    /// The hosts that a validation URL may name.
    pub hosts: Vec<String>,
    /// The merchant named by the identity's certificate.
    pub merchant_id: String,
    /// The HTTP client that presents the merchant identity.
    pub outbound: Outbound,
}

impl Wallets {
    /// Returns the test environment's simulated providers.
    pub fn simulated() -> Self {
        let issuer = Issuer::built_in();
        Self {
            roots: issuer.roots(),
            gateway: Some(issuer.gateway()),
            provider: None,
            simulated: Some(issuer),
        }
    }

    /// Returns the same providers with devices that draw from `random`.
    #[must_use]
    pub fn drawing_from(mut self, random: &Arc<RandomSource>) -> Self {
        self.simulated = self.simulated.map(|issuer| issuer.drawing_from(Arc::clone(random)));
        self
    }
}

impl Provider {
    /// Creates a provider at these hosts. It is called with a merchant identity: a certificate that names the merchant
    /// in its UID, and the certificate's key.
    pub fn new(identity: &Secret, hosts: &[String], policy: AddressPolicy) -> Result<Self, String> {
        let merchant_id =
            Certified::read(identity.expose()).map_err(|_| "the certificate names no merchant")?.merchant_id;
        let identity = Identity::from_pem(identity.expose()).map_err(|error| error.to_string())?;
        let hosts = hosts.iter().map(|host| host.trim().to_ascii_lowercase()).collect();
        let outbound = Outbound::with_certificates(policy, None, Some(identity));
        let outbound = outbound.map_err(|error| error.to_string())?;
        Ok(Self { hosts, merchant_id, outbound })
    }
}
