//! Trusted root certificates, and the client certificate.

use std::sync::{Arc, LazyLock};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// The platform's roots (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), read once per process. On a machine without any, a
/// warning is logged, and no https address can be called.
static PLATFORM: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
    let (roots, faults) = platform();
    for fault in faults {
        tracing::warn!("{fault}");
    }
    Arc::new(roots)
});

/// Reads the platform's roots, unless that was done: hundreds of files, a fifth of a start. A server does it beside its first
/// requests, so that no call waits for it.
pub fn read_platform() {
    LazyLock::force(&PLATFORM);
}

/// Returns the platform's roots, and their faults.
pub fn platform() -> (RootCertStore, Vec<String>) {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (_, ignored) = roots.add_parsable_certificates(found.certs);
    let unreadable = |error| format!("a root certificate cannot be read: {error}");
    let mut faults: Vec<_> = found.errors.into_iter().map(unreadable).collect();
    if ignored > 0 {
        faults.push(format!("{ignored} root certificates are none"));
    }
    if roots.is_empty() {
        faults.push("there are no root certificates, so no https address can be called".into());
    }
    (roots, faults)
}

/// A client certificate with its chain and private key.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// The text is no client certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must hold a certificate and its private key in PEM")]
pub struct NoIdentity;

impl Identity {
    /// Parses certificates, the client's first, and a private key, all in PEM.
    pub fn from_pem(text: &str) -> Result<Self, NoIdentity> {
        let chain = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(NoIdentity)?;
        Ok(Self { chain, key: PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| NoIdentity)? })
    }
}

/// Certificates are verified by the platform's roots, and none is shown.
pub fn platform_config() -> ClientConfig {
    config(None, None).expect("ring can do TLS 1.2 and 1.3")
}

/// Verifies certificates by the platform's roots and at most one more. The provider is passed,
/// not installed, so no other user of rustls can conflict with it.
pub fn config(
    extra_root: Option<CertificateDer<'static>>,
    identity: Option<Identity>,
) -> Result<ClientConfig, rustls::Error> {
    let mut roots = Arc::clone(&PLATFORM);
    if let Some(root) = extra_root {
        Arc::make_mut(&mut roots).add(root)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let mut config = match identity {
        Some(Identity { chain, key }) => config.with_client_auth_cert(chain, key)?,
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
