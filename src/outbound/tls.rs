//! Whose certificates are believed.

use std::sync::{Arc, LazyLock};

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// The platform's roots (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), read once a process. A machine
/// without any serves all the same, and says so: no https address can then be called.
static PLATFORM: LazyLock<RootCertStore> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (_, ignored) = roots.add_parsable_certificates(found.certs);
    for error in found.errors {
        tracing::warn!("a root certificate cannot be read: {error}");
    }
    if ignored > 0 {
        tracing::warn!("{ignored} root certificates are none");
    }
    if roots.is_empty() {
        tracing::warn!("there are no root certificates: no https address can be called");
    }
    roots
});

/// Certificates are verified by the platform's roots and by one more, if there is one. The provider is named,
/// not installed, so no other user of rustls can clash with it.
pub fn config(extra_root: Option<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = PLATFORM.clone();
    if let Some(root) = extra_root {
        roots.add(root)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
