//! Words for test cards, so that files and tools need no numbers.

use serde_json::{Value, json};

/// The word for a card that is always accepted.
pub const ACCEPTED: &str = "accepted";

const CARDS: [(&str, &str); 8] = [
    (ACCEPTED, "4200000000000000"),
    ("mastercard", "5520000000000000"),
    ("american_express", "372000000000000"),
    ("foreign", "4242424242424242"),
    ("declined", "4100000000000001"),
    ("insufficient_funds", "4000000000000002"),
    ("disputed", "4200300000000012"),
    ("refunds_fail", "4200700000000013"),
];

pub fn words() -> [&'static str; CARDS.len()] {
    CARDS.map(|(word, _)| word)
}

pub fn number(word: &str) -> Option<&'static str> {
    CARDS.iter().find(|(known, _)| *known == word).map(|(_, number)| *number)
}

pub fn card(number: &str, holder: &str) -> Value {
    let cvc = if number.len() == 15 { "1234" } else { "123" };
    json!({
        "number": number, "expiry_month": 12, "expiry_year": 2099, "cvc": cvc, "name": holder,
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
    })
}
