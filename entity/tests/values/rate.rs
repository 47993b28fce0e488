//! Exchange rates.

use entity::{Currency, Rate};
use proptest::prelude::*;

fn currencies() -> impl Strategy<Value = Currency> {
    proptest::sample::select(Currency::ALL)
}

#[test]
fn an_amount_in_aud_settles_for_itself() {
    for amount in [0, 1, 100, i64::MAX] {
        assert_eq!(Rate::AUD.settle_rounded_half_up(amount, Currency::Aud), amount);
    }
}

#[test]
fn half_a_cent_goes_up() {
    let dollar_fifty = Rate::from_millionths(1_500_000);
    assert_eq!(dollar_fifty.settle_rounded_half_up(1, Currency::Usd), 2);
    assert_eq!(dollar_fifty.settle_rounded_half_up(101, Currency::Usd), 152);
    let baht = Rate::from_millionths(45_000);
    assert_eq!(baht.settle_rounded_half_up(2_010, Currency::Thb), 90);
    assert_eq!(baht.settle_rounded_half_up(2_011, Currency::Thb), 90);
    assert_eq!(baht.settle_rounded_half_up(2_012, Currency::Thb), 91);
}

#[test]
fn a_yen_is_a_whole_unit() {
    assert_eq!(Rate::from_millionths(10_000).settle_rounded_half_up(100, Currency::Jpy), 100);
}

#[test]
fn an_amount_that_is_too_large_saturates_and_never_wraps() {
    let dear = Rate::from_millionths(i64::MAX);
    assert_eq!(dear.settle_rounded_half_up(i64::MAX, Currency::Jpy), i64::MAX);
    assert_eq!(Rate::from_millionths(0).amount_max(Currency::Idr, 1), i64::MAX);
}

proptest! {
    #[test]
    fn the_largest_amount_settles_within_the_maximum_and_the_next_does_not(
        millionths in 1_i64..10_000_000,
        currency in currencies(),
        cents_max in 0_i64..1_000_000_000,
    ) {
        let rate = Rate::from_millionths(millionths);
        let amount = rate.amount_max(currency, cents_max);
        prop_assert!(rate.settle_rounded_half_up(amount, currency) <= cents_max);
        prop_assert!(rate.settle_rounded_half_up(amount + 1, currency) > cents_max);
    }

    #[test]
    fn a_larger_amount_never_settles_for_less(
        millionths in 0_i64..i64::MAX,
        currency in currencies(),
        amounts in (0_i64..i64::MAX, 0_i64..i64::MAX),
    ) {
        let rate = Rate::from_millionths(millionths);
        let (small, large) = (amounts.0.min(amounts.1), amounts.0.max(amounts.1));
        prop_assert!(rate.settle_rounded_half_up(small, currency) <= rate.settle_rounded_half_up(large, currency));
    }
}
