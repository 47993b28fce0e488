//! Tables: each is said once, as its row with the primary key in front.

use std::str::FromStr;

use sea_orm::{ColumnTrait, DeleteMany, EntityTrait, QueryFilter, Select, UpdateMany, Value};

use crate::AccountToken;

/// A table whose rows belong to accounts. Every read begins with the account: another account's record is not found.
pub trait Owned: EntityTrait {
    /// The column of the account.
    const ACCOUNT: Self::Column;

    /// Selects the rows of an account.
    fn owned_by(account: AccountToken) -> Select<Self> {
        Self::find().filter(Self::ACCOUNT.eq(account))
    }

    /// Updates the rows of an account.
    fn update_of(account: AccountToken) -> UpdateMany<Self> {
        Self::update_many().filter(Self::ACCOUNT.eq(account))
    }

    /// Deletes the rows of an account.
    fn delete_of(account: AccountToken) -> DeleteMany<Self> {
        Self::delete_many().filter(Self::ACCOUNT.eq(account))
    }
}

/// An owned table whose rows have tokens of their own. Lists are sorted by them, newest first.
pub trait Listed: Owned {
    /// The token of a row.
    type Id: FromStr + Into<Value> + Send;
    /// The column of the token.
    const ID: Self::Column;

    /// Selects a row.
    fn at(account: AccountToken, id: impl Into<Value>) -> Select<Self> {
        Self::owned_by(account).filter(Self::ID.eq(id))
    }

    /// Updates a row.
    fn update_at(account: AccountToken, id: impl Into<Value>) -> UpdateMany<Self> {
        Self::update_of(account).filter(Self::ID.eq(id))
    }

    /// Deletes a row.
    fn delete_at(account: AccountToken, id: impl Into<Value>) -> DeleteMany<Self> {
        Self::delete_of(account).filter(Self::ID.eq(id))
    }
}

/// An account's row belongs to itself.
impl Owned for crate::account::Entity {
    const ACCOUNT: Self::Column = crate::account::Column::Id;
}

/// Defines a table by its name, its primary key, its other columns, and its relations: an entity of `sea_orm::model`, with a typed
/// `COLUMN` and a `Relation`. With `account_id` first in the key, the table is [`Owned`]; with `id` after it, also [`Listed`].
/// Relations join by the account, too, and are no foreign keys (`docs/decisions.md`, 292).
macro_rules! table {
    ($(#[$about:meta])* $table:literal [account_id: AccountToken, id: $id:ident] $columns:tt $($relations:tt)*) => {
        table! { @row $(#[$about])* $table [account_id: AccountToken, id: $id] $columns $($relations)* }

        impl $crate::Owned for Entity {
            const ACCOUNT: Column = Column::AccountId;
        }

        impl $crate::Listed for Entity {
            type Id = $id;

            const ID: Column = Column::Id;
        }
    };
    (
        $(#[$about:meta])* $table:literal [account_id: AccountToken, $($key:ident: $type:ident),+]
        $columns:tt $($relations:tt)*
    ) => {
        table! { @row $(#[$about])* $table [account_id: AccountToken, $($key: $type),+] $columns $($relations)* }

        impl $crate::Owned for Entity {
            const ACCOUNT: Column = Column::AccountId;
        }
    };
    ($(#[$about:meta])* $table:literal [$($key:ident: $type:ident),+] $columns:tt $($relations:tt)*) => {
        table! { @row $(#[$about])* $table [$($key: $type),+] $columns $($relations)* }
    };
    // Types are names, because sea-orm's macros read them as text.
    (
        @row $(#[$about:meta])* $table:literal [$($key:ident: $key_type:ident),+]
        { $($(#[$note:meta])* $column:ident: $type:ident $(<$of:ident>)?),* $(,)? }
        $(relations { $($(#[$how:meta])* $relation:ident: ($($other:tt)+)),+ $(,)? })?
    ) => {
        use ::sea_orm::entity::prelude::*;

        $(#[$about])*
        #[sea_orm::model]
        #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
        #[sea_orm(table_name = $table)]
        pub struct Model {
            $(
                #[doc = concat!("`", stringify!($key), "`")]
                #[sea_orm(primary_key, auto_increment = false)]
                pub $key: $key_type,
            )+
            $(
                #[doc = concat!("`", stringify!($column), "`")]
                $(#[$note])*
                pub $column: $type $(<$of>)?,
            )*
            $($(
                $(#[$how])*
                pub $relation: $($other)+,
            )+)?
        }

        impl ActiveModelBehavior for ActiveModel {}
    };
}
