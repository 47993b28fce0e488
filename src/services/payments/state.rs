//! The states of a charge: one total table of the result of a void or a capture in each (specification, States and
//! transitions, Charge).

use base::mutants::{self, Mutant};
use entity::charge::{self, ChargeState};
use entity::event::EventType;
use entity::{TimeSpan, Timestamp};

use crate::error::ErrorCode;
use crate::services::state_table;

/// An action on an existing charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeAction {
    /// Takes the reserved money.
    Capture,
    /// Returns the reserved money.
    Void,
}

/// A legal transition: through a state in flight, during the acquirer call, to its final state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargeTransition {
    /// The state during the acquirer call.
    pub through: ChargeState,
    /// The state after approval. If the acquirer refuses, the charge is authorised again.
    pub to: ChargeState,
    pub emits: EventType,
}

/// The state of a charge at an instant: the stored state, and the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectiveState {
    Stored(ChargeState),
    /// Authorised more than seven days ago, even if no worker has processed it (`docs/decisions.md`, 128).
    Expired,
}

impl EffectiveState {
    /// Returns the state at an instant of the account's clock.
    pub fn at(now: Timestamp, row: &charge::Model) -> Self {
        let latest = if mutants::is(Mutant::ExpiryOffByOne) { now - TimeSpan::from_millis(1) } else { now };
        if row.state == ChargeState::Authorised && row.expires_at <= latest {
            Self::Expired
        } else {
            Self::Stored(row.state)
        }
    }

    /// Returns every state, for the table.
    pub fn all() -> impl Iterator<Item = Self> {
        ChargeState::ALL.iter().copied().map(Self::Stored).chain([Self::Expired])
    }
}

/// Returns the transition of an action in a state, or its refusal.
pub fn next(effective: EffectiveState, action: ChargeAction) -> Result<ChargeTransition, ErrorCode> {
    use ChargeAction::{Capture, Void};
    use ChargeState::{Authorised, Captured, Capturing, Failed, Pending, Processing, Voided, Voiding};
    use EffectiveState::{Expired, Stored};

    state_table::reach("charge", effective, action);
    match (effective, action) {
        (Stored(Captured), Capture) if mutants::is(Mutant::CapturedAgain) => next(Stored(Authorised), action),
        (Stored(Authorised), Capture) => {
            Ok(ChargeTransition { through: Capturing, to: Captured, emits: EventType::ChargeCaptured })
        }
        (Stored(Authorised), Void) => {
            Ok(ChargeTransition { through: Voiding, to: Voided, emits: EventType::ChargeVoided })
        }
        (Expired, Capture | Void) => Err(ErrorCode::AuthorisationExpired),
        // An action in flight refuses like a finished one: it will most likely succeed.
        (Stored(Captured | Capturing), Capture | Void) => Err(ErrorCode::AlreadyCaptured),
        (Stored(Voided | Voiding), Capture | Void) => Err(ErrorCode::AlreadyVoided),
        // An attempt without the acquirer's answer, or without a call yet, is not an authorisation.
        (Stored(Failed | Processing | Pending), Capture | Void) => Err(ErrorCode::BadAuthorisation),
    }
}

/// Returns the table as text, one line a cell.
pub fn table() -> String {
    state_table::draw(
        EffectiveState::all(),
        &[ChargeAction::Capture, ChargeAction::Void],
        |effective, action| {
            let from = match effective {
                EffectiveState::Stored(state) => state.code(),
                EffectiveState::Expired => "expired",
            };
            let cell = match next(effective, action) {
                Ok(ChargeTransition { through, to, emits }) => {
                    format!("{} (in flight: {}), emits {}", to.code(), through.code(), emits.code())
                }
                Err(refusal) => format!("refused: {}", refusal.code()),
            };
            Some(format!("{from} + {} -> {cell}", format!("{action:?}").to_lowercase()))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_specifications() {
        let expected = "\
pending + capture -> refused: bad_authorisation
pending + void -> refused: bad_authorisation
processing + capture -> refused: bad_authorisation
processing + void -> refused: bad_authorisation
authorised + capture -> captured (in flight: capturing), emits charge.captured
authorised + void -> voided (in flight: voiding), emits charge.voided
capturing + capture -> refused: already_captured
capturing + void -> refused: already_captured
voiding + capture -> refused: already_voided
voiding + void -> refused: already_voided
captured + capture -> refused: already_captured
captured + void -> refused: already_captured
voided + capture -> refused: already_voided
voided + void -> refused: already_voided
failed + capture -> refused: bad_authorisation
failed + void -> refused: bad_authorisation
expired + capture -> refused: authorisation_expired
expired + void -> refused: authorisation_expired
";
        assert_eq!(table(), expected);
    }
}
