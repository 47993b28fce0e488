//! Who seals payloads, and who answers for walletA: what the operator has told.

use std::sync::Arc;

use crate::outbound::{AddressPolicy, Identity, Outbound};
use crate::runtime::random::RandomSource;
use crate::sensitive::secret::Secret;
use crate::wallet::certificate::Certified;
use crate::wallet::{Gateway, Issuer, Roots};

/// What the operator has told about wallets.
#[derive(Default)]
pub struct Wallets {
    /// Whose payloads are believed.
    pub roots: Roots,
    /// For whom walletG's payloads are sealed; none takes none.
    pub gateway: Option<Gateway>,
    /// Who answers for walletA; none answers for nobody, or is simulated.
    pub provider: Option<Provider>,
    /// In the test environment: devices, and whatever else is asked of providers.
    pub simulated: Option<Issuer>,
}

/// Who answers for walletA.
pub struct Provider {
    /// Hosts that a validation URL may name.
    pub hosts: Vec<String>,
    /// The merchant that the identity's certificate names.
    pub merchant_id: String,
    /// Presents the merchant identity.
    pub outbound: Outbound,
}

impl Wallets {
    /// Providers of the test environment's own.
    pub fn simulated() -> Self {
        let issuer = Issuer::built_in();
        Self {
            roots: issuer.roots(),
            gateway: Some(issuer.gateway()),
            provider: None,
            simulated: Some(issuer),
        }
    }

    /// The same, whose devices draw from `chance`.
    #[must_use]
    pub fn drawing_from(mut self, chance: &Arc<RandomSource>) -> Self {
        self.simulated = self.simulated.map(|issuer| issuer.drawing_from(Arc::clone(chance)));
        self
    }
}

impl Provider {
    /// At these hosts, asked with a merchant identity: a certificate that names the merchant in its UID, and its key.
    pub fn new(identity: &Secret, hosts: &[String], reach: AddressPolicy) -> Result<Self, String> {
        let merchant_id =
            Certified::read(identity.expose()).map_err(|_| "the certificate names no merchant")?.merchant_id;
        let identity = Identity::from_pem(identity.expose()).map_err(|error| error.to_string())?;
        let hosts = hosts.iter().map(|host| host.trim().to_ascii_lowercase()).collect();
        let outbound = Outbound::identified(reach, identity).map_err(|error| error.to_string())?;
        Ok(Self { hosts, merchant_id, outbound })
    }
}
