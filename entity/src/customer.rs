//! Customers (specification, Customer).

use crate::{AccountToken, CardToken, CustomerToken, Timestamp};

table! {
    /// One customer. Exactly one card is primary: it is a column.
    "customers" [account_id: AccountToken, id: CustomerToken] {
        /// Need not be unique.
        email: String,
        first_name: Option<String>,
        last_name: Option<String>,
        phone_number: Option<String>,
        company: Option<String>,
        notes: Option<String>,
        primary_card_id: CardToken,
        /// The address of the request that created the customer. Renewals are charged with it.
        ip_address: String,
        created_at: Timestamp,
    } relations {
        /// The card that pays.
        #[sea_orm(belongs_to, from = "(account_id, primary_card_id)", to = "(account_id, id)")]
        primary_card: (BelongsTo<crate::card::Entity>),
    }
}
