//! Charge (specification, Charge).

use entity::charge::{self, ChargeState, Column};
use entity::transfer::{self, ChargeTransferState, TransferStatus};
use entity::{AuthorisationToken, ChargeToken, Currency, FailureCode, JsonText, Timestamp, TransferToken};
use macros::view;
use store::record;

use crate::error::failure_message;
use crate::services::cards::view::Card;

/// A payment by card: money that was taken, or that is reserved until it is captured or voided.
#[view]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the specification")]
pub struct Charge {
    /// The charge's token, `ch_...`.
    token: ChargeToken,
    /// Whether the issuer accepted the card.
    success: bool,
    /// The amount in the currency's base unit, such as cents.
    #[schema(example = 400)]
    amount: i64,
    /// The currency of the amount, an ISO 4217 code.
    currency: Currency,
    /// What was bought, as the request described it.
    #[schema(example = "test charge")]
    description: String,
    /// The purchaser's e-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The purchaser's IP address.
    #[schema(example = "203.192.1.172")]
    ip_address: String,
    /// The time of the charge's creation.
    created_at: Timestamp,
    /// A word for people: `Success`, `Authorisation Voided`, `Pending`, or a sentence that says why the charge failed.
    #[schema(example = "Success")]
    status_message: &'static str,
    /// A sentence that says why the charge failed; null unless it did.
    error_message: Option<&'static str>,
    /// The card as it was charged.
    #[schema(value_type = Card)]
    card: JsonText,
    /// The transfers that paid the charge out to you; empty until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<ChargeTransfer>, required)]
    transfer: Option<Vec<ChargeTransfer>>,
    /// The amount that was refunded, in the currency's base unit.
    #[schema(example = 0)]
    amount_refunded: i64,
    /// The fees in AUD cents; null until the charge is captured.
    #[schema(example = 37)]
    total_fees: Option<i64>,
    /// What remains for you, in AUD cents; null until the charge is captured.
    #[schema(example = 363)]
    merchant_entitlement: Option<i64>,
    /// Whether a refund of the charge is pending.
    refund_pending: bool,
    /// The token of the authorisation that this charge captured, `auth_...`; null if there was none.
    authorisation_token: Option<AuthorisationToken>,
    /// Whether the reserved money was released because seven days passed without a capture.
    authorisation_expired: bool,
    /// Whether the reserved money was released by a void.
    authorisation_voided: bool,
    /// Whether the money was taken.
    captured: bool,
    /// The time at which the money was taken; null until then.
    captured_at: Option<Timestamp>,
    /// The currency in which the charge is paid out to you, an ISO 4217 code.
    settlement_currency: Currency,
    /// Whether a dispute of the charge is open.
    active_chargebacks: bool,
    /// Your own keys and values, as they were sent.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: JsonText,
    /// The share that was asked for the platform; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_adjustment: Option<PlatformAdjustment>,
    /// The platform's share in AUD cents, 0 until the capture; absent if none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_fees: Option<i64>,
}

macro_rules! shown_charge {
    ($($column:ident $field:ident: $type:ty,)+) => {
        /// The columns that responses show of a charge, and the transfer that has paid it out.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "the columns of the tables, by their names")]
        pub struct ShownCharge {
            $(pub $field: $type,)+
            pub transfer_id: Option<TransferToken>,
            pub transfer_status: Option<TransferStatus>,
            pub transfer_created_at: Option<Timestamp>,
        }

        impl ShownCharge {
            /// The columns of the charge's row.
            pub const COLUMNS: [Column; 21] = [$(Column::$column),+];
        }

        record!(ShownCharge { $($field,)+ transfer_id, transfer_status, transfer_created_at, });

        /// A charge without a transfer.
        impl From<charge::Model> for ShownCharge {
            fn from(row: charge::Model) -> Self {
                Self {
                    $($field: row.$field,)+
                    transfer_id: None,
                    transfer_status: None,
                    transfer_created_at: None,
                }
            }
        }
    };
}

shown_charge! {
    Id id: ChargeToken,
    State state: ChargeState,
    Amount amount: i64,
    Currency currency: Currency,
    Description description: String,
    Email email: String,
    IpAddress ip_address: String,
    Metadata metadata: JsonText,
    Card card: JsonText,
    Failure failure: Option<FailureCode>,
    ExpiresAt expires_at: Timestamp,
    CapturedAt captured_at: Option<Timestamp>,
    Fees fees: i64,
    PlatformAdjustment platform_adjustment: Option<i64>,
    PlatformFees platform_fees: i64,
    Entitlement entitlement: i64,
    AmountRefunded amount_refunded: i64,
    RefundsPending refunds_pending: i32,
    AuthorisationId authorisation_id: Option<AuthorisationToken>,
    DisputesOpen disputes_open: i32,
    CreatedAt created_at: Timestamp,
}

