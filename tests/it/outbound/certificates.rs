//! Which certificates are accepted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use outbound::{AddressPolicy, Identity, Outbound, OutboundError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::call;
use crate::harness::Receiver;
use crate::harness::process::{Process, program};

/// A certificate authority that no platform knows.
struct Authority {
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap().der().clone();
        Self { root, issuer: Issuer::new(params, key) }
    }

    /// A server whose certificate this authority signed.
    async fn server(&self, params: CertificateParams) -> SocketAddr {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        serve(certificate.der().clone(), &key).await
    }

    /// A client that trusts it.
    fn client(&self) -> Outbound {
        Outbound::with_certificates(AddressPolicy::test(), Some(&self.root), None).unwrap()
    }
}

/// Valid by today, whenever that is.
fn certificate(name: &str) -> CertificateParams {
    CertificateParams::new([name.to_owned()]).unwrap()
}

/// What a server does with its certificate.
fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair, protocols: &[&str]) -> TlsAcceptor {
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Answers 200 to clients that accept the certificate.
async fn serve(certificate: CertificateDer<'static>, key: &KeyPair) -> SocketAddr {
    let acceptor = acceptor(certificate, key, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that rejects it hangs up.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok_and(|length| length > 0) {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            }
        }
    });
    address
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_for_that_name_is_believed() {
    let authority = Authority::new();
    let named = authority.server(certificate("localhost")).await;
    let url = format!("https://localhost:{}/", named.port());
    assert_eq!(call(&authority.client(), &url).await, Ok(200));
    let by_address = authority.server(certificate("127.0.0.1")).await;
    assert_eq!(call(&authority.client(), &format!("https://{by_address}/")).await, Ok(200));
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_not_believed() {
    let authority = Authority::new();
    let url = format!("https://{}/", authority.server(certificate("127.0.0.1")).await);
    assert_eq!(call(&super::test(), &url).await, Err(OutboundError::TlsFailed));
    assert_eq!(call(&Authority::new().client(), &url).await, Err(OutboundError::TlsFailed));
}

#[tokio::test]
async fn a_self_signed_certificate_is_not_believed() {
    let key = KeyPair::generate().unwrap();
    let own = certificate("127.0.0.1").self_signed(&key).unwrap();
    let url = format!("https://{}/", serve(own.der().clone(), &key).await);
    assert_eq!(call(&super::test(), &url).await, Err(OutboundError::TlsFailed));
}

#[tokio::test]
async fn a_certificate_of_another_time_is_not_believed() {
    let authority = Authority::new();
    for (from, until) in [(2001, 2002), (2999, 3000)] {
        let mut params = certificate("127.0.0.1");
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
        let url = format!("https://{}/", authority.server(params).await);
        assert_eq!(call(&authority.client(), &url).await, Err(OutboundError::TlsFailed), "{from}");
    }
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_believed() {
    let authority = Authority::new();
    for name in ["other.example", "127.0.0.2"] {
        let port = authority.server(certificate(name)).await.port();
        for host in ["localhost", "127.0.0.1"] {
            let url = format!("https://{host}:{port}/");
            assert_eq!(
                call(&authority.client(), &url).await,
                Err(OutboundError::TlsFailed),
                "{name} as {host}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_do_tls_is_not_believed() {
    let plain = Receiver::start().await;
    assert_eq!(
        call(&super::test(), &format!("https://{}/", plain.address())).await,
        Err(OutboundError::TlsFailed)
    );
    assert!(plain.received().is_empty());
}

#[tokio::test]
async fn a_receiver_of_http_2_gets_all_calls_on_one_connection() {
    let (authority, key) = (Authority::new(), KeyPair::generate().unwrap());
    let own = certificate("127.0.0.1").signed_by(&key, &authority.issuer).unwrap();
    let acceptor = acceptor(own.der().clone(), &key, &["h2", "http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = h2::server::handshake(acceptor.accept(stream).await.unwrap()).await.unwrap();
        // The first answer has a body without end, the others have none.
        let mut endless = None;
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let answer = http::Response::builder().status(if endless.is_none() { 503 } else { 204 });
            let body = respond.send_response(answer.body(()).unwrap(), endless.is_some()).unwrap();
            endless.get_or_insert(body).send_data(vec![b'x'; 1 << 20].into(), false).ok();
        }
    });
    let client = authority.client();
    assert_eq!(call(&client, &url).await, Ok(503));
    for _ in 0..10 {
        assert_eq!(call(&client, &url).await, Ok(204));
    }
    drop(client);
    server.await.unwrap();
}

#[test]
fn a_file_that_is_no_certificate_cannot_be_trusted() {
    assert!(Outbound::with_certificates(AddressPolicy::test(), Some(b"nothing"), None).is_err());
}

#[test]
fn a_machine_without_root_certificates_serves_and_says_so() {
    let data = tempfile::tempdir().unwrap();
    let log =
        |roots: &std::path::Path| Process::start(program(data.path()).env("SSL_CERT_FILE", roots)).stopped();
    let warning = "there are no root certificates, so no https address can be called";
    let none = data.path().join("none.pem");
    assert!(log(&none).contains(warning));
    std::fs::write(&none, "").unwrap();
    assert!(log(&none).contains(warning));
    let one = data.path().join("one.pem");
    std::fs::write(&one, pem(&Authority::new().root)).unwrap();
    assert!(!log(&one).contains("root certificate"));
}

fn pem(certificate: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
}

/// Answers JSON to clients with a certificate of the authority.
async fn serve_mutual_tls(authority: &Authority) -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let own = certificate("127.0.0.1").signed_by(&key, &authority.issuer).unwrap();
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.root.clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_client_cert_verifier(verifier.build().unwrap());
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = config.with_single_cert(vec![own.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 4096];
            let length = stream.read(&mut request).await.unwrap_or(0);
            let body = if request[..length].starts_with(b"POST ") { "{\"posted\":true}" } else { "{}" };
            let answer = format!("HTTP/1.1 201 Created\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}

#[tokio::test]
async fn an_identity_is_shown_to_whoever_asks_for_one_and_the_answer_is_read() {
    let authority = Authority::new();
    let url = format!("https://{}/", serve_mutual_tls(&authority).await);
    let within = Duration::from_secs(30);
    let identified = |authority: &Authority, issuer: &Authority| {
        let key = KeyPair::generate().unwrap();
        let own = certificate("merchant").signed_by(&key, &issuer.issuer).unwrap();
        let pem = |label: &str, der: &[u8]| {
            format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
        };
        let text = pem("CERTIFICATE", own.der()) + &pem("PRIVATE KEY", &key.serialize_der());
        let identity = Identity::from_pem(&text).unwrap();
        Outbound::with_certificates(AddressPolicy::test(), Some(&authority.root), Some(identity)).unwrap()
    };
    let known = identified(&authority, &authority);
    let (status, body) = known.post_json(&url, "{}".into(), within).await.unwrap();
    assert_eq!((status, body.as_ref()), (201, b"{\"posted\":true}".as_slice()));
    assert_eq!(known.get(&url, within).await, Ok(201));
    for stranger in [authority.client(), identified(&authority, &Authority::new())] {
        assert!(stranger.post_json(&url, "{}".into(), within).await.is_err());
    }
    for nothing in ["", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(Identity::from_pem(nothing).is_err(), "{nothing}");
    }
}
