//! Charge (specification, Charge).

use entity::charge::{self, ChargeState, Column};
use entity::transfer::{self, TransferStatus};
use entity::{AuthorisationToken, ChargeToken, Currency, FailureCode, JsonText, Timestamp, TransferToken};
use serde::Serialize;
use utoipa::ToSchema;

use super::card::Card;
use crate::error::failure_message;

/// A charge. One column holds its state; the flags are computed from it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the specification")]
pub struct Charge {
    /// `ch_...`
    #[schema(value_type = String, example = "ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: ChargeToken,
    /// Whether the card was accepted.
    success: bool,
    /// In the currency's base unit.
    #[schema(example = 400)]
    amount: i64,
    /// ISO 4217 code.
    #[schema(value_type = String, min_length = 3, max_length = 3, example = "AUD")]
    currency: Currency,
    /// The purchase.
    #[schema(example = "test charge")]
    description: String,
    /// The purchaser's e-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The purchaser's IP address.
    #[schema(example = "203.192.1.172")]
    ip_address: String,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// `Success`, `Authorisation Voided`, `Pending`, or the reason of failure.
    #[schema(example = "Success")]
    status_message: &'static str,
    /// The reason of failure.
    #[schema(required)]
    error_message: Option<&'static str>,
    /// The card as it was charged.
    #[schema(value_type = Card)]
    card: JsonText,
    /// The transfers that paid it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<ChargeTransfer>, required)]
    transfer: Option<Vec<ChargeTransfer>>,
    /// The refunded amount.
    #[schema(example = 0)]
    amount_refunded: i64,
    /// Fees in AUD cents; null until it is captured.
    #[schema(required, example = 37)]
    total_fees: Option<i64>,
    /// The merchant's share in AUD cents; null until it is captured.
    #[schema(required, example = 363)]
    merchant_entitlement: Option<i64>,
    /// Whether a refund is pending.
    refund_pending: bool,
    /// The captured authorisation.
    #[schema(value_type = Option<String>, required)]
    authorisation_token: Option<AuthorisationToken>,
    /// Whether the authorisation expired: seven days passed without a capture.
    authorisation_expired: bool,
    /// Whether the reserved funds were released.
    authorisation_voided: bool,
    /// Whether the money was captured.
    captured: bool,
    /// The time of the capture.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    captured_at: Option<Timestamp>,
    /// The settlement currency.
    #[schema(value_type = String, min_length = 3, max_length = 3, example = "AUD")]
    settlement_currency: Currency,
    /// Whether a dispute is open.
    active_chargebacks: bool,
    /// The client's own keys and values.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: JsonText,
    /// The platform's share; present only if it was sent.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_adjustment: Option<PlatformAdjustment>,
    /// The platform's share in AUD cents, 0 until the capture; present only if it was sent.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_fees: Option<i64>,
}

/// The columns that responses show of a charge, and the transfer that has paid it out.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of the tables, by their names")]
pub struct ShownCharge {
    pub id: ChargeToken,
    pub state: ChargeState,
    pub amount: i64,
    pub currency: Currency,
    pub description: String,
    pub email: String,
    pub ip_address: String,
    pub metadata: JsonText,
    pub card: JsonText,
    pub failure: Option<FailureCode>,
    pub expires_at: Timestamp,
    pub captured_at: Option<Timestamp>,
    pub fees: i64,
    pub platform_adjustment: Option<i64>,
    pub platform_fees: i64,
    pub entitlement: i64,
    pub amount_refunded: i64,
    pub refunds_pending: i32,
    pub authorisation_id: Option<AuthorisationToken>,
    pub disputes_open: i32,
    pub created_at: Timestamp,
    pub transfer_id: Option<TransferToken>,
    pub transfer_status: Option<TransferStatus>,
    pub transfer_created_at: Option<Timestamp>,
}

