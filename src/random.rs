//! The one source of chance: the operating system.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Unpredictable bytes.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without chance every key and nonce would be worthless: no answer is better than a guessable one.
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    bytes
}

/// 22 characters of URL-safe base64: 128 bits that nobody guesses.
pub fn token22() -> String {
    URL_SAFE_NO_PAD.encode(random::<16>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_22_url_safe_characters_and_never_comes_twice() {
        let token = token22();
        assert_eq!(token.len(), 22);
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
        assert_ne!(token, token22());
    }
}
