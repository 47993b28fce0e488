//! The invariants of correct books, each a query whose rows are the differences (`docs/decisions.md`, 199). Add one for
//! each new book and each new record that moves money.

use entity::journal_entry::EntryKind;
use entity::{ChargeToken, Currency, Day, JournalEntryToken, PostingToken, TransferToken};
use sea_orm::{DbErr, QueryResult};

use crate::limits::CHARGEBACK_FEE_CENTS;

/// An invariant: a query of differences with the columns `account_id`, `subject`, `expected` and `found`.
pub(super) struct LedgerInvariant {
    pub name: &'static str,
    pub subject: InvariantSubject,
    pub sql: String,
}

/// The type of the column `subject`.
pub(super) enum InvariantSubject {
    Entry,
    Day,
    Charge,
    Transfer,
    Posting,
    /// A book, or a currency.
    Word,
}

impl InvariantSubject {
    /// Formats the subject for people.
    pub fn format(&self, row: &QueryResult) -> Result<String, DbErr> {
        Ok(match self {
            Self::Entry => row.try_get::<JournalEntryToken>("", "subject")?.to_string(),
            Self::Day => row.try_get::<Day>("", "subject")?.date().to_string(),
            Self::Charge => row.try_get::<ChargeToken>("", "subject")?.to_string(),
            Self::Transfer => row.try_get::<TransferToken>("", "subject")?.to_string(),
            Self::Posting => row.try_get::<PostingToken>("", "subject")?.to_string(),
            Self::Word => row.try_get("", "subject")?,
        })
    }
}

// The charge that captures an authorisation has its money.
const CAPTURED: &str = "FROM charges WHERE state = 'captured' AND origin <> 'authorisation'";
const NOT_FAILED: &str = "FROM refunds WHERE state <> 'failed'";
const PENDING: &str = "FROM refunds WHERE state IN ('submitting', 'accepted')";

const CHARGED_BACK: &str = "FROM disputes WHERE charged_back";
const DISPUTED: &str = "FROM disputes";
const OPEN: &str = "FROM disputes WHERE status IN ('evidence_required', 'evidence_under_review', 'arbitration_under_review')";
const STANDING: &str =
    "FROM disputes WHERE status NOT IN ('won', 'cancelled', 'resolved', 'arbitration_won')";

const SUCCEEDED: &str = "FROM transfers WHERE status = 'succeeded'";
const SETTLEMENTS: &str = "FROM transfers WHERE kind = 'settlement'";
const LINES: &str = "FROM postings WHERE transfer_id IS NOT NULL";

/// Returns all invariants. Each side of a comparison selects the account, the subject, the expected and the found
/// value.
pub(super) fn proofs() -> [LedgerInvariant; 19] {
    let aud = Currency::Aud.code();
    [
        LedgerInvariant {
            name: "entry_sums_to_zero",
            subject: InvariantSubject::Entry,
            // Per currency: amounts of two currencies do not offset each other.
            sql: "SELECT account_id, entry_id AS subject, CAST(0 AS BIGINT) AS expected, \
                      CAST(SUM(amount) AS BIGINT) AS found \
                  FROM postings GROUP BY account_id, entry_id, currency HAVING SUM(amount) <> 0 \
                  ORDER BY account_id, entry_id, currency"
                .into(),
        },
        compared(
            "balance_is_its_postings",
            InvariantSubject::Day,
            &[
                "SELECT account_id, available_on AS subject, amount AS expected, 0 AS found \
                 FROM postings WHERE book = 'merchant'",
                "SELECT account_id, available_on, 0, amount FROM balances",
            ],
        ),
        compared(
            // By the postings: charges - refunds - fees - platform adjustments - transfers - disputes + deposits =
            // available + pending.
            "books_make_the_balance",
            InvariantSubject::Word,
            &[
                "SELECT account_id, currency AS subject, -amount AS expected, 0 AS found \
                 FROM postings WHERE book <> 'merchant'",
                &format!("SELECT account_id, '{aud}', 0, amount FROM balances"),
            ],
        ),
        compared(
            // The same by the records that made the postings.
            "book_is_its_records",
            InvariantSubject::Word,
            &[
                "SELECT account_id, book AS subject, 0 AS expected, amount AS found \
                 FROM postings WHERE book <> 'merchant'",
                &format!("SELECT account_id, 'charges', -settlement_amount, 0 {CAPTURED}"),
                &format!("SELECT account_id, 'fees', fees, 0 {CAPTURED}"),
                &format!("SELECT account_id, 'platform', platform_fees, 0 {CAPTURED}"),
                &format!("SELECT account_id, 'refunds', settlement_amount, 0 {NOT_FAILED}"),
                &format!("SELECT account_id, 'disputes', settlement_amount, 0 {CHARGED_BACK}"),
                &format!("SELECT account_id, 'fees', {CHARGEBACK_FEE_CENTS}, 0 {CHARGED_BACK}"),
                "SELECT account_id, 'deposits', -amount, 0 FROM deposits",
                &format!("SELECT account_id, 'transfers', amount, 0 {SUCCEEDED}"),
                &format!("SELECT account_id, 'fees', fee, 0 {SUCCEEDED}"),
            ],
        ),
        of_settlement("settlement_is_its_lines", "amount", "amount"),
        of_settlement("total_credits", "total_credits", "CASE WHEN amount > 0 THEN amount ELSE 0 END"),
        of_settlement("total_debits", "total_debits", "CASE WHEN amount < 0 THEN -amount ELSE 0 END"),
        of_settlement("line_items_count", "line_items_count", "1"),
        line_waits_or_is_settled(),
        of_charge("amount_refunded", &format!("amount, 0 {NOT_FAILED}")),
        of_charge("settlement_refunded", &format!("settlement_amount, 0 {NOT_FAILED}")),
        of_charge("refunds_pending", &format!("1, 0 {PENDING}")),
        of_charge("amount_disputed", &format!("amount, 0 {DISPUTED}")),
        of_charge("settlement_disputed", &format!("settlement_amount, 0 {DISPUTED}")),
        of_charge("disputes_open", &format!("1, 0 {OPEN}")),
        of_charge("disputes_standing", &format!("1, 0 {STANDING}")),
        LedgerInvariant {
            name: "refunds_within_the_charge",
            subject: InvariantSubject::Charge,
            sql: "SELECT account_id, id AS subject, amount AS expected, amount_refunded AS found \
                  FROM charges WHERE amount_refunded > amount ORDER BY account_id, id"
                .into(),
        },
        // The cardholder gets back no more than the charge, by refunds and disputes together.
        chargebacks_within("chargebacks_within_the_charge", "amount", "amount_refunded"),
        // The same for the settlement amounts, each rounded to the cent.
        chargebacks_within("chargebacks_within_the_settlement", "settlement_amount", "settlement_refunded"),
    ]
}

