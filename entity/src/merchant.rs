//! Merchants that partners have referred (specification, Merchant; `docs/decisions.md`, 231).

use uuid::Uuid;

use crate::{AccountToken, Bytes, JsonText, MerchantToken, Timestamp};

table! {
    /// One referred merchant: its application, as its partner sees it. `account_id` is the partner, or the merchant's own
    /// account if the merchant was imported from the other environment. Times are by that account's clock.
    ///
    /// The merchant is also an account with the same id ([`Model::own_account`]), which has its keys, settings and bank
    /// account. Both rows hold its status, changed together.
    "merchants" [account_id: AccountToken, id: MerchantToken] {
        status: MerchantStatus,
        /// The contact's address; need not be unique.
        email: String,
        first_name: String,
        last_name: String,
        /// The name that customers know.
        business_name: String,
        country: Country,
        /// The parameters of the application, without password and bank account.
        application: JsonText,
        /// Argon2id, as a PHC string.
        password_hash: String,
        /// The pair of keys for the other environment; null if it was not made here.
        other_keys_sealed: Option<Bytes>,
        sealed_by: Option<Uuid>,
        /// The folded text that searches read.
        search_text: String,
        created_at: Timestamp,
        /// The last decision.
        updated_at: Timestamp,
        /// The first activation.
        activated_at: Option<Timestamp>,
    }
}

impl Model {
    /// Returns the merchant's own account.
    pub fn own_account(&self) -> AccountToken {
        AccountToken::new(self.id.id())
    }
}

string_enum! {
    /// The operator's decision about a merchant.
    pub closed enum MerchantStatus {
        /// The operator has not decided yet.
        PendingApproval "pending_approval",
        /// The merchant may trade.
        Active "active",
        /// The merchant may never trade.
        Declined "declined",
        /// The merchant may not trade until it is active again.
        OnHold "on_hold",
    }
}

string_enum! {
    /// The country of a merchant, an ISO 3166-1 code of two letters.
    pub closed enum Country {
        /// Australia.
        Australia "AU",
        /// New Zealand.
        NewZealand "NZ",
        /// Singapore.
        Singapore "SG",
        /// Hong Kong.
        HongKong "HK",
        /// The United Kingdom.
        UnitedKingdom "GB",
        /// Ireland.
        Ireland "IE",
        /// The United States.
        UnitedStates "US",
        /// Canada.
        Canada "CA",
    }
}

string_enum! {
    /// The typical price of a product, in dollars.
    pub closed enum TypicalProductPrice {
        Dollars20 "20",
        Dollars100 "100",
        Dollars500 "500",
        Dollars1000 "1000",
        Dollars3000 "3000",
    }
}

string_enum! {
    /// The number of sales per month.
    pub closed enum TransactionsPerMonth {
        Sales10 "10",
        Sales20 "20",
        Sales100 "100",
        Sales500 "500",
        Sales1000 "1000",
    }
}

string_enum! {
    /// The volume of sales per year, in dollars.
    pub closed enum AnnualTransactionVolume {
        Dollars5000 "5000",
        Dollars20000 "20000",
        Dollars250000 "250000",
        Dollars1000000 "1000000",
    }
}

string_enum! {
    /// The average time of delivery, in days.
    pub closed enum AverageDeliveryDays {
        Days1 "1",
        Days3 "3",
        Days7 "7",
        Days14 "14",
        Days30 "30",
        Days40 "40",
    }
}
