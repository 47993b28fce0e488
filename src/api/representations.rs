//! A file that clients may cache: compressed as the client accepts, with an ETag for each coding, and 304 while it is
//! unchanged.

use std::io::Read;
use std::sync::OnceLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use sha2::{Digest, Sha256};

/// The codings of a response, in order of preference: of those that a client accepts equally, the later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Brotli,
}

/// The file in each offered coding. A coding is created for the first client that asks for it, and kept.
#[derive(Debug)]
pub struct Representations {
    content_type: &'static str,
    offered: &'static [Coding],
    identity: OnceLock<Representation>,
    gzip: OnceLock<Representation>,
    brotli: OnceLock<Representation>,
}

#[derive(Debug)]
struct Representation {
    bytes: Bytes,
    etag: String,
}

impl Representations {
    /// Creates a file from uncompressed bytes.
    pub fn new(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let mut this = Self::empty(content_type, &[Coding::Identity, Coding::Gzip, Coding::Brotli]);
        this.identity = OnceLock::from(Representation::new(bytes.into()));
        this
    }

    /// Creates a file from gzip bytes; a client that does not accept gzip gets it uncompressed.
    pub fn from_gzip(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let mut this = Self::empty(content_type, &[Coding::Identity, Coding::Gzip]);
        this.gzip = OnceLock::from(Representation::new(bytes.into()));
        this
    }

    fn empty(content_type: &'static str, offered: &'static [Coding]) -> Self {
        let [identity, gzip, brotli] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];
        Self { content_type, offered, identity, gzip, brotli }
    }

    /// Answers a GET or HEAD with these headers. Compression may take tens of milliseconds.
    pub fn respond(&self, headers: &HeaderMap) -> Response {
        let coding = Coding::negotiate(headers, self.offered);
        let Representation { bytes, etag } = self.get(coding);
        let kept = [
            (header::ETAG, etag.as_str()),
            (header::VARY, "accept-encoding"),
            // A client may keep it, but revalidates each time.
            (header::CACHE_CONTROL, "no-cache"),
        ];
        if has(headers, etag) {
            return (StatusCode::NOT_MODIFIED, kept).into_response();
        }
        let encoding = coding.name().map(|name| [(header::CONTENT_ENCODING, name)]);
        (kept, [(header::CONTENT_TYPE, self.content_type)], encoding, bytes.clone()).into_response()
    }

    /// Returns the file in a coding. Identity or gzip is present from the beginning.
    fn get(&self, coding: Coding) -> &Representation {
        match coding {
            Coding::Identity => self
                .identity
                .get_or_init(|| Representation::read(GzDecoder::new(&*self.get(Coding::Gzip).bytes))),
            Coding::Gzip => self.gzip.get_or_init(|| {
                let original = &*self.get(Coding::Identity).bytes;
                Representation::read(GzEncoder::new(original, Compression::best()))
            }),
            Coding::Brotli => {
                self.brotli.get_or_init(|| Representation::new(brotli(&self.get(Coding::Identity).bytes)))
            }
        }
    }
}

impl Representation {
    fn new(bytes: Bytes) -> Self {
        let etag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(&bytes)[..16]));
        Self { bytes, etag }
    }

    fn read(mut coded: impl Read) -> Self {
        let mut bytes = Vec::new();
        coded.read_to_end(&mut bytes).expect("what is read is whole and in memory");
        Self::new(bytes.into())
    }
}

fn brotli(mut original: &[u8]) -> Bytes {
    // A fifth smaller than gzip, in 20 ms; the best quality would take a second for another tenth.
    let params = BrotliEncoderParams { quality: 5, size_hint: original.len(), ..Default::default() };
    let mut coded = Vec::new();
    brotli::BrotliCompress(&mut original, &mut coded, &params).expect("memory can be read and written");
    coded.into()
}

impl Coding {
    /// Chooses the coding that the client prefers by its Accept-Encoding. A client that accepts none of those offered
    /// gets the file uncompressed (RFC 9110, 12.5.3).
    fn negotiate(headers: &HeaderMap, offered: &[Self]) -> Self {
        let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let accepted: Vec<_> = values.flat_map(|value| value.split(',')).filter_map(preference).collect();
        let quality = |coding: Self| {
            let of = |name: &str| accepted.iter().find(|(named, _)| named.eq_ignore_ascii_case(name));
            let named = match coding {
                Self::Identity => of("identity"),
                Self::Gzip => of("gzip").or_else(|| of("x-gzip")),
                Self::Brotli => of("br"),
            };
            // An unnamed coding is not accepted, except identity, which ranks below all named ones.
            let unnamed = if coding == Self::Identity { 0.0001 } else { 0.0 };
            named.or_else(|| of("*")).map_or(unnamed, |(_, quality)| *quality)
        };
        let liked =
            offered.iter().map(|coding| (quality(*coding), *coding)).filter(|(quality, _)| *quality > 0.0);
        liked.max_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(Self::Identity, |(_, coding)| coding)
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
        }
    }
}

/// Parses a member of Accept-Encoding: the coding's name and its weight. An unreadable member is ignored.
fn preference(member: &str) -> Option<(&str, f64)> {
    let (name, weight) = member.split_once(';').unwrap_or((member, "q=1"));
    let weight =
        weight.trim().strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('=')?.trim().parse().ok()?;
    let name = name.trim();
    (!name.is_empty() && (0.0..=1.0).contains(&weight)).then_some((name, weight))
}

/// Returns whether the client has this representation: If-None-Match names its ETag, weakly or not, or is `*`.
fn has(headers: &HeaderMap, etag: &str) -> bool {
    let values =
        headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value: &HeaderValue| value.to_str().ok());
    // Our ETags have no comma and end in a quote, so no part of another ETag matches.
    let mut named = values.flat_map(|value| value.split(',')).map(str::trim);
    named.any(|named| named == "*" || named.strip_prefix("W/").unwrap_or(named) == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_the_coding_that_it_prefers() {
        for (accepted, coding) in [
            (&["gzip, deflate, br, zstd"] as &[&str], Coding::Brotli),
            (&["gzip"], Coding::Gzip),
            (&["x-GZIP ; Q=0.5"], Coding::Gzip),
            (&["br;q=0.5, gzip;q=0.9"], Coding::Gzip),
            (&["br;q=0.5", "gzip;q=0.4"], Coding::Brotli),
            (&["identity, gzip;q=0.5"], Coding::Identity),
            (&["gzip;q=0.001"], Coding::Gzip),
            (&["*"], Coding::Brotli),
            (&["*, br;q=0"], Coding::Gzip),
            (&["gzip;q=0, br;q=0"], Coding::Identity),
            (&["*;q=0"], Coding::Identity),
            (&["identity;q=0"], Coding::Identity),
            (&["deflate, zstd"], Coding::Identity),
            (&["gzip;q=2, br;q=x, ;q=1"], Coding::Identity),
            (&[""], Coding::Identity),
            (&[], Coding::Identity),
        ] {
            let mut headers = HeaderMap::new();
            for value in accepted {
                headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            let all = [Coding::Identity, Coding::Gzip, Coding::Brotli];
            assert_eq!(Coding::negotiate(&headers, &all), coding, "{accepted:?}");
        }
    }

    #[test]
    fn a_client_has_what_its_if_none_match_names() {
        let etag = "\"abc\"";
        for (value, is_had) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("*", true),
            ("\"ab\"", false),
            ("abc", false),
            ("\"*\"", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(value))]);
            assert_eq!(has(&headers, etag), is_had, "{value}");
        }
        assert!(!has(&HeaderMap::new(), etag));
    }
}