/// Proves that each posting of the merchant that has to be settled either waits or is a line of one settlement, and
/// that no other posting does or is.
fn line_waits_or_is_settled() -> LedgerInvariant {
    let never = EntryKind::ALL.iter().filter(|kind| !kind.is_settled());
    let never: Vec<_> = never.map(|kind| format!("'{}'", kind.code())).collect();
    let is_line = format!("(p.book = 'merchant' AND e.kind NOT IN ({}))", never.join(", "));
    let counted = |condition: &str| format!("CASE WHEN {condition} THEN 1 ELSE 0 END");
    let expected = counted(&is_line);
    let found = format!("{} + {}", counted("p.unsettled"), counted("p.transfer_id IS NOT NULL"));
    LedgerInvariant {
        name: "line_waits_or_is_settled",
        subject: InvariantSubject::Posting,
        sql: format!(
            "SELECT p.account_id, p.id AS subject, CAST({expected} AS BIGINT) AS expected, \
                 CAST({found} AS BIGINT) AS found \
             FROM postings p JOIN journal_entries e ON e.account_id = p.account_id AND e.id = p.entry_id \
             WHERE {expected} <> {found} ORDER BY p.account_id, p.id"
        ),
    }
}

/// Proves that a settlement's column is the sum over its lines.
fn of_settlement(name: &'static str, column: &str, of_lines: &str) -> LedgerInvariant {
    compared(
        name,
        InvariantSubject::Transfer,
        &[
            &format!("SELECT account_id, id AS subject, 0 AS expected, {column} AS found {SETTLEMENTS}"),
            &format!("SELECT account_id, transfer_id, {of_lines}, 0 {LINES}"),
        ],
    )
}

/// Proves that a charge's column is the sum over its refunds (three columns) or its disputes (four).
fn of_charge(column: &'static str, of_refunds: &str) -> LedgerInvariant {
    compared(
        column,
        InvariantSubject::Charge,
        &[
            &format!(
                "SELECT account_id, id AS subject, 0 AS expected, {column} AS found \
                      FROM charges WHERE {column} <> 0"
            ),
            &format!("SELECT account_id, charge_id, {of_refunds}"),
        ],
    )
}

/// Proves that refunds and the disputes that were not won take no more than a charge's amount; `amount` names the column of
/// charge and dispute.
fn chargebacks_within(name: &'static str, amount: &str, refunded: &str) -> LedgerInvariant {
    LedgerInvariant {
        name,
        subject: InvariantSubject::Charge,
        sql: format!(
            "SELECT c.account_id, c.id AS subject, c.{amount} AS expected, \
                 CAST(c.{refunded} + SUM(d.{amount}) AS BIGINT) AS found \
             FROM charges c JOIN disputes d ON d.account_id = c.account_id AND d.charge_id = c.id \
             WHERE d.status NOT IN ('won', 'cancelled', 'resolved', 'arbitration_won') \
             GROUP BY c.account_id, c.id, c.{amount}, c.{refunded} \
             HAVING c.{refunded} + SUM(d.{amount}) > c.{amount} ORDER BY c.account_id, c.id"
        ),
    }
}

/// Compares the sums of all sides, subject by subject.
fn compared(name: &'static str, subject: InvariantSubject, sides: &[&str]) -> LedgerInvariant {
    let sides = sides.join(" UNION ALL ");
    // PostgreSQL sums BIGINT to NUMERIC.
    let sql = format!(
        "SELECT account_id, subject, CAST(SUM(expected) AS BIGINT) AS expected, CAST(SUM(found) AS BIGINT) AS found \
         FROM ({sides}) AS sides GROUP BY account_id, subject HAVING SUM(expected) <> SUM(found) \
         ORDER BY account_id, subject"
    );
    LedgerInvariant { name, subject, sql }
}
