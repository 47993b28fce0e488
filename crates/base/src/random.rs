//! Randomness. Its source is the operating system; with a tester's seed, the values that clients see come from the seed and are
//! the same in every run.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hkdf::Hkdf;
use sha2::Sha256;
use uuid::Uuid;

use crate::mutex::lock;

/// Returns unpredictable bytes, whatever the seed: for ciphers, and for values that no client sees.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without randomness every key and nonce would be worthless: no answer is better than a guessable one.
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    bytes
}

macro_rules! draws {
    ($($(#[$doc:meta])* $draw:ident $stream:literal)*) => {
        /// The streams of random values that clients see. Each value has its own, so that draws from one shift no other.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum RandomStream {$(
            $(#[$doc])*
            $draw,
        )*}

        impl RandomStream {
            /// The streams of ids have other names: the prefixes of tokens.
            const fn stream(self) -> &'static str {
                match self {$(Self::$draw => $stream),*}
            }
        }
    };
}

draws! {
    /// The address of a challenge page.
    ChallengePage "challenge page"
    /// The key with which a webhook endpoint verifies its webhooks.
    EndpointKey "endpoint key"
    /// The key that hashes API keys and signs links.
    HashKey "hash key"
    /// A merchant's private key for a wallet.
    MerchantKey "merchant key"
    /// The id of a request outside the API, such as one for a page or a health check.
    PageRequest "page request"
    /// A publishable API key.
    PublishableKey "publishable key"
    /// The id of a request of the API.
    Request "request"
    /// A restricted API key.
    RestrictedKey "restricted key"
    /// The random part of the delay before a webhook is retried.
    Retry "retry"
    /// A secret API key.
    SecretKey "secret key"
    /// A 3-D Secure session.
    Session "session"
    /// The random part of a test device's payload.
    WalletPayload "wallet payload"
    /// The random part of a simulated provider's session.
    WalletSession "wallet session"
}

/// A source of random values: the operating system, or a seed.
#[derive(Debug, Default)]
pub struct RandomSource(Option<Seeded>);

struct Seeded {
    secret: Hkdf<Sha256>,
    /// The number of this start of a server on its database: no start repeats the draws of another.
    start: AtomicU32,
    /// The number of draws from each stream.
    drawn: Mutex<HashMap<&'static str, u64>>,
}

impl RandomSource {
    /// Creates a source that draws from a seed.
    pub fn seeded(seed: &str) -> Self {
        Self(Some(Seeded {
            secret: Hkdf::new(Some(b"CARD_PAYMENTS_SEED"), seed.as_bytes()),
            start: AtomicU32::new(0),
            drawn: Mutex::default(),
        }))
    }

    /// Returns whether the source is a seed.
    pub const fn is_seeded(&self) -> bool {
        self.0.is_some()
    }

    /// Returns a name of the seed that does not disclose it; `None` without a seed.
    pub fn fingerprint(&self) -> Option<String> {
        let seeded = self.0.as_ref()?;
        Some(URL_SAFE_NO_PAD.encode(seeded.bytes::<16>("fingerprint")))
    }

    /// Sets the number of this start.
    pub fn begin(&self, start: u32) {
        if let Some(seeded) = &self.0 {
            seeded.start.store(start, Ordering::Relaxed);
        }
    }

    /// Returns the next bytes of a stream.
    pub fn bytes<const N: usize>(&self, draw: RandomStream) -> [u8; N] {
        self.0.as_ref().map_or_else(random, |seeded| seeded.next(draw.stream()).1)
    }

    /// Returns bytes that belong to a subject, the same whenever and in whatever order they are drawn.
    pub fn bytes_of<const N: usize>(&self, draw: RandomStream, subject: &str) -> [u8; N] {
        self.0.as_ref().map_or_else(random, |seeded| seeded.bytes(&format!("{} {subject}", draw.stream())))
    }

    /// Returns 22 characters of URL-safe base64: 128 bits that cannot be guessed without the seed.
    pub fn token22(&self, draw: RandomStream) -> String {
        URL_SAFE_NO_PAD.encode(self.bytes::<16>(draw))
    }

