//! What an account has at wallets (specification, Wallet domain and certificate; decisions 10).

/// Keys for which walletA seals payloads.
pub mod wallet_certificate {
    use sea_orm::entity::prelude::*;
    use uuid::Uuid;

    use crate::{AccountToken, Timestamp, WalletCertificateToken};

    /// One key, and the certificate that the provider has issued for it, once there is one.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "wallet_certificates")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The certificate's token.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: WalletCertificateToken,
        /// Whether there is a certificate.
        pub state: CertificateState,
        /// PEM.
        pub public_key: String,
        /// SHA-256, base64: what payloads name the key by.
        pub public_key_hash: String,
        /// PEM.
        pub certificate_signing_request: String,
        /// The private key, encrypted.
        pub key_sealed: Vec<u8>,
        /// The data key that encrypts it.
        pub sealed_by: Uuid,
        /// From the certificate: whom the provider means.
        pub merchant_id: Option<String>,
        /// From the certificate.
        pub valid_from: Option<Timestamp>,
        /// From the certificate.
        pub valid_until: Option<Timestamp>,
        /// By the account's clock.
        pub created_at: Timestamp,
    }

    string_enum! {
        /// Where a certificate stands.
        pub enum CertificateState {
            /// There is a key and a request to certify it.
            Incomplete "incomplete",
            /// The provider has certified the key.
            Active "active",
        }
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// Domains on whose pages walletA may be used.
pub mod wallet_domain {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, Timestamp, WalletDomainToken};

    /// One registered domain.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "wallet_domains")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The domain's token.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: WalletDomainToken,
        /// Fully qualified, in small letters; once an account.
        pub domain_name: String,
        /// By the account's clock.
        pub created_at: Timestamp,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// Payloads that were used.
pub mod wallet_payload {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, Timestamp};

    /// One used payload, remembered for as long as it would still be taken.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "wallet_payloads")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// Hash of the wallet and its name of the payment.
        #[sea_orm(primary_key, auto_increment = false)]
        pub hash: Vec<u8>,
        /// When the payload is too old, by the wall clock.
        pub expires_at: Timestamp,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
