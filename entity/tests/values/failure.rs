//! Declines and failure codes.

use entity::FailureCode;
use entity::failure::Decline;

#[test]
fn a_decline_keeps_its_word_as_a_failure_code() {
    for &decline in Decline::ALL {
        assert_eq!(FailureCode::from(decline).code(), decline.code());
    }
}
