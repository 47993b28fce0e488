//! Merchants that a partner has referred (specification, Merchant; decisions 10).

use sea_orm::entity::prelude::*;
use uuid::Uuid;

use crate::{AccountToken, JsonText, MerchantToken, Timestamp};

/// One referred merchant: its application, as its partner sees it.
///
/// It is an account of its own as well, of the same id ([`Model::own_account`]): its keys, settings and bank account
/// are there, and its status stands on both rows, changed together.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "merchants")]
pub struct Model {
    /// The partner's. A merchant that was brought here from the other environment has no partner here: its own.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The merchant's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: MerchantToken,
    /// What the operator has decided.
    pub status: MerchantStatus,
    /// The contact's e-mail address; need not be unique.
    pub email: String,
    /// The contact's given name.
    pub first_name: String,
    /// The contact's family name.
    pub last_name: String,
    /// The name customers know.
    pub business_name: String,
    /// Where it is at home.
    pub country: Country,
    /// What was applied with, but for the password and the bank account.
    pub application: JsonText,
    /// Argon2id, as a PHC string.
    pub password_hash: String,
    /// The pair of keys that works in the other environment, encrypted; null where it was not minted here.
    pub other_keys_sealed: Option<Vec<u8>>,
    /// The data key that encrypts it.
    pub sealed_by: Option<Uuid>,
    /// What a search looks its words up in.
    pub search_text: String,
    /// By the partner's clock.
    pub created_at: Timestamp,
    /// The same: of the last decision.
    pub updated_at: Timestamp,
    /// The same: of the first activation.
    pub activated_at: Option<Timestamp>,
}

impl Model {
    /// The account that the merchant is.
    pub fn own_account(&self) -> AccountToken {
        AccountToken::new(self.id.id())
    }
}

string_enum! {
    /// What the operator has decided about a merchant.
    pub enum MerchantStatus {
        /// Nothing yet.
        PendingApproval "pending_approval",
        /// It may trade. So may every account that nobody has referred.
        Active "active",
        /// Never, which is final.
        Declined "declined",
        /// Not until it is active again.
        OnHold "on_hold",
    }
}

string_enum! {
    /// Where a merchant may be at home: ISO 3166-1 alpha-2.
    pub enum Country {
        Australia "AU",
        NewZealand "NZ",
        Singapore "SG",
        HongKong "HK",
        UnitedKingdom "GB",
        Ireland "IE",
        UnitedStates "US",
        Canada "CA",
    }
}

string_enum! {
    /// What one sale is worth, in dollars.
    pub enum TypicalProductPrice {
        Dollars20 "20",
        Dollars100 "100",
        Dollars500 "500",
        Dollars1000 "1000",
        Dollars3000 "3000",
    }
}

string_enum! {
    /// How many sales there are.
    pub enum TransactionsPerMonth {
        Sales10 "10",
        Sales20 "20",
        Sales100 "100",
        Sales500 "500",
        Sales1000 "1000",
    }
}

string_enum! {
    /// What all sales of a year are worth, in dollars.
    pub enum AnnualTransactionVolume {
        Dollars5000 "5000",
        Dollars20000 "20000",
        Dollars250000 "250000",
        Dollars1000000 "1000000",
    }
}

string_enum! {
    /// How long goods are under way.
    pub enum AverageDeliveryDays {
        Days1 "1",
        Days3 "3",
        Days7 "7",
        Days14 "14",
        Days30 "30",
        Days40 "40",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
