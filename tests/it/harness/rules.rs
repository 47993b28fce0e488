//! Rules: each is a sentence, and a test on SQLite and another one on PostgreSQL.

use std::sync::Arc;

use futures::future::LocalBoxFuture;

use super::app::{App, Database};
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

/// Runs a rule on one database.
// A function pointer and a boxed future: thousands of tests then share one copy of this code.
pub fn hold<F: Fixture>(database: Database, rule: for<'a> fn(&'a mut F) -> LocalBoxFuture<'a, ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let Some(mut fixture) = F::start(database).await else { return };
        rule(&mut fixture).await;
        fixture.check().await;
    });
}

/// Tests a function of this module on both databases. It gets the database, or a fixture by `&mut`, or what its call says.
macro_rules! on_both {
    ($name:ident) => {
        $crate::harness::on_both!($name, $crate::harness::Database, |database| super::$name(*database));
    };
    ($name:ident, $fixture:ty) => {
        $crate::harness::on_both!($name, $fixture, |given| super::$name(given));
    };
    ($name:ident, $fixture:ty, |$given:pat_param| $call:expr) => {
        mod $name {
            #[test]
            fn sqlite() {
                use $crate::harness::{Database, hold};
                hold::<$fixture>(Database::Sqlite, |$given| Box::pin($call));
            }

            #[test]
            fn postgres() {
                use $crate::harness::{Database, hold};
                hold::<$fixture>(Database::Postgres, |$given| Box::pin($call));
            }
        }
    };
}
pub(crate) use on_both;

/// Rules of the API.
///
/// `rules! { async fn rule_as_a_sentence(app) { ... } }` with `app: &App`; the books are checked at the end.
///
/// `async fn rule_as_a_sentence(app, line) { ... }` has `app: &mut App`, and its acquirer is `line: &FlakyAcquirer`.
macro_rules! rules {
    ($(async fn $name:ident($app:ident, $line:ident) $body:block)*) => {$(
        async fn $name($app: &mut $crate::harness::App, $line: &$crate::harness::FlakyAcquirer) $body

        $crate::harness::on_both!(
            $name,
            ($crate::harness::App, std::sync::Arc<$crate::harness::FlakyAcquirer>),
            |(app, line)| super::$name(app, line)
        );
    )*};
    ($(async fn $name:ident($app:ident) $body:block)*) => {$(
        async fn $name($app: &$crate::harness::App) $body

        $crate::harness::on_both!($name, $crate::harness::App);
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

mod temporary {
    use super::*;
    use std::time::Instant;
    use crate::harness::migrated::migrated;
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn phases() {
        for database in [Database::Sqlite, Database::Postgres] {
            let mut sums = [0.0f64; 6];
            for round in 0..41 {
                let t = Instant::now();
                let folder = tempfile::tempdir().unwrap();
                let copy = migrated(database, folder.path()).await;
                let a = t.elapsed().as_secs_f64();
                drop(copy);
                let t = Instant::now();
                let app = App::start(database).await.unwrap();
                let b = t.elapsed().as_secs_f64();
                let t = Instant::now();
                app.client().get("/1/charges").await.ok(200);
                let c = t.elapsed().as_secs_f64();
                let t = Instant::now();
                app.differences().await;
                let d = t.elapsed().as_secs_f64();
                let t = Instant::now();
                app.check_books().await;
                let e = t.elapsed().as_secs_f64();
                let t = Instant::now();
                drop(app);
                let f = t.elapsed().as_secs_f64();
                if round > 0 { for (s, v) in sums.iter_mut().zip([a, b, c, d, e, f]) { *s += v * 1000.0 / 40.0; } }
            }
            eprintln!("PHASES {database:?} migrated {:.1} start {:.1} get {:.1} differences {:.1} books {:.1} drop {:.1}", sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]);
        }
    }
}
