//! What operators see of accounts, and change (decisions 14).

use entity::AccountToken;
use entity::account::{self, Column};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::settings;
use crate::error::Error;
use crate::params::Params;
use crate::params::account::ChangedSettings;
use crate::services::context::Account;
use crate::store::Store;
use crate::views::account::AccountSettings;

/// How many accounts are read at a time.
const PAGE: u64 = 500;

/// Tell of every account, the oldest first.
pub async fn list<E: From<Error>>(
    store: &Store,
    mut tell: impl FnMut(AccountSettings) -> Result<(), E>,
) -> Result<(), E> {
    let mut last: Option<AccountToken> = None;
    loop {
        let mut page = account::Entity::find().filter(Column::ClosedAt.is_null()).order_by_asc(Column::Id);
        if let Some(last) = last {
            page = page.filter(Column::Id.gt(last));
        }
        let page = page.limit(PAGE).all(store.read()).await.map_err(Error::from)?;
        let Some(row) = page.last() else { return Ok(()) };
        last = Some(row.id);
        for row in page {
            tell(row.into())?;
        }
    }
}

/// Change a switch or a setting, by the name that `word` has in the parameters.
///
/// Refusals: `invalid_resource`.
pub async fn change(
    store: &Store,
    account: &Account,
    word: &str,
    params: Params<ChangedSettings>,
) -> Result<AccountSettings, Error> {
    let Params { value, mut faults } = params;
    if faults.is_empty() && value.is_empty() {
        faults.add(word, "can't be blank");
    }
    let asked = Params { value, faults }.valid()?;
    let change = (account.id(), account.now, asked);
    let unit = store.write(change, |tx, (id, now, asked)| settings::record(tx, *id, *now, asked).boxed());
    unit.await.map(AccountSettings::from)
}
