//! The division of money.

/// Returns `numerator / denominator`, rounded half up, or the nearest `i64` if that is out of range.
pub(crate) fn quotient_rounded_half_up(numerator: i128, denominator: i128) -> i64 {
    debug_assert!(denominator > 0, "a quotient of money has a positive denominator");
    let doubled = numerator.saturating_mul(2).saturating_add(denominator);
    saturated(doubled.div_euclid(denominator.saturating_mul(2)))
}

/// Returns the nearest `i64`.
pub(crate) fn saturated(wide: i128) -> i64 {
    i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
