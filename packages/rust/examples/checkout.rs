//! The payment code of a shop, and its tests. Run it with `cargo test --example checkout`.

use card_payments_testing::{Account, ApiError};
use serde_json::{Value, json};

/// What a shop does: it charges a card.
fn pay(account: &Account, amount: u64) -> Result<Value, ApiError> {
    let payment = json!({
        "email": "roland@example.com", "description": "Order", "amount": amount, "ip_address": "203.192.1.172",
        "card": {
            "number": "4200000000000000", "expiry_month": 12, "expiry_year": 2099, "cvc": "123", "name": "Roland Robot",
            "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
        },
    });
    account.request("POST", "/1/charges", &payment)
}

fn main() {
    let server = card_payments_testing::Server::start();
    let charge = pay(&server.create_account(), 400).expect("a payment");
    println!("{} {}", charge["amount"], charge["captured"]);
}

#[cfg(test)]
mod tests {
    use card_payments_testing::Server;

    use super::*;

    #[test]
    fn a_payment_is_reported_by_a_webhook() {
        let server = Server::start();
        let account = server.create_account();
        let inbox = account.open_inbox();
        let charge = pay(&account, 400).unwrap();
        assert_eq!(inbox.wait_for("charge.captured")["data"]["token"], charge["token"]);
    }

    #[test]
    fn a_declined_card_is_not_charged() {
        let server = Server::start();
        let account = server.create_account();
        account.set_faults(&json!({ "decline": "insufficient_funds" })).unwrap();
        assert_eq!(pay(&account, 400).unwrap_err().code(), "insufficient_funds");
    }

    #[test]
    fn the_money_of_a_payment_is_available_after_some_days() {
        let server = Server::start();
        let account = server.create_account();
        let available =
            || account.request("GET", "/1/balance", &Value::Null).unwrap()["available"][0]["amount"].clone();
        let before = available().as_i64().unwrap();
        pay(&account, 400).unwrap();
        assert_eq!(available(), before);
        account.move_clock(&json!({ "advance": "8d" })).unwrap();
        assert_eq!(available(), before + 363);
    }
}
