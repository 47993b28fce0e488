//! Rules: each is a sentence, and a test on SQLite and another one on PostgreSQL.

use std::sync::Arc;

use entity::Timestamp;
use futures::future::LocalBoxFuture;

use super::app::{App, Database, starting_at};
use super::flaky_acquirer::FlakyAcquirer;

/// What a rule starts from, on an empty database of its own.
pub trait Fixture: Sized {
    /// Makes it. None where PostgreSQL is not installed.
    async fn start(database: Database) -> Option<Self>;

    /// Checks what no rule may break.
    async fn check(&self) {}
}

impl Fixture for App {
    async fn start(database: Database) -> Option<Self> {
        Self::start(database).await
    }

    async fn check(&self) {
        self.check_books().await;
    }
}

/// A server, and the acquirer that it calls.
impl Fixture for (App, Arc<FlakyAcquirer>) {
    async fn start(database: Database) -> Option<Self> {
        let acquirer = Arc::new(FlakyAcquirer::default());
        Some((acquirer.clone().start(database).await?, acquirer))
    }

    async fn check(&self) {
        self.0.check_books().await;
    }
}

/// For rules that start their servers themselves.
impl Fixture for Database {
    async fn start(database: Database) -> Option<Self> {
        Some(database)
    }
}

/// Runs a rule on one database. Its servers begin at `start`.
// A function pointer and a boxed future: thousands of tests then share one copy of this code.
pub fn hold<F: Fixture>(
    database: Database,
    start: Timestamp,
    rule: for<'a> fn(&'a mut F) -> LocalBoxFuture<'a, ()>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let rule = async {
        let Some(mut fixture) = F::start(database).await else { return };
        rule(&mut fixture).await;
        fixture.check().await;
    };
    runtime.expect("a runtime").block_on(starting_at(start, rule));
}

/// Tests a function of this module on both databases. It gets the database, or a fixture by `&mut`, or what its call says. With
/// `#[dated]` it names dates: its servers begin on Monday, 2 March 2026, whatever day tests run as of.
macro_rules! on_both {
    ($name:ident $(, #[$dated:ident])?) => {
        $crate::harness::on_both!(
            $name, $crate::harness::Database, |database| super::$name(*database) $(, #[$dated])?
        );
    };
    ($name:ident, $fixture:ty) => {
        $crate::harness::on_both!($name, $fixture, |given| super::$name(given));
    };
    ($name:ident, $fixture:ty, |$given:pat_param| $call:expr) => {
        $crate::harness::on_both!($name, $fixture, |$given| $call, $crate::harness::as_of());
    };
    ($name:ident, $fixture:ty, |$given:pat_param| $call:expr, #[dated]) => {
        $crate::harness::on_both!($name, $fixture, |$given| $call, $crate::harness::MONDAY);
    };
    ($name:ident, $fixture:ty, |$given:pat_param| $call:expr, $start:expr) => {
        mod $name {
            #[test]
            fn sqlite() {
                use $crate::harness::{Database, hold};
                hold::<$fixture>(Database::Sqlite, $start, |$given| Box::pin($call));
            }

            #[test]
            fn postgres() {
                use $crate::harness::{Database, hold};
                hold::<$fixture>(Database::Postgres, $start, |$given| Box::pin($call));
            }
        }
    };
}
pub(crate) use on_both;

/// Rules of the API.
///
/// `rules! { async fn rule_as_a_sentence(app) { ... } }` with `app: &App`; the books are checked at the end.
///
/// `async fn rule_as_a_sentence(app, acquirer) { ... }` has `app: &mut App`, and its acquirer is `acquirer: &FlakyAcquirer`.
///
/// `#[dated]` before a rule is that of `on_both!`.
macro_rules! rules {
    ($($(#[$dated:ident])? async fn $name:ident($app:ident, $acquirer:ident) $body:block)*) => {$(
        async fn $name($app: &mut $crate::harness::App, $acquirer: &$crate::harness::FlakyAcquirer) $body

        $crate::harness::on_both!(
            $name,
            ($crate::harness::App, std::sync::Arc<$crate::harness::FlakyAcquirer>),
            |(app, acquirer)| super::$name(app, acquirer)
            $(, #[$dated])?
        );
    )*};
    ($($(#[$dated:ident])? async fn $name:ident($app:ident) $body:block)*) => {$(
        async fn $name($app: &$crate::harness::App) $body

        $crate::harness::on_both!(
            $name, $crate::harness::App, |app| super::$name(app) $(, #[$dated])?
        );
    )*};
}
pub(crate) use rules;

/// Rules of the program and its commands, with `installed: &mut Installed`.
macro_rules! operated {
    ($(async fn $name:ident($installed:ident) $body:block)*) => {$(
        async fn $name($installed: &mut $crate::harness::Installed) $body

        $crate::harness::on_both!($name, $crate::harness::Installed);
    )*};
}
pub(crate) use operated;