impl ShownCharge {
    fn transfer(&self) -> Option<ChargeTransfer> {
        Some(ChargeTransfer::new(self.transfer_id?, self.transfer_status?, self.transfer_created_at?))
    }
}

/// A transfer that paid a charge out.
#[view]
pub struct ChargeTransfer {
    /// Whether the money was paid.
    state: ChargeTransferState,
    /// The time of the transfer.
    paid_at: Timestamp,
    /// The transfer's token, `tfer_...`.
    token: TransferToken,
}

impl ChargeTransfer {
    fn new(token: TransferToken, status: TransferStatus, paid_at: Timestamp) -> Self {
        let state = match status {
            TransferStatus::Succeeded => ChargeTransferState::Paid,
            TransferStatus::Failed => ChargeTransferState::Failed,
        };
        Self { state, paid_at, token }
    }
}

impl From<&transfer::Model> for ChargeTransfer {
    fn from(row: &transfer::Model) -> Self {
        Self::new(row.id, row.status, row.created_at)
    }
}

/// The platform's share of a charge.
#[view]
pub struct PlatformAdjustment {
    /// The share in the base unit of the charge's currency.
    amount: i64,
    /// The currency of the charge, an ISO 4217 code.
    currency: Currency,
}

impl Charge {
    /// Returns the charge as verify shows it.
    #[must_use]
    pub fn without_transfer(self) -> Self {
        Self { transfer: None, ..self }
    }

    pub fn token(&self) -> ChargeToken {
        self.token
    }

    /// Adds the transfer that has paid the charge out.
    #[must_use]
    pub fn paid_out_by(mut self, transfer: Option<&transfer::Model>) -> Self {
        self.transfer = Some(transfer.map(ChargeTransfer::from).into_iter().collect());
        self
    }

    /// Returns a charge at an instant of the account's clock.
    pub fn at(now: Timestamp, row: impl Into<ShownCharge>) -> Self {
        let row = row.into();
        let transfer = row.transfer();
        let shown = ShownState::from_state(row.state);
        let captured = shown == ShownState::Captured;
        let error_message = row.failure.map(failure_message);
        Self {
            token: row.id,
            success: matches!(shown, ShownState::Authorised | ShownState::Captured | ShownState::Voided),
            amount: row.amount,
            currency: row.currency,
            description: row.description,
            email: row.email,
            ip_address: row.ip_address,
            created_at: row.created_at,
            status_message: match shown {
                ShownState::Pending => "Pending",
                ShownState::Authorised | ShownState::Captured => "Success",
                ShownState::Voided => "Authorisation Voided",
                ShownState::Failed => error_message.unwrap_or_default(),
            },
            error_message,
            card: row.card,
            transfer: Some(transfer.into_iter().collect()),
            amount_refunded: row.amount_refunded,
            total_fees: captured.then_some(row.fees),
            merchant_entitlement: captured.then_some(row.entitlement),
            refund_pending: row.refunds_pending > 0,
            authorisation_token: row.authorisation_id,
            authorisation_expired: row.state == ChargeState::Authorised && row.expires_at <= now,
            authorisation_voided: shown == ShownState::Voided,
            captured,
            captured_at: row.captured_at,
            settlement_currency: Currency::Aud,
            active_chargebacks: row.disputes_open > 0,
            metadata: row.metadata,
            platform_adjustment: row
                .platform_adjustment
                .map(|amount| PlatformAdjustment { amount, currency: row.currency }),
            platform_fees: row.platform_adjustment.map(|_| if captured { row.platform_fees } else { 0 }),
        }
    }
}

/// The state that a client sees: one in flight shows as the one before (`docs/decisions.md`, 125).
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownState {
    Pending,
    Authorised,
    Captured,
    Voided,
    Failed,
}

impl ShownState {
    fn from_state(state: ChargeState) -> Self {
        match state {
            ChargeState::Pending | ChargeState::Processing => Self::Pending,
            ChargeState::Authorised | ChargeState::Capturing | ChargeState::Voiding => Self::Authorised,
            ChargeState::Captured => Self::Captured,
            ChargeState::Voided => Self::Voided,
            ChargeState::Failed => Self::Failed,
        }
    }
}
