//! What every test leans on: a whole server without its socket, on either database, with a clock to move and
//! every answer checked against the document.

pub mod app;
pub mod browser;
pub mod chance;
pub mod client;
#[expect(dead_code, reason = "shared with the benches, which want more of it")]
pub mod cluster;
pub mod collector;
pub mod contract;
pub mod fault_proxy;
pub mod fixtures;
pub mod flaky_acquirer;
pub mod installed;
pub mod migrated;
pub mod outside;
pub mod postgres;
pub mod process;
pub mod receiver;
pub mod records;
pub mod remote_acquirer;
pub mod sending;
pub mod skipped;
pub mod small_disk;
pub mod stored;
pub mod terminal;
pub mod wallets;

pub use app::{App, Database};
pub use client::{Answer, Client, card, charge};
pub use fixtures::{
    PASSWORD, PDF, application, at_once, bank_account, charge_with, eventually, multipart, rounds, token_of,
};
pub use flaky_acquirer::{FlakyAcquirer, Proof};
pub use installed::Installed;
pub(crate) use installed::operated;
pub use outside::RawDatabase;
pub use receiver::{Behaviour, Received, Receiver};
pub use stored::{fields, token, with};

/// Rules of the API, each tested on both databases.
///
/// `rules! { async fn rule_as_a_sentence(app) { ... } }` with `app: &App`; the books are checked at the end.
///
/// `async fn rule_as_a_sentence(app, line) { ... }` has `app: &mut App` whose acquirer is at the other end of
/// `line: &Line`.
macro_rules! rules {
    ($(async fn $name:ident($app:ident, $line:ident) $body:block)*) => {$(
        async fn $name($app: &mut $crate::harness::App, $line: &$crate::harness::FlakyAcquirer) $body

        mod $name {
            async fn on(database: $crate::harness::Database) {
                let line = std::sync::Arc::new($crate::harness::FlakyAcquirer::default());
                let Some(mut app) = line.clone().start(database).await else { return };
                super::$name(&mut app, &line).await;
                app.check_books().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                on($crate::harness::Database::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                on($crate::harness::Database::Postgres).await;
            }
        }
    )*};
    ($(async fn $name:ident($app:ident) $body:block)*) => {$(
        async fn $name($app: &$crate::harness::App) $body

        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let app = $crate::harness::App::start($crate::harness::Database::Sqlite).await.unwrap();
                super::$name(&app).await;
                app.check_books().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let Some(app) = $crate::harness::App::start($crate::harness::Database::Postgres).await else { return };
                super::$name(&app).await;
                app.check_books().await;
            }
        }
    )*};
}
pub(crate) use rules;
