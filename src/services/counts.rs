//! Counts of the records that lists show, so that no list counts its rows.

use entity::AccountToken;
use entity::counter::{Column, Counted, Model};
use store::{Sum, Tx};

pub struct Counts;

impl Sum for Counts {
    type Row = Model;
    type Key = (AccountToken, Counted);
    const SUMMED: Column = Column::N;

    fn row((account_id, kind): Self::Key, slot: i32, n: i64) -> Model {
        Model { account_id, kind, slot, n }
    }
}

/// Adds new records to a count of the account.
pub fn add(tx: &Tx, account: AccountToken, what: Counted, n: i64) {
    if n != 0 {
        tx.add::<Counts>((account, what), n);
    }
}

/// Subtracts records that vanish from a count of the account. Positions that were known of the list hold no more.
pub fn subtract(tx: &Tx, account: AccountToken, what: Counted, gone: u64) {
    let gone = i64::try_from(gone).unwrap_or(i64::MAX);
    add(tx, account, what, -gone);
    if let Some(lost) = what.lost() {
        add(tx, account, lost, gone);
    }
}
