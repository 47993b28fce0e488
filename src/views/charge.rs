//! Charge (specification, Charge).

use entity::charge::{self, ChargeState, Column};
use entity::transfer::{self, TransferStatus};
use entity::{AuthorisationToken, ChargeToken, Currency, FailureCode, JsonText, Timestamp, TransferToken};
use macros::view;

use super::card::Card;
use crate::error::failure_message;

/// A charge. Its flags are computed from the one column that says where it stands.
#[view]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the specification")]
pub struct Charge {
    /// `ch_...`
    token: ChargeToken,
    /// Whether the card was accepted.
    success: bool,
    /// In the currency's base unit.
    #[schema(example = 400)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// What was bought.
    #[schema(example = "test charge")]
    description: String,
    /// The purchaser's e-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The purchaser's address.
    #[schema(example = "203.192.1.172")]
    ip_address: String,
    /// When it was made.
    created_at: Timestamp,
    /// `Success`, `Authorisation Voided`, `Pending`, or why it failed.
    #[schema(example = "Success")]
    status_message: &'static str,
    /// Why it failed.
    error_message: Option<&'static str>,
    /// The card as it was charged.
    #[schema(value_type = Card)]
    card: JsonText,
    /// The transfers that paid it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<ChargeTransfer>, required)]
    transfer: Option<Vec<ChargeTransfer>>,
    /// Refunded so far.
    #[schema(example = 0)]
    amount_refunded: i64,
    /// Fees in AUD cents; null while it is not captured.
    #[schema(example = 37)]
    total_fees: Option<i64>,
    /// What the merchant gets, in AUD cents; null while it is not captured.
    #[schema(example = 363)]
    merchant_entitlement: Option<i64>,
    /// Whether a refund is pending.
    refund_pending: bool,
    /// The authorisation it captured.
    authorisation_token: Option<AuthorisationToken>,
    /// Whether seven days passed without a capture.
    authorisation_expired: bool,
    /// Whether the reserved funds were returned.
    authorisation_voided: bool,
    /// Whether the money was taken.
    captured: bool,
    /// When the money was taken.
    captured_at: Option<Timestamp>,
    /// The currency it is settled in.
    settlement_currency: Currency,
    /// Whether a dispute is open.
    active_chargebacks: bool,
    /// The caller's own keys and values.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: JsonText,
    /// The platform's share; shown only where one was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_adjustment: Option<PlatformAdjustment>,
    /// The platform's share in AUD cents, 0 until captured; shown only where one was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_fees: Option<i64>,
}

macro_rules! shown_charge {
    ($($column:ident $field:ident: $type:ty,)+) => {
        /// What answers show of a charge: of its row, and of the transfer that has paid it out.
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

        /// No transfer has paid it out.
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
    /// `paid`, or `failed` once the bank has sent it back.
    #[schema(example = "paid")]
    state: &'static str,
    /// When.
    paid_at: Timestamp,
    /// `tfer_...`
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
#[view]
pub struct PlatformAdjustment {
    /// In the charge's currency.
    amount: i64,
    /// The charge's.
    currency: Currency,
}

impl Charge {
    /// As verify shows it.
    pub(super) fn without_transfer(self) -> Self {
        Self { transfer: None, ..self }
    }

    /// Its token.
    pub fn token(&self) -> ChargeToken {
        self.token
    }

    /// The same charge, paid out by a transfer.
    #[must_use]
    pub fn paid_out_by(mut self, transfer: Option<&transfer::Model>) -> Self {
        self.transfer = Some(transfer.map(ChargeTransfer::from).into_iter().collect());
        self
    }

    /// A charge as it stands at an instant of the account's clock.
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

/// What a caller sees of the state: one in flight shows as the one before (decisions 5).
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
