//! Idempotency keys and the answers given under them (decisions 2). Rows of both are only added, and removed
//! together a day later.

/// One claimed key.
pub mod idempotency_key {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, Timestamp};

    /// A key of a request that changes something, or is about to. Without its answer it is in flight.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "idempotency_keys")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// Keyed hash over the kind of API key and the key itself.
        #[sea_orm(primary_key, auto_increment = false)]
        pub hash: Vec<u8>,
        /// Keyed hash over the request that claimed it.
        pub fingerprint: Vec<u8>,
        /// By the wall clock.
        pub created_at: Timestamp,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// One kept answer.
pub mod idempotency_answer {
    use sea_orm::entity::prelude::*;
    use uuid::Uuid;

    use crate::AccountToken;

    /// The answer to the request that claimed a key.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "idempotency_answers")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The key's.
        #[sea_orm(primary_key, auto_increment = false)]
        pub hash: Vec<u8>,
        /// HTTP status.
        pub status: i32,
        /// The body's exact bytes, encrypted.
        pub sealed: Vec<u8>,
        /// The data key that opens it.
        pub sealed_by: Uuid,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
