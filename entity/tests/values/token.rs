//! Tokens.

use entity::token::MalformedToken;
use entity::{CardToken, ChargeToken};
use uuid::Uuid;

#[test]
fn a_token_is_its_prefix_and_22_characters() {
    let text = ChargeToken::new(Uuid::from_bytes([0xff; 16])).to_string();
    assert_eq!(text, "ch______________________w");
    assert_eq!(text.len(), 3 + 22);
}

#[test]
fn a_token_reads_back_as_the_same_id() {
    let token = ChargeToken::new(Uuid::from_u128(42));
    assert_eq!(token.to_string().parse(), Ok(token));
}

#[test]
fn every_malformed_token_is_refused() {
    let good = CardToken::new(Uuid::from_u128(7)).to_string();
    let mut unused_bits = good.clone();
    unused_bits.replace_range(unused_bits.len() - 1.., "x");
    let wrong_kind = ChargeToken::new(Uuid::from_u128(7)).to_string();
    for bad in [
        "",
        "card_",
        "card_abc",
        &good[..good.len() - 1],
        &format!("{good}A"),
        &format!("{good}=="),
        &format!(" {good}"),
        &unused_bits,
        &wrong_kind,
        &good.replace("card_", "CARD_"),
        "card_++++++++++++++++++++++",
    ] {
        assert_eq!(bad.parse::<CardToken>(), Err(MalformedToken), "{bad}");
    }
}
