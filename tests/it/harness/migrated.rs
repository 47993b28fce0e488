//! A test's own database whose schema is up to date: a copy of one that was migrated once a process costs a fraction of running
//! the migrations again.

use std::path::Path;
use std::sync::Arc;

use base::clock::IdGenerator;
use card_payments::Store;
use store::{Location, Migrator, distribute};
use tokio::sync::OnceCell;

use super::app::Database;
use super::postgres::{self, Template};

static TEMPLATE: Template = Template::new("migrated");

/// The bytes of a migrated SQLite file.
static FILE: OnceCell<Vec<u8>> = OnceCell::const_new();

/// Makes a database in this folder, or on PostgreSQL for as long as the second value lives. None where PostgreSQL is not installed.
pub async fn migrated(database: Database, folder: &Path) -> Option<(Location, Option<postgres::Database>)> {
    match database {
        Database::Sqlite => {
            let path = folder.join("test.db");
            std::fs::write(&path, file().await).unwrap();
            Some((Location::Sqlite { path }, None))
        }
        Database::Postgres => {
            let copy = TEMPLATE.database(async |url| {
                let location: Location = url.parse().unwrap();
                drop(Store::open(&location, Arc::new(IdGenerator::default())).await.unwrap());
                if postgres::is_distributed() {
                    distribute(&location, &()).await.unwrap();
                }
            });
            let copy = copy.await?;
            Some((copy.url().parse().unwrap(), Some(copy)))
        }
    }
}

async fn file() -> &'static [u8] {
    let made = FILE.get_or_init(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("migrated.db");
        store::migrate::<Migrator>(&Location::Sqlite { path: path.clone() }, &()).await.unwrap();
        std::fs::read(path).unwrap()
    });
    made.await
}
