//! Currencies.

use entity::Currency;
use sea_orm::ActiveEnum;

#[test]
fn the_currencies_and_their_minimum_amounts_are_those_of_the_decisions() {
    let table: Vec<_> = Currency::ALL
        .iter()
        .map(|currency| format!("{} {}", currency.code(), currency.charge_amount_min()))
        .collect();
    assert_eq!(
        table.join(", "),
        "AUD 100, USD 100, NZD 100, SGD 100, EUR 100, GBP 50, CAD 100, HKD 1000, JPY 100, MYR 300, \
         THB 2000, PHP 3000, ZAR 1000, IDR 1000000, TWD 2500"
    );
}

#[test]
fn a_currency_is_read_in_any_letter_case_and_trimmed() {
    assert_eq!(Currency::parse(" aUd\n"), Some(Currency::Aud));
    for refused in ["", "A UD", "AUDX", "XXX", "12"] {
        assert_eq!(Currency::parse(refused), None, "{refused:?}");
    }
}

#[test]
fn only_the_yen_has_no_minor_unit() {
    let whole: Vec<_> = Currency::ALL.iter().filter(|currency| currency.minor_units() == 0).collect();
    assert_eq!(whole, [&Currency::Jpy]);
}

#[test]
fn no_two_currencies_share_a_sign() {
    let signs: std::collections::HashSet<_> = Currency::ALL.iter().map(|currency| currency.sign()).collect();
    assert_eq!(signs.len(), Currency::ALL.len());
}

#[test]
fn an_amount_has_as_many_places_as_its_currency() {
    for (currency, amount, words) in [
        (Currency::Aud, 400, "AUD 4.00"),
        (Currency::Aud, -5, "AUD -0.05"),
        (Currency::Usd, -123_456, "USD -1234.56"),
        (Currency::Jpy, 400, "JPY 400"),
        (Currency::Aud, i64::MIN, "AUD -92233720368547758.08"),
    ] {
        assert_eq!(currency.in_words(amount), words);
    }
}

#[test]
fn the_column_and_json_carry_the_code() {
    for &currency in Currency::ALL {
        assert_eq!(currency.to_value(), currency.code());
        assert_eq!(Currency::try_from_value(&currency.code().to_owned()), Ok(currency));
        let json = serde_json::to_value(currency).expect("a currency is JSON");
        assert_eq!(json, currency.code());
        assert_eq!(serde_json::from_value::<Currency>(json).ok(), Some(currency));
    }
}
