//! The states of a charge: one total table of what a void or a capture does in each (specification, States
//! and transitions, Charge; decisions 5).

use std::fmt::Write;

use entity::Timestamp;
use entity::charge::{self, ChargeState};
use entity::event::EventType;

use crate::error::ErrorCode;

/// What can be asked of a charge that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeAction {
    /// Take the reserved money.
    Capture,
    /// Return the reserved money.
    Void,
}

/// A legal move: through a state in flight, while the acquirer is asked, to where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargeTransition {
    /// While the acquirer is asked.
    pub through: ChargeState,
    /// When it has agreed. Where it refuses, the charge is authorised again.
    pub to: ChargeState,
    /// What happened then.
    pub emits: EventType,
}

/// Where a charge stands at an instant: the stored state, and the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectiveState {
    /// As stored.
    Stored(ChargeState),
    /// Authorised, and seven days have passed, whether or not anybody has noticed.
    Expired,
}

impl EffectiveState {
    /// At an instant of the account's clock.
    pub fn at(now: Timestamp, row: &charge::Model) -> Self {
        if row.state == ChargeState::Authorised && row.expires_at <= now {
            Self::Expired
        } else {
            Self::Stored(row.state)
        }
    }

    /// Every standing, for the table.
    pub fn all() -> impl Iterator<Item = Self> {
        ChargeState::ALL.iter().copied().map(Self::Stored).chain([Self::Expired])
    }
}

/// The table.
pub fn next(standing: EffectiveState, action: ChargeAction) -> Result<ChargeTransition, ErrorCode> {
    use ChargeAction::{Capture, Void};
    use ChargeState::{Authorised, Captured, Capturing, Failed, Pending, Processing, Voided, Voiding};
    use EffectiveState::{Expired, Stored};

    match (standing, action) {
        (Stored(Authorised), Capture) => {
            Ok(ChargeTransition { through: Capturing, to: Captured, emits: EventType::ChargeCaptured })
        }
        (Stored(Authorised), Void) => {
            Ok(ChargeTransition { through: Voiding, to: Voided, emits: EventType::ChargeVoided })
        }
        (Expired, Capture | Void) => Err(ErrorCode::AuthorisationExpired),
        // In flight refuses like done: the rival will most likely win.
        (Stored(Captured | Capturing), Capture | Void) => Err(ErrorCode::AlreadyCaptured),
        (Stored(Voided | Voiding), Capture | Void) => Err(ErrorCode::AlreadyVoided),
        // An attempt that the acquirer has not answered, or was not asked for, is not an authorisation yet.
        (Stored(Failed | Processing | Pending), Capture | Void) => Err(ErrorCode::BadAuthorisation),
    }
}

/// The table as text, one line a cell.
pub fn table() -> String {
    // Writing to a String cannot fail.
    let mut lines = String::new();
    for standing in EffectiveState::all() {
        for action in [ChargeAction::Capture, ChargeAction::Void] {
            let from = match standing {
                EffectiveState::Stored(state) => state.code(),
                EffectiveState::Expired => "expired",
            };
            let action_name = format!("{action:?}").to_lowercase();
            let cell = match next(standing, action) {
                Ok(ChargeTransition { through, to, emits }) => {
                    format!("{} (in flight: {}), emits {}", to.code(), through.code(), emits.code())
                }
                Err(refusal) => format!("refused: {}", refusal.code()),
            };
            let _ = writeln!(lines, "{from} + {action_name} -> {cell}");
        }
    }
    lines
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
