//! The ledger's rows: journal entries, their postings, and the balances they add up to (decisions 8).

/// One movement of money.
pub mod journal_entry {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, JournalEntryToken, Timestamp};

    /// A journal entry. Its postings sum to zero per currency.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "journal_entries")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The entry.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: JournalEntryToken,
        /// Why money moved.
        pub kind: EntryKind,
        /// The token of the record that moved it.
        pub source: String,
        /// By the account's clock.
        pub created_at: Timestamp,
    }

    string_enum! {
        /// The kinds of movement.
        pub enum EntryKind {
            /// A charge was captured.
            Charge "charge",
            /// Money arrived.
            Deposit "deposit",
            /// A charge was refunded.
            Refund "refund",
            /// A refund failed: its money came back.
            RefundReturn "refund_return",
            /// A cardholder disputes a charge and has the money back, or the dispute ended well and it returns.
            ChargebackRecovery "chargeback_recovery",
            /// What that costs, or the same back.
            ChargebackFee "chargeback_fee",
            /// Money was paid out on request.
            Transfer "transfer",
            /// What that cost.
            TransferFee "transfer_fee",
            /// Everything that waited was paid out.
            Settlement "settlement",
            /// The bank sent a transfer back.
            TransferReturn "transfer_return",
            /// So it costs nothing.
            TransferFeeReturn "transfer_fee_return",
        }
    }

    impl EntryKind {
        /// Whether the merchant's side of it is a line of a later settlement. Deposits are never swept, and a
        /// settlement is no line of the next one.
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

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// One side of a movement.
pub mod posting {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, Currency, Day, JournalEntryToken, PostingToken, TransferToken};

    /// A posting: `amount` is added to `book`. The merchant's side of most entries is a line that waits for
    /// settlement; of a charge it has the charge's own id, so that charges find what has paid them out.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "postings")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The posting.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: PostingToken,
        /// The entry it is a side of.
        pub entry_id: JournalEntryToken,
        /// Where it goes.
        pub book: Book,
        /// Signed, in the currency's base unit.
        pub amount: i64,
        /// The ledger is in AUD.
        pub currency: Currency,
        /// The day a posting to the merchant's book becomes available; the day of the entry on other books.
        pub available_on: Day,
        /// Whether it waits for settlement.
        pub unsettled: bool,
        /// The settlement that it is a line of.
        pub transfer_id: Option<TransferToken>,
    }

    string_enum! {
        /// The books of an account. The merchant's book is what the account owns; each other one names where
        /// money came from or went to, so its negated sum is one term of the equation of decisions 8.
        pub enum Book {
            /// Available and pending balance.
            Merchant "merchant",
            /// Money charged to cards.
            Charges "charges",
            /// Our fees, of charges and of disputes.
            Fees "fees",
            /// Shares withheld for the platform.
            Platform "platform",
            /// Money that arrived.
            Deposits "deposits",
            /// Money refunded to cards.
            Refunds "refunds",
            /// Money taken back in disputes.
            Disputes "disputes",
            /// Money paid out.
            Transfers "transfers",
        }
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// The merchant's book, summed by the day its money becomes available.
pub mod balance {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, Day};

    /// One slot of one day: slots spread the writers of one account over several rows.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "balances")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// Time moves money: available are the days up to the account's today.
        #[sea_orm(primary_key, auto_increment = false)]
        pub available_on: Day,
        /// Credits: 0 to 31 on PostgreSQL, 0 on SQLite. Debits: 32, which they take turns over.
        #[sea_orm(primary_key, auto_increment = false)]
        pub slot: i32,
        /// AUD cents.
        pub amount: i64,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
