//! Certificates, domains and used payloads of wallets (specification, Wallet domain and certificate).

/// Certified keys, for which walletA encrypts payloads.
pub mod wallet_certificate {
    use uuid::Uuid;

    use crate::{AccountToken, Bytes, Timestamp, WalletCertificateToken};

    table! {
        /// One key with its certificate, once the provider has issued it.
        "wallet_certificates" [account_id: AccountToken, id: WalletCertificateToken] {
            state: CertificateState,
            /// PEM.
            public_key: String,
            /// SHA-256 in base64, by which payloads name the key.
            public_key_hash: String,
            /// PEM.
            certificate_signing_request: String,
            /// The private key.
            key_sealed: Bytes,
            sealed_by: Uuid,
            /// The provider's name of the merchant, from the certificate.
            merchant_id: Option<String>,
            /// From the certificate.
            valid_from: Option<Timestamp>,
            /// From the certificate.
            valid_until: Option<Timestamp>,
            created_at: Timestamp,
        }
    }

    string_enum! {
        /// The state of a wallet certificate.
        pub closed enum CertificateState {
            /// The key waits for its certificate.
            Incomplete "incomplete",
            /// The key is certified, and payment tokens can be encrypted for it.
            Active "active",
        }
    }
}

/// Domains on whose pages walletA may be used.
pub mod wallet_domain {
    use crate::{AccountToken, Timestamp, WalletDomainToken};

    table! {
        /// One registered domain.
        "wallet_domains" [account_id: AccountToken, id: WalletDomainToken] {
            /// Fully qualified, in lower case, and unique in the account.
            domain_name: String,
            created_at: Timestamp,
        }
    }
}

/// Used payloads.
pub mod wallet_payload {
    use crate::{AccountToken, Bytes, Timestamp};

    table! {
        /// One used payload, by the hash of the wallet and its name of the payment. It is kept while the payload would still be
        /// accepted.
        "wallet_payloads" [account_id: AccountToken, hash: Bytes] {
            /// By the wall clock.
            expires_at: Timestamp,
        }
    }
}
