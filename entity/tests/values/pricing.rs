//! Fees.

use entity::pricing::{NotAPercentage, Percentage, Pricing, PricingRow};
use entity::{Currency, Scheme};
use proptest::prelude::*;

fn percentage(parts_per_million: u32) -> Percentage {
    format!("{}.{:04}", parts_per_million / 10_000, parts_per_million % 10_000).parse().unwrap()
}

fn default_fee(amount: i64, currency: Currency, issuing_country: &str) -> i64 {
    Pricing::default().fee_rounded_half_up(amount, currency, issuing_country, Scheme::Visa)
}

#[test]
fn a_domestic_charge_costs_thirty_cents_and_1_75_per_cent() {
    for (amount, fee) in [(100, 32), (2_000, 65), (3_550, 92), (50_000, 905)] {
        assert_eq!(default_fee(amount, Currency::Aud, "AU"), fee, "of {amount}");
    }
}

#[test]
fn a_foreign_card_or_currency_costs_thirty_cents_and_2_9_per_cent() {
    assert_eq!(default_fee(10_000, Currency::Aud, "NZ"), 320);
    assert_eq!(default_fee(10_000, Currency::Usd, "AU"), 320);
    assert_eq!(default_fee(10_000, Currency::Usd, "US"), 320);
}

#[test]
fn each_kind_of_charge_has_its_own_row() {
    let row = |fixed_fee| PricingRow { fixed_fee, percentage_fee: percentage(0) };
    let pricing = Pricing {
        domestic_currency_domestic_card_core: row(1),
        domestic_currency_domestic_card_premium: row(2),
        domestic_currency_foreign_card_core: row(3),
        domestic_currency_foreign_card_premium: row(4),
        foreign_currency_core: row(5),
        foreign_currency_premium: row(6),
    };
    let mut fees = Vec::new();
    for (currency, country) in
        [(Currency::Aud, "AU"), (Currency::Aud, "US"), (Currency::Jpy, "AU"), (Currency::Jpy, "US")]
    {
        for scheme in [Scheme::Jcb, Scheme::AmericanExpress] {
            fees.push(pricing.fee_rounded_half_up(9_999, currency, country, scheme));
        }
    }
    assert_eq!(fees, [1, 2, 3, 4, 5, 6, 5, 6]);
}

#[test]
fn pricing_has_the_shape_of_the_specification() {
    let json = serde_json::to_string(&Pricing::default()).expect("pricing is JSON");
    assert!(
        json.starts_with(
            r#"{"domestic_currency_domestic_card_core":{"fixed_fee":30,"percentage_fee":"1.75"},"#
        )
    );
    assert!(json.ends_with(r#""foreign_currency_premium":{"fixed_fee":30,"percentage_fee":"2.9"}}"#));
    assert_eq!(serde_json::from_str::<Pricing>(&json).ok(), Some(Pricing::default()));
}

#[test]
fn a_percentage_is_written_without_needless_zeros() {
    for (text, written) in
        [("1.75", "1.75"), ("2.90", "2.9"), ("3.0", "3"), ("0", "0"), ("100", "100"), ("0.0001", "0.0001")]
    {
        assert_eq!(
            text.parse::<Percentage>().map(|percentage| percentage.to_string()),
            Ok(written.to_owned())
        );
    }
}

#[test]
fn a_text_that_is_no_percentage_is_refused() {
    for text in [
        "", ".", "1.", ".5", "-1", "+1", "1,75", "1.75%", "1e1", "100.0001", "101", "1.00001", "1.2.3", " 1",
        "٣",
    ] {
        assert_eq!(text.parse::<Percentage>(), Err(NotAPercentage), "{text:?}");
    }
}

prop_compose! {
    fn percentages()(parts_per_million in 0_u32..=1_000_000) -> Percentage {
        percentage(parts_per_million)
    }
}

fn fee(amount: i64, fixed_fee: i64, percentage_fee: Percentage) -> i64 {
    let row = PricingRow { fixed_fee, percentage_fee };
    Pricing { domestic_currency_domestic_card_core: row, ..Pricing::default() }.fee_rounded_half_up(
        amount,
        Currency::Aud,
        "AU",
        Scheme::Visa,
    )
}

proptest! {
    #[test]
    fn a_percentage_reads_what_it_writes(percentage in percentages()) {
        prop_assert_eq!(percentage.to_string().parse(), Ok(percentage));
    }

    #[test]
    fn a_larger_amount_never_costs_less(
        percentage in percentages(),
        amounts in (0_i64..1_000_000_000_000, 0_i64..1_000_000_000_000),
    ) {
        let (small, large) = (amounts.0.min(amounts.1), amounts.0.max(amounts.1));
        prop_assert!(fee(small, 30, percentage) <= fee(large, 30, percentage));
    }

    #[test]
    fn a_fee_never_exceeds_its_share_by_a_whole_cent(
        parts_per_million in 0_u32..=1_000_000,
        amount in 0_i64..1_000_000_000_000,
        fixed_fee in 0_i64..10_000,
    ) {
        let share = i128::from(amount) * i128::from(parts_per_million) / 1_000_000;
        prop_assert!(i128::from(fee(amount, fixed_fee, percentage(parts_per_million))) <= share + 1 + i128::from(fixed_fee));
    }

    /// The exact share lies at most half a cent above the rounded one, and less than half a cent below.
    #[test]
    fn a_fee_is_the_nearest_cent_to_the_exact_share(
        parts_per_million in 0_u32..=1_000_000,
        amount in 0_i64..1_000_000_000_000,
    ) {
        let exact_millionths = i128::from(amount) * i128::from(parts_per_million);
        let rounded_millionths = i128::from(fee(amount, 0, percentage(parts_per_million))) * 1_000_000;
        let error = rounded_millionths - exact_millionths;
        prop_assert!(-500_000 < error && error <= 500_000, "off by {} millionths of a cent", error);
    }
}
