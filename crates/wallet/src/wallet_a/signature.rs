//! The detached CMS signature of a walletA payload: made by a key with a certificate of one of the provider's intermediate
//! authorities, as markers in both certificates say, under a trusted root.

use std::time::Duration;

use cms::cert::CertificateChoices;
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    CertificateSet, DigestAlgorithmIdentifiers, EncapsulatedContentInfo, SignedData, SignerIdentifier,
    SignerInfo, SignerInfos,
};
use der::asn1::{ObjectIdentifier, OctetString, SetOfVec};
use der::{Any, Decode as _, Encode as _, EncodingRules, Tag};
use entity::Timestamp;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{DerSignature, SigningKey};
use rustls::pki_types::{CertificateDer, UnixTime};
use sha2::{Digest as _, Sha256};
use webpki::{EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeIdIter, anchor_from_trusted_cert};
use x509_cert::attr::{Attribute, Attributes};
use x509_cert::certificate::Certificate;
use x509_cert::ext::pkix::SubjectKeyIdentifier;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_cert::time::Time;

use crate::Unreadable;
use crate::certificate::{time, timestamp};

/// The marker in the certificate of the key that signs payloads.
pub const LEAF: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113635.100.6.29");
/// The marker in the certificate of its issuing authority.
pub const INTERMEDIATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113635.100.6.2.14");

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SIGNING_TIME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.5");
const SHA_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const ECDSA_WITH_SHA_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");

