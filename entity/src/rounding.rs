//! The division of money.

/// Returns `numerator / denominator`, rounded half up, or the nearest `i64` if that is out of range.
pub fn quotient_rounded_half_up(numerator: i128, denominator: i128) -> i64 {
    debug_assert!(denominator > 0, "a quotient of money has a positive denominator");
    let doubled = numerator.saturating_mul(2).saturating_add(denominator);
    saturated(doubled.div_euclid(denominator.saturating_mul(2)))
}

/// Returns the nearest `i64`.
pub(crate) fn saturated(wide: i128) -> i64 {
    i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX })
}
