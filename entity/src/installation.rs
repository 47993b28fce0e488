//! What a database is for: it belongs to one environment, and carries its wrapped keys.

use sea_orm::entity::prelude::*;

/// One fact about the database.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "installation")]
pub struct Model {
    /// What is said.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// What it is.
    pub value: String,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// Keys that the operator's vault key wraps (decisions 4).
pub mod vault_key {
    use sea_orm::entity::prelude::*;
    use uuid::Uuid;

    use crate::Timestamp;

    /// One data key or hash key, wrapped.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "vault_keys")]
    pub struct Model {
        /// Stands beside every ciphertext.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: Uuid,
        /// `data`, or the purpose of a hash key.
        pub purpose: String,
        /// The id of the operator's key that wraps it.
        pub wrapped_by: String,
        /// The wrapped key.
        pub wrapped: Vec<u8>,
        /// By the wall clock.
        pub created_at: Timestamp,
        /// When a data key that only opens goes, if nothing needs it any more, by the wall clock; null for hash keys and
        /// for the one that encrypts.
        pub remove_at: Option<Timestamp>,
        /// How often a data key has encrypted, as far as that is written down.
        pub seals: i64,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