/// Verifies a signature over `content`, and returns its time. The wallet writes it in BER, with open lengths.
pub fn verify(
    signature: &[u8],
    content: &[u8],
    roots: &[CertificateDer<'static>],
    now: Timestamp,
) -> Result<Timestamp, Unreadable> {
    let envelope = ContentInfo::from_ber(signature)?;
    let message: SignedData = envelope.content.decode_as_encoding(EncodingRules::Ber)?;
    let [signer] = message.signer_infos.0.as_slice() else { return Err(Unreadable) };
    if envelope.content_type != SIGNED_DATA || !is_plain(&message, signer) {
        return Err(Unreadable);
    }
    let certificates: Vec<&Certificate> =
        message.certificates.iter().flat_map(|set| set.0.iter()).filter_map(plain).collect();
    let leaf =
        certificates.iter().find(|leaf| is_of(leaf, &signer.sid) && bears(leaf, LEAF)).ok_or(Unreadable)?;
    let leaf: CertificateDer<'_> = leaf.to_der()?.into();
    let issuers = certificates.iter().filter(|issuer| bears(issuer, INTERMEDIATE));
    let issuers =
        issuers.map(|issuer| Ok(issuer.to_der()?.into())).collect::<Result<Vec<_>, Unreadable>>()?;
    let leaf = EndEntityCert::try_from(&leaf)?;
    chained(&leaf, &issuers, roots, now)?;

    let attributes = signer.signed_attrs.as_ref().ok_or(Unreadable)?;
    let digest: OctetString = value(attributes, MESSAGE_DIGEST)?;
    let content_type: ObjectIdentifier = value(attributes, CONTENT_TYPE)?;
    let signed_at: Time = value(attributes, SIGNING_TIME)?;
    if digest.as_bytes() != Sha256::digest(content).as_slice()
        || content_type != message.encap_content_info.econtent_type
    {
        return Err(Unreadable);
    }
    leaf.verify_signature(
        webpki::ring::ECDSA_P256_SHA256,
        &attributes.to_der()?,
        signer.signature.as_bytes(),
    )?;
    timestamp(signed_at.to_unix_duration())
}

/// Returns whether the signature is detached, and has the version and algorithms of the wallets: little can be changed in it.
fn is_plain(message: &SignedData, signer: &SignerInfo) -> bool {
    let mut digests = message.digest_algorithms.iter().chain([&signer.digest_alg]);
    message.encap_content_info.econtent.is_none()
        && (message.version, signer.version) == (CmsVersion::V1, CmsVersion::V1)
        && digests.all(|digest| digest.oid == SHA_256)
        && signer.signature_algorithm.oid == ECDSA_WITH_SHA_256
        && signer.unsigned_attrs.is_none()
        && message.crls.is_none()
}

fn plain(choice: &CertificateChoices) -> Option<&Certificate> {
    match choice {
        CertificateChoices::Certificate(certificate) => Some(certificate),
        CertificateChoices::Other(_) => None,
    }
}

fn is_of(certificate: &Certificate, signer: &SignerIdentifier) -> bool {
    let certificate = certificate.tbs_certificate();
    match signer {
        SignerIdentifier::IssuerAndSerialNumber(named) => {
            named.issuer == *certificate.issuer() && named.serial_number == *certificate.serial_number()
        }
        SignerIdentifier::SubjectKeyIdentifier(named) => {
            let known = certificate.get_extension::<SubjectKeyIdentifier>();
            matches!(known, Ok(Some((_, known))) if known == *named)
        }
    }
}

fn bears(certificate: &Certificate, marker: ObjectIdentifier) -> bool {
    certificate
        .tbs_certificate()
        .extensions()
        .into_iter()
        .flatten()
        .any(|extension| extension.extn_id == marker)
}

/// Checks that a certificate leads to a root, with an intermediate authority between them.
fn chained(
    leaf: &EndEntityCert<'_>,
    issuers: &[CertificateDer<'_>],
    roots: &[CertificateDer<'static>],
    now: Timestamp,
) -> Result<(), Unreadable> {
    let anchors = roots.iter().map(anchor_from_trusted_cert).collect::<Result<Vec<_>, _>>()?;
    let now = UnixTime::since_unix_epoch(Duration::from_millis(
        u64::try_from(now.millis()).map_err(|_| Unreadable)?,
    ));
    let path =
        leaf.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, issuers, now, AnyUsage, None, None)?;
    path.intermediate_certificates().next().map(drop).ok_or(Unreadable)
}

/// Accepts any extended key usage: the markers say the keys' purposes.
struct AnyUsage;

impl ExtendedKeyUsageValidator for AnyUsage {
    fn validate(&self, _: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        Ok(())
    }
}

/// Returns the single value of a signed attribute.
fn value<'a, T>(attributes: &'a Attributes, oid: ObjectIdentifier) -> Result<T, Unreadable>
where
    T: der::Choice<'a> + der::DecodeValue<'a, Error = der::Error>,
{
    let mut found = attributes.iter().filter(|attribute| attribute.oid == oid);
    let (Some(attribute), None) = (found.next(), found.next()) else { return Err(Unreadable) };
    let [value] = attribute.values.as_slice() else { return Err(Unreadable) };
    Ok(value.decode_as()?)
}

/// Signs `content` as a wallet does, with its key and its two certificates.
pub fn sign(
    content: &[u8],
    key: &SigningKey,
    [leaf, issuer]: [&Certificate; 2],
    signed_at: Timestamp,
) -> Result<Vec<u8>, der::Error> {
    let attributes = SetOfVec::try_from(vec![
        attribute(CONTENT_TYPE, Any::encode_from(&DATA)?)?,
        attribute(SIGNING_TIME, Any::encode_from(&time(signed_at)?)?)?,
        attribute(MESSAGE_DIGEST, Any::new(Tag::OctetString, Sha256::digest(content).as_slice())?)?,
    ])?;
    let signature: DerSignature = key.sign(&attributes.to_der()?);
    let sha_256 = AlgorithmIdentifierOwned { oid: SHA_256, parameters: None };
    let of = leaf.tbs_certificate();
    let signer = SignerInfo {
        version: CmsVersion::V1,
        sid: SignerIdentifier::IssuerAndSerialNumber(cms::cert::IssuerAndSerialNumber {
            issuer: of.issuer().clone(),
            serial_number: of.serial_number().clone(),
        }),
        digest_alg: sha_256.clone(),
        signed_attrs: Some(attributes),
        signature_algorithm: AlgorithmIdentifierOwned { oid: ECDSA_WITH_SHA_256, parameters: None },
        signature: OctetString::new(signature.as_bytes())?,
        unsigned_attrs: None,
    };
    let certificates = [leaf, issuer].map(|certificate| CertificateChoices::Certificate(certificate.clone()));
    let message = SignedData {
        version: CmsVersion::V1,
        digest_algorithms: DigestAlgorithmIdentifiers::try_from(vec![sha_256])?,
        encap_content_info: EncapsulatedContentInfo { econtent_type: DATA, econtent: None },
        certificates: Some(CertificateSet::try_from(certificates.to_vec())?),
        crls: None,
        signer_infos: SignerInfos::try_from(vec![signer])?,
    };
    ContentInfo { content_type: SIGNED_DATA, content: Any::encode_from(&message)? }.to_der()
}

fn attribute(oid: ObjectIdentifier, value: Any) -> Result<Attribute, der::Error> {
    Ok(Attribute { oid, values: SetOfVec::try_from(vec![value])? })
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject as _;

    use super::*;
    use crate::{WalletAToken, decoded};

    const TOKEN: &str = include_str!("../../tests/fixtures/wallet_a_token.json");
    const ROOT: &[u8] = include_bytes!("../../tests/fixtures/wallet_a_root.pem");

    /// 2023-03-07T05:33:48Z, which is also written in the signature.
    const SIGNED_AT: Timestamp = Timestamp::from_millis(1_678_167_228_000);

    /// The signature of a real device, in BER, under the provider's own root: published by Spreedly with its library Gala
    /// (MIT). No card is exposed: only the signature is used.
    #[test]
    fn the_signature_of_a_real_device_is_genuine_and_over_nothing_else() {
        let token: WalletAToken = serde_json::from_str(TOKEN).unwrap();
        let roots = [CertificateDer::from_pem_slice(ROOT).unwrap()];
        let signature = decoded(&token.signature).unwrap();
        let payment = base::hexadecimal::decode(&token.header.transaction_id).unwrap();
        let content =
            [decoded(&token.header.ephemeral_public_key).unwrap(), decoded(&token.data).unwrap(), payment]
                .concat();
        assert_eq!(verify(&signature, &content, &roots, SIGNED_AT), Ok(SIGNED_AT));
        assert_eq!(verify(&signature, &content[1..], &roots, SIGNED_AT), Err(Unreadable));
        assert_eq!(verify(&signature, &content, &[], SIGNED_AT), Err(Unreadable));
        let years_later = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(
            verify(&signature, &content, &roots, years_later),
            Err(Unreadable),
            "its certificate has expired"
        );
        for at in 0..signature.len() {
            let mut changed = signature.clone();
            changed[at] ^= 1;
            // The lengths of some parts are not signed, but the content is.
            if let Ok(signed_at) = verify(&changed, &content, &roots, SIGNED_AT) {
                assert_eq!(signed_at, SIGNED_AT, "byte {at}");
            }
        }
    }
}
