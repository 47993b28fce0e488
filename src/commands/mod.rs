//! What operators run beside a server (decisions 14). A command opens the database by the same door as a server,
//! which brings its schema up to date, and calls a service.

pub mod deposit;
pub mod dispute;
pub mod ledger;

use std::error::Error;

use card_payments::clock::{Clock, Ids, SystemClock};
use card_payments::config::DatabaseOptions;
use card_payments::error::{self, Body};
use card_payments::services::{Account, accounts};
use card_payments::store::{self, Location, Store};
use entity::AccountToken;

/// The account that an operator names.
pub async fn account(store: &Store, token: AccountToken) -> Result<Account, Box<dyn Error>> {
    let account = accounts::named(store, token, SystemClock.now()).await?;
    Ok(account.ok_or_else(|| format!("there is no account {token}"))?)
}

/// Open the database, an empty one too.
pub async fn open(database: &DatabaseOptions) -> Result<Store, Box<dyn Error>> {
    let location: Location = database.url().parse()?;
    // The folder may not be there yet; a server beside it keeps the lock, and both use one door.
    if let Location::Sqlite { path } = &location
        && let Some(folder) = path.parent()
    {
        std::fs::create_dir_all(folder)?;
    }
    Ok(Store::open(&location, Ids::default().into()).await?)
}

/// Distribute the database's tables, and tell which were not yet.
pub async fn distribute(database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    for table in store::distribute(&database.url().parse()?).await? {
        println!("{table}");
    }
    Ok(())
}

/// Why a service refuses, in the words of the API.
pub fn refused(error: &error::Error) -> String {
    let (Body::Object(said) | Body::Array([said])) = error.body("");
    let messages = said.messages.into_iter().flatten().map(|message| message.message);
    let messages: Vec<_> = messages.collect();
    if messages.is_empty() { said.error_description.into_owned() } else { messages.join(", ") }
}