    /// Returns an id that discloses nothing, not even its time.
    pub fn id(&self, draw: RandomStream) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes(draw)).into_uuid()
    }

    /// With a seed, returns a UUIDv7 of this time: within a stream ids ascend, and those of a later start are greater than all
    /// before. There is room for 4,096 starts; each further 4,096 count as a millisecond later.
    pub(crate) fn ordered_id(&self, stream: &'static str, millis: i64) -> Option<Uuid> {
        let seeded = self.0.as_ref()?;
        let (n, unique) = seeded.next::<4>(stream);
        let start = u64::from(seeded.start.load(Ordering::Relaxed));
        let time = u128::from((millis.unsigned_abs() + (start >> 12)) & 0xffff_ffff_ffff) << 80;
        let start = u128::from(start & 0xfff) << 64;
        let count = u128::from(n & 0x3fff_ffff) << 32;
        let (version, variant): (u128, u128) = (7 << 76, 0b10 << 62);
        Some(Uuid::from_u128(
            time | version | start | variant | count | u128::from(u32::from_be_bytes(unique)),
        ))
    }
}

/// Returns the start that drew an ordered id at this time; `None` if it is older, or no id of a seed.
pub fn start_of(id: Uuid, millis: i64) -> Option<u32> {
    /// More starts than any database has; ids without a seed are later by more than these.
    const STARTS: u128 = 1 << 20;
    let later = (id.as_u128() >> 80).checked_sub(millis.unsigned_abs().into())?;
    let start = (later << 12) | ((id.as_u128() >> 64) & 0xfff);
    u32::try_from(start).ok().filter(|_| start < STARTS)
}

impl Seeded {
    /// Returns the number of the draw, from 0, and its bytes.
    fn next<const N: usize>(&self, stream: &'static str) -> (u64, [u8; N]) {
        let n = {
            let mut drawn = lock(&self.drawn);
            let next = drawn.entry(stream).or_default();
            *next += 1;
            *next - 1
        };
        (n, self.bytes(&format!("{} {stream} {n}", self.start.load(Ordering::Relaxed))))
    }

    fn bytes<const N: usize>(&self, what: &str) -> [u8; N] {
        let mut bytes = [0; N];
        self.secret.expand(what.as_bytes(), &mut bytes).expect("no draw is as long as 255 hashes");
        bytes
    }
}

impl std::fmt::Debug for Seeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seeded(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_22_url_safe_characters_and_never_comes_twice() {
        for random in [RandomSource::default(), RandomSource::seeded("a")] {
            let token = random.token22(RandomStream::SecretKey);
            assert_eq!(token.len(), 22);
            assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
            assert_ne!(token, random.token22(RandomStream::SecretKey));
        }
    }

    #[test]
    fn a_seed_draws_the_same_again_and_another_one_something_else() {
        let draws = |seed: &str| {
            let random = RandomSource::seeded(seed);
            let bytes: Vec<[u8; 64]> = (0..3).map(|_| random.bytes(RandomStream::WalletSession)).collect();
            (
                bytes,
                random.id(RandomStream::Session),
                random.bytes_of::<2>(RandomStream::Retry, "whr_1"),
                random.fingerprint(),
            )
        };
        assert_eq!(draws("a"), draws("a"));
        let (a, b) = (draws("a"), draws("b"));
        assert!(a.0 != b.0 && a.1 != b.1 && a.2 != b.2 && a.3 != b.3);
        assert_eq!(RandomSource::default().fingerprint(), None);
    }

    #[test]
    fn draws_of_one_stream_shift_no_other() {
        let (alone, beside) = (RandomSource::seeded("a"), RandomSource::seeded("a"));
        beside.bytes::<16>(RandomStream::Request);
        beside.bytes_of::<2>(RandomStream::Retry, "whr_1");
        assert_eq!(beside.ordered_id("evt_", 1), alone.ordered_id("evt_", 1));
        assert_eq!(beside.token22(RandomStream::SecretKey), alone.token22(RandomStream::SecretKey));
        assert_ne!(alone.token22(RandomStream::SecretKey), alone.token22(RandomStream::PublishableKey));
    }

    #[test]
    fn ids_of_a_stream_grow_though_the_clock_stands_and_over_starts() {
        let random = RandomSource::seeded("a");
        let mut last = Uuid::nil();
        for start in [1, 2, 3, 4095, 4096, 4097, 8191, 8192, u32::MAX] {
            random.begin(start);
            for _ in 0..100 {
                let id = random.ordered_id("evt_", 1_767_225_600_000).unwrap();
                assert!(id > last, "{id} after {last}");
                assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
                last = id;
            }
        }
    }
}
