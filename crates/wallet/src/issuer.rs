//! The other side, for the test environment: devices, and their providers. Their private keys are public; a live server
//! never trusts them.

use std::str::FromStr as _;
use std::sync::Arc;

use base::random::{RandomSource, RandomStream};
use der::Encode as _;
use der::asn1::{ObjectIdentifier, OctetString};
use entity::{TimeSpan, Timestamp};
use p256::SecretKey;
use p256::ecdsa::{DerSignature, SigningKey};
use p256::pkcs8::EncodePrivateKey as _;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder as _, CertificateBuilder};
use x509_cert::certificate::{Certificate, TbsCertificate};
use x509_cert::ext::pkix::BasicConstraints;
use x509_cert::ext::{Extension, ToExtension as _};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};
use x509_cert::time::Validity;

use super::certificate::{public_key, time};
use super::message::AuthMethod;
use super::trust::RootKey;
use super::wallet_g::Protocol;
use super::{Gateway, Roots, WalletAToken, WalletGSigningKey, WalletGToken, encoded, wallet_a};

/// A card on a device.
#[derive(Debug, Clone, Copy)]
pub struct DeviceCard<'a> {
    /// Digits only.
    pub number: &'a str,
    /// 1 to 12.
    pub expiry_month: u32,
    /// Four digits.
    pub expiry_year: i32,
}

/// Devices trusted by a holder of [`Issuer::roots`].
#[derive(Debug)]
pub struct Issuer {
    root: Certificate,
    /// The leaf certificate and the intermediate one.
    certificates: [Certificate; 2],
    device: SigningKey,
    root_g: SigningKey,
    intermediate_g: SigningKey,
    gateway: SecretKey,
    random: Arc<RandomSource>,
}

/// The time for which walletG's payloads and signing keys are valid.
const MESSAGE_LIFETIME: TimeSpan = TimeSpan::days(7);
/// The name of test gateways.
const RECIPIENT: &str = "gateway:cardpayments";

impl Issuer {
    /// Returns the devices that the test environment trusts.
    pub fn built_in() -> Self {
        Self::new("card-payments")
    }

    /// Returns devices by a name; each name has other keys.
    pub fn new(name: &str) -> Self {
        Self::certified(name).expect("certificates of constants")
    }

    fn certified(name: &str) -> Result<Self, x509_cert::builder::Error> {
        let key = |what: &str| {
            let bytes = Sha256::digest(format!("{name}: {what}"));
            SecretKey::from_slice(&bytes).expect("one of all but a few numbers")
        };
        let signing = |what: &str| SigningKey::from(key(what));
        let (root_key, intermediate_key, device) =
            (signing("root"), signing("intermediate"), signing("device"));
        let subject = |what: &str| Name::from_str(&format!("CN={name} test wallet {what}"));
        let profile = |what: &str, issuer: &str, marker| {
            Ok::<_, der::Error>(Profile { subject: subject(what)?, issuer: subject(issuer)?, marker })
        };
        let root = profile("root", "root", Marker::Root)?.issue(1, &root_key, &root_key)?;
        let intermediate =
            profile("intermediate", "root", Marker::Intermediate)?.issue(2, &intermediate_key, &root_key)?;
        let leaf = profile("device", "intermediate", Marker::Leaf)?.issue(3, &device, &intermediate_key)?;
        Ok(Self {
            root,
            certificates: [leaf, intermediate],
            device,
            root_g: signing("walletG root"),
            intermediate_g: signing("walletG intermediate"),
            gateway: key("walletG gateway"),
            random: Arc::default(),
        })
    }

    /// Returns the same devices with the randomness of `random`.
    #[must_use]
    pub fn drawing_from(self, random: Arc<RandomSource>) -> Self {
        Self { random, ..self }
    }

    /// Returns the roots that trust these devices.
    pub fn roots(&self) -> Roots {
        let root = self.root.to_der().expect("a certificate that was encoded before");
        let key = |protocol| RootKey { key: *self.root_g.verifying_key(), protocol, until: None };
        Roots {
            wallet_a: vec![CertificateDer::from(root)],
            wallet_g: [Protocol::V1, Protocol::V2].map(key).to_vec(),
        }
    }

    /// Returns the roots in a live server's configuration format: certificates in PEM, keys as their provider
    /// publishes them.
    pub fn published(&self) -> Value {
        use der::EncodePem as _;
        use p256::pkcs8::EncodePublicKey as _;
        let pem = self.root.to_pem(der::pem::LineEnding::LF).expect("a certificate");
        let key = self.root_g.verifying_key().to_public_key_der().expect("a key");
        let key = |version| json!({ "keyValue": encoded(key.as_bytes()), "protocolVersion": version });
        let keys = ["ECv1", "ECv2"].map(key);
        json!({ "walletA": [pem], "walletG": keys })
    }

    /// Returns the gateway that test payloads are encrypted for.
    pub fn gateway(&self) -> Gateway {
        Gateway::with(self.gateway.clone(), RECIPIENT).expect("a gateway's name")
    }

    /// Returns the private keys in PEM (PKCS #8), to make or open payloads by other programs: of the device, of walletG's root,
    /// and of the gateway.
    pub fn private_keys(&self) -> [String; 3] {
        let root: SecretKey = self.root_g.clone().into();
        let device: SecretKey = self.device.clone().into();
        [device, root, self.gateway.clone()]
            .map(|key| key.to_pkcs8_pem(der::pem::LineEnding::LF).expect("a key").to_string())
    }

