//! The division of money.

use entity::quotient_rounded_half_up;

#[test]
fn a_half_goes_up_and_less_than_a_half_goes_down() {
    for (numerator, quotient) in [(0, 0), (4, 0), (5, 1), (14, 1), (15, 2), (-5, 0), (-6, -1)] {
        assert_eq!(quotient_rounded_half_up(numerator, 10), quotient, "{numerator} / 10");
    }
}

#[test]
fn a_number_that_is_too_wide_saturates() {
    assert_eq!(quotient_rounded_half_up(i128::MAX, 1_000_000), i64::MAX);
    assert_eq!(quotient_rounded_half_up(i128::MIN, 1_000_000), i64::MIN);
}