impl ShownCharge {
    /// The columns of the charge's row.
    pub const COLUMNS: [Column; 21] = [
        Column::Id,
        Column::State,
        Column::Amount,
        Column::Currency,
        Column::Description,
        Column::Email,
        Column::IpAddress,
        Column::Metadata,
        Column::Card,
        Column::Failure,
        Column::ExpiresAt,
        Column::CapturedAt,
        Column::Fees,
        Column::PlatformAdjustment,
        Column::PlatformFees,
        Column::Entitlement,
        Column::AmountRefunded,
        Column::RefundsPending,
        Column::AuthorisationId,
        Column::DisputesOpen,
        Column::CreatedAt,
    ];

    fn transfer(&self) -> Option<ChargeTransfer> {
        Some(ChargeTransfer::new(self.transfer_id?, self.transfer_status?, self.transfer_created_at?))
    }
}

/// A charge without a transfer.
impl From<charge::Model> for ShownCharge {
    fn from(row: charge::Model) -> Self {
        Self {
            id: row.id,
            state: row.state,
            amount: row.amount,
            currency: row.currency,
            description: row.description,
            email: row.email,
            ip_address: row.ip_address,
            metadata: row.metadata,
            card: row.card,
            failure: row.failure,
            expires_at: row.expires_at,
            captured_at: row.captured_at,
            fees: row.fees,
            platform_adjustment: row.platform_adjustment,
            platform_fees: row.platform_fees,
            entitlement: row.entitlement,
            amount_refunded: row.amount_refunded,
            refunds_pending: row.refunds_pending,
            authorisation_id: row.authorisation_id,
            disputes_open: row.disputes_open,
            created_at: row.created_at,
            transfer_id: None,
            transfer_status: None,
            transfer_created_at: None,
        }
    }
}

/// A transfer that paid a charge out.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChargeTransfer {
    /// `paid`, or `failed` once the bank has returned it.
    #[schema(example = "paid")]
    state: &'static str,
    /// The time of the payment.
    #[schema(value_type = String, format = DateTime)]
    paid_at: Timestamp,
    /// `tfer_...`
    #[schema(value_type = String, example = "tfer_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: TransferToken,
}

impl ChargeTransfer {
    fn new(token: TransferToken, status: TransferStatus, paid_at: Timestamp) -> Self {
        let state = match status {
            TransferStatus::Succeeded => "paid",
            TransferStatus::Failed => "failed",
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
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlatformAdjustment {
    /// The amount in the charge's currency.
    amount: i64,
    /// The charge's currency.
    #[schema(value_type = String, min_length = 3, max_length = 3, example = "AUD")]
    currency: Currency,
}

impl Charge {
    /// Returns the charge as verify shows it.
    pub(super) fn without_transfer(self) -> Self {
        Self { transfer: None, ..self }
    }

    /// Returns its token.
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
        let shown = Shown::of(row.state);
        let captured = shown == Shown::Captured;
        let error_message = row.failure.map(failure_message);
        Self {
            token: row.id,
            success: matches!(shown, Shown::Authorised | Shown::Captured | Shown::Voided),
            amount: row.amount,
            currency: row.currency,
            description: row.description,
            email: row.email,
            ip_address: row.ip_address,
            created_at: row.created_at,
            status_message: match shown {
                Shown::Pending => "Pending",
                Shown::Authorised | Shown::Captured => "Success",
                Shown::Voided => "Authorisation Voided",
                Shown::Failed => error_message.unwrap_or_default(),
            },
            error_message,
            card: row.card,
            transfer: Some(transfer.into_iter().collect()),
            amount_refunded: row.amount_refunded,
            total_fees: captured.then_some(row.fees),
            merchant_entitlement: captured.then_some(row.entitlement),
            refund_pending: row.refunds_pending > 0,
            authorisation_token: row.authorisation_id,
            authorisation_expired: shown == Shown::Authorised && row.expires_at <= now,
            authorisation_voided: shown == Shown::Voided,
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
enum Shown {
    Pending,
    Authorised,
    Captured,
    Voided,
    Failed,
}

impl Shown {
    fn of(state: ChargeState) -> Self {
        match state {
            ChargeState::Pending | ChargeState::Processing => Self::Pending,
            ChargeState::Authorised | ChargeState::Capturing | ChargeState::Voiding => Self::Authorised,
            ChargeState::Captured => Self::Captured,
            ChargeState::Voided => Self::Voided,
            ChargeState::Failed => Self::Failed,
        }
    }
}
