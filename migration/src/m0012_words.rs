//! The words of searches in the fold of one letter at a time (`docs/decisions.md`, 20): former ones may hold small letters that
//! share their capital with another small letter.

use sea_orm_migration::prelude::*;

use crate::Sql;

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        SQL.run(manager).await
    }
}

/// The letters.
macro_rules! former {
    () => {
        "\u{b5}\u{131}\u{17f}\u{345}\u{3c2}\u{3d0}\u{3d1}\u{3d5}\u{3d6}\u{3f0}\u{3f1}\u{3f5}\
         \u{1c80}\u{1c81}\u{1c82}\u{1c83}\u{1c84}\u{1c85}\u{1c86}\u{1c87}\u{1c88}\u{1e9b}\u{1fbe}"
    };
}

/// The letters that replace them, in the same order.
macro_rules! present {
    () => {
        "\u{3bc}is\u{3b9}\u{3c3}\u{3b2}\u{3b8}\u{3c6}\u{3c0}\u{3ba}\u{3c1}\u{3b5}\
         \u{432}\u{434}\u{43e}\u{441}\u{442}\u{442}\u{44a}\u{463}\u{a64b}\u{1e61}\u{3b9}"
    };
}

macro_rules! postgres {
    ($($table:literal)*) => {
        concat!($(
            "UPDATE ", $table, " SET search_text = translate(search_text, '", former!(), "', '", present!(), "')",
            " WHERE search_text ~ '[", former!(), "]';\n",
        )*)
    };
}

macro_rules! sqlite {
    ($($table:literal $column:literal)*) => {
        concat!($(
            "UPDATE ", $table, " SET ", $column, " = (WITH RECURSIVE folded (n, words) AS (SELECT 0, ", $column,
            " UNION ALL SELECT n + 1, replace(words, substr('", former!(), "', n + 1, 1), substr('", present!(), "', n + 1, 1))",
            " FROM folded WHERE n < length('", former!(), "')) SELECT words FROM folded ORDER BY n DESC LIMIT 1)",
            // Slow for every row, and most are ASCII.
            " WHERE octet_length(", $column, ") > length(", $column, ") AND ", $column, " GLOB '*[", former!(), "]*';\n",
        )*)
    };
}

const SQL: Sql = Sql {
    postgres: postgres!("charges" "merchants" "recipients" "transfers"),
    sqlite: sqlite!(
        "charges" "search_text" "merchants" "search_text" "recipients" "search_text" "transfers" "search_text"
        "charges_search" "text"
    ),
    ..Sql::NONE
};
