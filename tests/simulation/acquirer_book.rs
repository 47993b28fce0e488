//! The acquirer's book against the database: what it has taken and given back is what the server has booked, each once.

use std::collections::BTreeMap;
use std::path::Path;

use card_payments::Store;
use csv::ReaderBuilder;
use entity::charge::{self, ChargeState, Origin};
use entity::refund;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use crate::history::History;

/// The amounts that were moved, by the token of the payment or refund that asked for it.
type Movements = BTreeMap<String, Vec<i64>>;

/// Notes each difference.
pub async fn compare(book: &Path, store: &Store, history: &History) {
    let (taken, returned) = movements(book);
    let charges = charge::Entity::find().filter(charge::Column::Origin.ne(Origin::Capture));
    let charges = charges.all(store.read()).await.unwrap();
    let captured = charges.iter().filter(|row| row.state == ChargeState::Captured);
    let captured = captured.map(|row| (row.token(), vec![row.amount_captured.unwrap_or(row.amount)]));
    differ("taken", &taken, &captured.collect(), history);
    let refunds = refund::Entity::find().all(store.read()).await.unwrap();
    let refunded = refunds.iter().map(|row| (row.id.to_string(), vec![row.amount]));
    differ("returned", &returned, &refunded.collect(), history);
}

fn differ(what: &str, acquirer: &Movements, booked: &Movements, history: &History) {
    for (token, amounts) in acquirer {
        if booked.get(token) != Some(amounts) {
            history.fail(format_args!(
                "the acquirer has {what} {amounts:?} of {token}, booked is {:?}",
                booked.get(token)
            ));
        }
    }
    for (token, amounts) in booked.iter().filter(|(token, _)| !acquirer.contains_key(*token)) {
        history.fail(format_args!("the acquirer has {what} nothing of {token}, booked is {amounts:?}"));
    }
}

/// Reads what was taken and what was given back. The book has a row for each movement, and one where a call was undone.
fn movements(book: &Path) -> (Movements, Movements) {
    let rows = ReaderBuilder::new().has_headers(false).flexible(true).from_path(book).unwrap();
    let rows: Vec<_> = rows.into_records().map(Result::unwrap).collect();
    let is_undone = |key: &str| rows.iter().any(|row| &row[0] == "reversed" && &row[1] == key);
    let of = |movement: &str| {
        let mut moved = Movements::new();
        for row in rows.iter().filter(|row| &row[0] == movement && !is_undone(&row[1])) {
            let token = row[1].split(':').next().unwrap_or_default();
            moved.entry(token.to_owned()).or_default().push(row[2].parse().unwrap());
        }
        moved
    };
    (of("capture"), of("refund"))
}
