//! The tables: rows, states and typed column values, without rules.
//!
//! `account_id` is the account that owns a row. Times are by the account's clock unless a column says otherwise. An amount is
//! in the base unit of the row's `currency`, or in AUD cents if the row has none. A column `..._sealed` is a ciphertext, by
//! the data key whose id is in `sealed_by` (`docs/decisions.md`, 108).

#[macro_use]
pub mod string_enum;
#[macro_use]
mod table;

pub mod account;
mod acquirer_faults;
pub mod api_key;
pub mod audit_entry;
pub mod bank_account;
pub mod card;
pub mod card_attack;
pub mod challenge_page;
pub mod charge;
pub mod counter;
pub mod currency;
pub mod customer;
pub mod deposit;
pub mod dispute;
pub mod erasure;
pub mod event;
pub mod failure;
pub mod file;
mod idempotency;
pub mod inbox;
pub mod installation;
pub mod key_use;
mod ledger;
pub mod logged_request;
pub mod merchant;
pub mod person;
pub mod plan;
pub mod pricing;
pub mod provider_state;
mod rate;
pub mod recipient;
pub mod reconciliation;
pub mod refund;
mod rounding;
mod scheme;
pub mod section;
pub mod snapshot;
pub mod subscription;
pub mod subscription_entry;
mod text;
pub mod three_d_secure;
mod timestamp;
pub mod token;
pub mod transfer;
mod wallet;
pub mod webhook;
pub mod webhook_endpoint;

pub use acquirer_faults::{AcquirerFaults, InvalidProbability, Probability};
pub use currency::Currency;
pub use dispute::{dispute_activity, evidence, scheduled_dispute};
pub use event::event_sequence;
pub use failure::FailureCode;
pub use file::stray_blob;
pub use idempotency::{idempotency_answer, idempotency_key};
pub use inbox::inbox_delivery;
pub use installation::vault_key;
pub use ledger::{balance, journal_entry, posting};
pub use person::{approval, ended_session, person_session};
pub use rate::Rate;
pub use reconciliation::{reconciliation_exception, statement, statement_line};
pub use rounding::quotient_rounded_half_up;
pub use scheme::Scheme;
pub use snapshot::{snapshot_file, snapshot_part};
pub use table::{Listed, Owned};
pub use text::JsonText;
pub use timestamp::{Day, TimeSpan, Timestamp};
pub use token::{
    AccountToken, ApiKeyToken, AuthorisationToken, BankAccountToken, CardToken, ChargeToken, CustomerToken,
    DepositToken, DisputeActivityToken, DisputeToken, EventToken, ExceptionToken, FileToken,
    InboxDeliveryToken, InboxToken, JournalEntryToken, LoggedRequestToken, MerchantToken, PaymentSourceToken,
    PlanToken, PostingToken, RecipientToken, RefundToken, SessionToken, SnapshotToken,
    SubscriptionEntryToken, SubscriptionToken, Token, TransferToken, WalletCertificateToken,
    WalletDomainToken, WebhookEndpointToken, WebhookToken,
};
pub use wallet::{wallet_certificate, wallet_domain, wallet_payload};

/// The bytes of a column.
pub type Bytes = Vec<u8>;
