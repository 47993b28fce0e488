//! The ledger: journal entries, their postings, and the balances that they add up to (`docs/decisions.md`, 193).

/// Movements of money.
pub mod journal_entry {
    use crate::{AccountToken, JournalEntryToken, Timestamp};

    table! {
        /// One movement. Its postings sum to zero per currency.
        "journal_entries" [account_id: AccountToken, id: JournalEntryToken] {
            kind: EntryKind,
            /// The token of the record that moved it.
            source: String,
            created_at: Timestamp,
        }
    }

    string_enum! {
        /// The kinds of movement.
        pub enum EntryKind {
            /// A charge was captured.
            Charge "charge",
            /// Money arrived from outside.
            Deposit "deposit",
            /// A charge was refunded.
            Refund "refund",
            /// A refund failed: its money came back.
            RefundReturn "refund_return",
            /// The money of a disputed charge was taken, or came back after the dispute.
            ChargebackRecovery "chargeback_recovery",
            /// The fee of a dispute, or its return.
            ChargebackFee "chargeback_fee",
            /// Money was paid out on request.
            Transfer "transfer",
            /// The fee of a transfer.
            TransferFee "transfer_fee",
            /// The movements that waited for settlement were paid out.
            Settlement "settlement",
            /// The bank sent a transfer back.
            TransferReturn "transfer_return",
            /// The fee of a returned transfer came back.
            TransferFeeReturn "transfer_fee_return",
        }
    }

    impl EntryKind {
        /// Returns whether the merchant's posting is a line of a later settlement. Deposits are never paid out by settlement,
        /// and a settlement is no line of the next one.
        pub fn is_settled(self) -> bool {
            match self {
                Self::Charge
                | Self::Refund
                | Self::RefundReturn
                | Self::ChargebackRecovery
                | Self::ChargebackFee
                | Self::Transfer
                | Self::TransferFee
                | Self::TransferReturn
                | Self::TransferFeeReturn => true,
                Self::Deposit | Self::Settlement => false,
            }
        }
    }
}

/// Sides of movements.
pub mod posting {
    use crate::{AccountToken, Currency, Day, JournalEntryToken, PostingToken, TransferToken};

    table! {
        /// One posting: adds `amount` to `book`. The merchant's posting of most entries waits for settlement as a line. That of
        /// a charge has the charge's id, so that a charge finds the transfer that paid it out.
        "postings" [account_id: AccountToken, id: PostingToken] {
            entry_id: JournalEntryToken,
            book: Book,
            /// Signed.
            amount: i64,
            /// Always AUD.
            currency: Currency,
            /// The day from which a posting to the merchant's book is available; the day of the entry in other books.
            available_on: Day,
            /// Whether it waits for settlement.
            unsettled: bool,
            /// The settlement of which it is a line.
            transfer_id: Option<TransferToken>,
        } relations {
            /// The movement of which it is a side.
            #[sea_orm(belongs_to, from = "(account_id, entry_id)", to = "(account_id, id)")]
            entry: (BelongsTo<crate::journal_entry::Entity>),
            /// The charge, if it is the merchant's side of one.
            #[sea_orm(belongs_to, from = "(account_id, id)", to = "(account_id, id)")]
            charge: (BelongsTo<crate::charge::Entity>),
            /// The settlement of which it is a line.
            #[sea_orm(belongs_to, from = "(account_id, transfer_id)", to = "(account_id, id)")]
            transfer: (BelongsTo<Option<crate::transfer::Entity>>),
        }
    }

    string_enum! {
        /// The books of an account. The merchant's book is the account's money. Each other book names where money came from or
        /// went to, so its negated sum is one term of the proof (`docs/decisions.md`, 199).
        pub enum Book {
            /// The available and pending balance.
            Merchant "merchant",
            /// Money charged to cards.
            Charges "charges",
            /// Our fees of charges and disputes.
            Fees "fees",
            /// Shares withheld for the platform.
            Platform "platform",
            /// Money that arrived from outside.
            Deposits "deposits",
            /// Money refunded to cards.
            Refunds "refunds",
            /// Money taken back in disputes.
            Disputes "disputes",
            /// Money paid out.
            Transfers "transfers",
        }
    }
}

/// The merchant's book, summed by the day its money becomes available.
pub mod balance {
    use crate::{AccountToken, Day};

    table! {
        /// One slot of one day; the days up to the account's today are available. Slots spread the writers of an account over
        /// several rows: credits have slots 0 to 31 on PostgreSQL and 0 on SQLite, debits have slot 32 and take turns.
        "balances" [account_id: AccountToken, available_on: Day, slot: i32] {
            amount: i64,
        }
    }
}
