//! The shapes of JSON columns. Rows that come from a file, a snapshot or another database are checked against them before they
//! are stored: a text of another shape would fail each list that shows it.

use entity::api_key::KeyRestriction;
use entity::card_attack::CardTestingSettings;
use entity::pricing::Pricing;
use entity::{AcquirerFaults, CardToken};
use sea_orm::sea_query::ColumnType;
use sea_orm::{ColumnTrait, EntityTrait, IdenStatic, Iterable, ModelTrait, Value};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use crate::services::bank_accounts::view::BankAccount;
use crate::services::cards::view::Card;

/// Returns the first column of a row whose text is not JSON of the column's shape, if there is one.
pub fn unreadable<E: EntityTrait>(row: &E::Model) -> Option<&'static str> {
    let table = E::default().table_name();
    let is_unreadable = |column: &E::Column| {
        let Value::String(Some(text)) = row.get(*column) else { return false };
        is_json::<E>(*column) && !can_be_read(table, column.as_str(), &text)
    };
    E::Column::iter().find(is_unreadable).map(|column| column.as_str())
}

/// Returns whether a column holds JSON.
pub fn is_json<E: EntityTrait>(column: E::Column) -> bool {
    matches!(column.def().get_column_type(), ColumnType::Json)
}

/// Returns whether a text is JSON of a column's shape.
pub fn can_be_read(table: &str, column: &str, text: &str) -> bool {
    match (table, column) {
        ("accounts", "pricing") => is_object::<Pricing>(text),
        ("accounts", "acquirer_faults") => is_object::<AcquirerFaults>(text),
        ("accounts", "card_testing") => is_object::<CardTestingSettings>(text),
        ("api_keys", "restriction") => is_object::<KeyRestriction>(text),
        ("charges", "card") => is_object::<Card>(text),
        ("recipients" | "transfers", "bank_account") => is_object::<BankAccount>(text),
        ("erasures", "cards") => is::<Vec<CardToken>>(text),
        ("person_sessions", "roles") => is::<Vec<String>>(text),
        // Of the log of requests.
        (_, "parameters" | "hidden" | "error") => is::<IgnoredAny>(text),
        _ => is::<Map<String, Json>>(text),
    }
}

/// Returns whether a text is an object of this shape: a struct would be read from a list, too.
fn is_object<'t, T: Deserialize<'t>>(text: &'t str) -> bool {
    text.trim_start().starts_with('{') && is::<T>(text)
}

fn is<'t, T: Deserialize<'t>>(text: &'t str) -> bool {
    serde_json::from_str::<T>(text).is_ok()
}