    /// Returns the certificates of the device and of its issuing authority, in PEM.
    pub fn certificates(&self) -> [String; 2] {
        use der::EncodePem as _;
        self.certificates.each_ref().map(|one| one.to_pem(der::pem::LineEnding::LF).expect("a certificate"))
    }

    /// Returns a card's payload for a merchant with this public key, in PEM. `None` if that is no key.
    pub fn wallet_a(
        &self,
        card: DeviceCard<'_>,
        (public_pem, merchant_id): (&str, &str),
        now: Timestamp,
    ) -> Option<WalletAToken> {
        let DeviceCard { number, expiry_month, expiry_year } = card;
        let data = json!({
            "applicationPrimaryAccountNumber": number,
            "applicationExpirationDate": format!("{:02}{expiry_month:02}31", expiry_year.rem_euclid(100)),
            "currencyCode": "036",
            "transactionAmount": 400,
            "deviceManufacturerIdentifier": "040010030273",
            "paymentDataType": "3DSecure",
            "paymentData": { "onlinePaymentCryptogram": encoded(self.draw::<20>()), "eciIndicator": "5" },
        });
        let [leaf, intermediate] = &self.certificates;
        WalletAToken::seal(
            data.to_string().as_bytes(),
            (&public_key(public_pem).ok()?, merchant_id),
            self.draw(),
            &self.ephemeral()?,
            |content| wallet_a::sign(content, &self.device, [leaf, intermediate], now).ok(),
        )
    }

    /// Returns a card's payload for a gateway's merchant, in ECv2.
    pub fn wallet_g(
        &self,
        card: DeviceCard<'_>,
        (gateway, merchant): (&Gateway, &str),
        now: Timestamp,
    ) -> Option<WalletGToken> {
        let until = now + MESSAGE_LIFETIME;
        let vouched = WalletGSigningKey::vouched(&self.intermediate_g, until, &self.root_g)?;
        let message = self.message(card, merchant, until);
        WalletGToken::seal(
            message.as_bytes(),
            gateway,
            &self.ephemeral()?,
            &self.intermediate_g,
            Some(vouched),
        )
    }

    /// Returns the same in ECv1, which no test device uses any more.
    pub fn wallet_g_v1(
        &self,
        card: DeviceCard<'_>,
        (gateway, merchant): (&Gateway, &str),
        now: Timestamp,
    ) -> Option<WalletGToken> {
        let message = self.message(card, merchant, now + MESSAGE_LIFETIME);
        WalletGToken::seal(message.as_bytes(), gateway, &self.ephemeral()?, &self.root_g, None)
    }

    fn message(&self, card: DeviceCard<'_>, merchant: &str, until: Timestamp) -> String {
        json!({
            "gatewayMerchantId": merchant,
            "messageExpiration": until.millis().to_string(),
            "messageId": encoded(self.draw::<24>()),
            "paymentMethod": "CARD",
            "paymentMethodDetails": {
                "authMethod": AuthMethod::Cryptogram,
                "pan": card.number,
                "expirationMonth": card.expiry_month,
                "expirationYear": card.expiry_year,
                "cryptogram": encoded(self.draw::<20>()),
                "eciIndicator": "05",
            },
        })
        .to_string()
    }

    /// Draws a key; `None` once in four billion times.
    fn ephemeral(&self) -> Option<SecretKey> {
        SecretKey::from_slice(&self.draw::<32>()).ok()
    }

    fn draw<const N: usize>(&self) -> [u8; N] {
        self.random.bytes(RandomStream::WalletPayload)
    }
}

/// A certificate's marker extension, by the purpose of its key.
#[derive(Clone, Copy)]
enum Marker {
    Root,
    Intermediate,
    Leaf,
}

impl Marker {
    const fn oid(self) -> Option<ObjectIdentifier> {
        match self {
            Self::Root => None,
            Self::Intermediate => Some(wallet_a::INTERMEDIATE),
            Self::Leaf => Some(wallet_a::LEAF),
        }
    }

    const fn is_authority(self) -> bool {
        match self {
            Self::Root | Self::Intermediate => true,
            Self::Leaf => false,
        }
    }
}

struct Profile {
    subject: Name,
    issuer: Name,
    marker: Marker,
}

/// 2020 to 2100: test clocks may be moved.
const VALIDITY: [Timestamp; 2] =
    [Timestamp::from_millis(1_577_836_800_000), Timestamp::from_millis(4_102_444_800_000)];

impl Profile {
    fn issue(
        self,
        serial: u32,
        key: &SigningKey,
        issuer: &SigningKey,
    ) -> Result<Certificate, x509_cert::builder::Error> {
        let validity = Validity::new(time(VALIDITY[0])?, time(VALIDITY[1])?);
        let public = SubjectPublicKeyInfo::from_key(key.verifying_key())?;
        let builder = CertificateBuilder::new(self, SerialNumber::from(serial), validity, public)?;
        builder.build::<_, DerSignature>(issuer)
    }
}

impl BuilderProfile for Profile {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        _: &TbsCertificate,
    ) -> x509_cert::builder::Result<Vec<Extension>> {
        let constraints = BasicConstraints { ca: self.marker.is_authority(), path_len_constraint: None };
        let mut extensions = vec![constraints.to_extension(&self.subject, &[])?];
        if let Some(extn_id) = self.marker.oid() {
            // Only its presence counts.
            extensions.push(Extension { extn_id, critical: false, extn_value: OctetString::new([5, 0])? });
        }
        Ok(extensions)
    }
}
