//! Statements of the acquirer, compared with the ledger (`docs/decisions.md`, 383). They are the operator's, of all accounts.

string_enum! {
    /// A movement of card money, as a statement names it.
    pub enum Movement {
        /// Money was taken from a card.
        Capture "capture",
        /// Money was given back to a card.
        Refund "refund",
        /// A refund came back.
        RefundReturn "refund_return",
        /// The cardholder took the money back.
        Chargeback "chargeback",
        /// A chargeback came back.
        ChargebackReturn "chargeback_return",
        /// The acquirer's own price. The ledger has no entry of it.
        Fee "fee",
    }
}

/// Imported statements.
pub mod statement {
    use uuid::Uuid;

    use crate::{AccountToken, Day, JournalEntryToken, Timestamp};

    table! {
        /// One statement, and how far its import has come.
        "acquirer_statements" [id: Uuid] {
            /// The acquirer's name of it.
            name: String,
            /// SHA-256 of the file, in hexadecimal digits.
            digest: String,
            first_day: Day,
            last_day: Day,
            lines: i64,
            stage: Stage,
            /// The last line that is done in this stage.
            line: i64,
            /// The account of the last journal entry that is done.
            account: Option<AccountToken>,
            entry: Option<JournalEntryToken>,
            /// The operator who imported it.
            operator: String,
            /// By the wall clock.
            created_at: Timestamp,
            /// The first instant that it covers.
            covers_from: Timestamp,
            /// The first instant after those that it covers.
            covers_until: Timestamp,
        }
    }

    string_enum! {
        /// A stage of the import. Each is done in batches.
        pub enum Stage {
            /// The lines are stored.
            Lines "lines",
            /// The movements of the books look for their lines.
            Books "books",
            /// The lines that are left look for movements.
            Rest "rest",
            /// Everything is compared.
            Done "done",
        }
    }
}

/// Lines of statements.
pub mod statement_line {
    use uuid::Uuid;

    use super::Movement;
    use crate::{AccountToken, Currency, Day, JournalEntryToken, TimeSpan};

    table! {
        /// One line. It is never changed but for the journal entry that it matches.
        "statement_lines" [statement_id: Uuid, number: i64] {
            movement: Movement,
            /// As the statement has it.
            reference: String,
            /// The token in the reference, if it has one.
            subject: String,
            /// Above zero.
            amount: i64,
            currency: Currency,
            /// In the zone of the statement.
            day: Day,
            account: Option<AccountToken>,
            entry: Option<JournalEntryToken>,
            /// How far that zone is ahead of UTC when the statement begins.
            utc_offset: TimeSpan,
            /// And when it ends, if that differs: the clocks of the zone are changed in between.
            later_utc_offset: Option<TimeSpan>,
        }
    }
}

/// Exceptions: what statement and books do not say alike.
pub mod reconciliation_exception {
    use uuid::Uuid;

    use super::Movement;
    use crate::{AccountToken, Currency, Day, ExceptionToken, JournalEntryToken, Timestamp};

    table! {
        /// One exception.
        "reconciliation_exceptions" [id: ExceptionToken] {
            kind: ExceptionKind,
            state: ExceptionState,
            /// The statement whose import found it.
            statement_id: Uuid,
            /// The line; null if there is none.
            line: Option<i64>,
            account: Option<AccountToken>,
            /// The journal entry; null if there is none.
            entry: Option<JournalEntryToken>,
            movement: Movement,
            reference: String,
            /// The token in the reference.
            subject: String,
            our_amount: Option<i64>,
            our_currency: Option<Currency>,
            /// When the books recorded it, by the wall clock.
            our_time: Option<Timestamp>,
            their_amount: Option<i64>,
            their_currency: Option<Currency>,
            their_day: Option<Day>,
            /// The last note, and the operator who wrote it.
            note: Option<String>,
            author: Option<String>,
            /// The statement that resolved it.
            resolved_by: Option<Uuid>,
            /// By the wall clock.
            created_at: Timestamp,
            changed_at: Timestamp,
        }
    }

    string_enum! {
        /// The kinds of exception.
        pub enum ExceptionKind {
            /// In the books and in no statement.
            Missing "missing",
            /// In the statement and not in the books.
            Foreign "foreign",
            /// Once more in a statement than in the books.
            Doubled "doubled",
            /// In both, with different amounts.
            Amount "amount",
            /// In both, with different currencies.
            Currency "currency",
            /// In both, on different days.
            Day "day",
        }
    }

    string_enum! {
        /// The state of an exception.
        pub enum ExceptionState {
            /// Nobody has said why.
            Open "open",
            /// An operator knows why; it is not settled yet.
            Explained "explained",
            /// Settled: by an operator, or by a later statement.
            Resolved "resolved",
        }
    }
}
