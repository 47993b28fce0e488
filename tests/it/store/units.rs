//! Units of work: all of a unit is committed, or nothing, whatever becomes of its neighbours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use card_payments::error::{Error, ErrorCode};
use card_payments::services::counts::Counts;
use card_payments::services::webhooks::outbox;
use entity::counter::{self, Counted};
use entity::installation;
use futures::future::{join_all, join3};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, Statement};
use serde_json::json;
use store::Tx;
use tokio::sync::{Barrier, Semaphore};

use crate::harness::{App, Database, charge, charge_with, eventually, postgres, rules};
use crate::store::statement_costs::since;

/// What a unit does with its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// It appends its row.
    Appending,
    /// It writes its row by a statement.
    Writing,
    /// It appends its row, then refuses.
    AppendingRefused,
    /// It writes its row by a statement, then refuses.
    WritingRefused,
    /// It writes its row by a statement, then panics.
    Panicking,
    /// It sends a statement that no database understands.
    Failing,
}

impl Ends {
    fn is_kept(self) -> bool {
        matches!(self, Self::Appending | Self::Writing)
    }
}

async fn act(tx: &Tx, name: &str, ends: Ends) -> Result<(), Error> {
    let row = installation::Model { name: name.into(), value: "unit".into() };
    match ends {
        Ends::Appending | Ends::AppendingRefused => tx.append(&row),
        Ends::Writing | Ends::WritingRefused | Ends::Panicking => {
            let sql = format!("INSERT INTO installation (name, value) VALUES ('{name}', 'unit')");
            tx.execute_unprepared(&sql).await?;
        }
        Ends::Failing => {
            tx.execute_unprepared("this is no SQL").await?;
        }
    }
    match ends {
        Ends::Appending | Ends::Writing | Ends::Failing => Ok(()),
        Ends::AppendingRefused | Ends::WritingRefused => Err(ErrorCode::BadRequest.into()),
        Ends::Panicking => panic!("the panic of a unit"),
    }
}

/// Runs units at once: the first one holds SQLite's writer until the others wait, so that they share a batch.
async fn together(app: &App, units: &[Ends]) -> Vec<Result<(), Error>> {
    let store = &app.ctx().store;
    let gate = Arc::new(Semaphore::new(0));
    let first = store.write(Arc::clone(&gate), async |_, gate| {
        // The permit comes back: a neighbour may spoil the batch, and then this runs again.
        drop(gate.acquire().await);
        Ok(())
    });
    let others = units.iter().enumerate().map(|(n, ends)| {
        store.write((format!("unit {n}"), *ends), async |tx, (name, ends)| act(tx, name, *ends).await)
    });
    // Each is in the queue once it was polled, and they are polled in this order.
    let (held, results, ()) = join3(first, join_all(others), async { gate.add_permits(1) }).await;
    held.unwrap();
    results
}

async fn kept(app: &App) -> Vec<String> {
    let rows = installation::Entity::find().all(app.ctx().store.read()).await.unwrap();
    let mut names: Vec<_> = rows.into_iter().filter(|row| row.value == "unit").map(|row| row.name).collect();
    names.sort();
    names
}

/// Whatever becomes of one unit, its neighbours are done.
async fn only_the_good_are_kept(app: &App, units: &[Ends]) {
    let results = together(app, units).await;
    for (ends, result) in units.iter().zip(&results) {
        let code = result.as_ref().map_err(Error::code);
        match ends {
            Ends::Appending | Ends::Writing => assert_eq!(code, Ok(&())),
            Ends::AppendingRefused | Ends::WritingRefused => assert_eq!(code, Err(ErrorCode::BadRequest)),
            Ends::Panicking | Ends::Failing => assert_eq!(code, Err(ErrorCode::InternalError)),
        }
    }
    let good = units.iter().enumerate().filter(|(_, ends)| ends.is_kept());
    assert_eq!(kept(app).await, good.map(|(n, _)| format!("unit {n}")).collect::<Vec<_>>());
}

/// Takes a free row, with a row of its own. Otherwise returns the owner.
async fn take(tx: &Tx, who: &str) -> Result<String, Error> {
    let free = installation::Entity::update_many()
        .filter(installation::Column::Name.eq("prize"))
        .filter(installation::Column::Value.eq("free"))
        .col_expr(installation::Column::Value, Expr::value(who));
    if tx.compare_and_set(free).await? {
        tx.append(&installation::Model { name: who.into(), value: "unit".into() });
        return Ok(who.to_owned());
    }
    let prize = installation::Entity::find_by_id("prize").one(tx).await?;
    Ok(prize.unwrap().value)
}

async fn offer_prize(app: &App) {
    let unit = app.ctx().store.write((), async |tx, ()| {
        tx.append(&installation::Model { name: "prize".into(), value: "free".into() });
        Ok(())
    });
    unit.await.unwrap();
}

async fn takes(app: &App, who: &str) -> String {
    let unit = app.ctx().store.write(who.to_owned(), async |tx, who| take(tx, who).await);
    unit.await.unwrap()
}

#[tokio::test]
async fn a_statement_of_many_rows_is_not_kept_by_a_connection_to_postgres() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    for (rows, kept) in [(5, 1), (300, 0)] {
        let names = (0..rows).map(|name| name.to_string());
        let some = installation::Entity::find().filter(installation::Column::Name.is_in(names));
        some.all(app.ctx().store.read()).await.unwrap();
        // The connection that was used last is the next one's.
        let known = format!(
            "SELECT COUNT(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT \"installation\"%IN%${rows})%'"
        );
        assert_eq!(app.number(&known).await, kept, "{rows}");
    }
}

/// A plan for all words would look each row of an account up that holds the one that is asked for.
#[tokio::test]
async fn postgres_plans_the_size_of_a_broad_search_for_its_words() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    app.client().post("/1/charges", &charge(400)).await.ok(201);
    app.client().get("/1/charges/search?query=ro").await.ok(200);
    // The connection that was used last is the next one's.
    let kept = async |said: &str| {
        let searches = "statement LIKE '%charges%LIKE%' AND statement NOT LIKE '%pg_prepared%'";
        let prepared = format!("SELECT COUNT(*) FROM pg_prepared_statements WHERE {searches}");
        app.number(&format!("{prepared} AND statement LIKE '%{said}%'")).await
    };
    assert_eq!((kept("rows_found").await, kept("ORDER BY").await), (0, 1), "the size, the page");
}

/// So of the transactions in flight on all servers none waits for another one's counts.
#[tokio::test]
async fn postgres_counts_in_the_slot_of_the_session_that_writes() {
    const SESSION: &str = "SELECT number % 32 AS slot FROM pg_stat_get_backend_idset() AS number \
         WHERE pg_stat_get_backend_pid(number) = pg_backend_pid()";
    // PostgreSQL 15 numbers its sessions again when a session of another test has ended since.
    for _ in 0..10 {
        let Some(app) = App::start(Database::Postgres).await else { return };
        let account = app.account().await;
        let everybody = Arc::new(Barrier::new(8));
        let units = (0..8).map(|_| {
            app.ctx().store.write((Arc::clone(&everybody), account), async |tx, (everybody, account)| {
                let session = Statement::from_string(DbBackend::Postgres, SESSION);
                let slot: i32 = tx.query_one_raw(session).await?.unwrap().try_get("", "slot")?;
                // No unit ends before each has a session.
                everybody.wait().await;
                tx.add::<Counts>((*account, Counted::Deposits), 1);
                Ok(slot)
            })
        });
        let mut slots: Vec<i32> = join_all(units).await.into_iter().map(Result::unwrap).collect();
        slots.sort_unstable();
        slots.dedup();
        let rows = counter::Entity::find()
            .filter(counter::Column::Kind.eq(Counted::Deposits))
            .all(app.ctx().store.read());
        let mut rows: Vec<i32> = rows.await.unwrap().into_iter().map(|row| row.slot).collect();
        rows.sort_unstable();
        if rows == slots {
            return;
        }
    }
    panic!("counted in other slots, ten times");
}

rules! {
    async fn a_panic_does_not_harm_its_neighbours(app) {
        only_the_good_are_kept(app, &[Ends::Writing, Ends::Panicking, Ends::Appending, Ends::Writing]).await;
    }

    async fn a_failed_statement_does_not_harm_its_neighbours(app) {
        only_the_good_are_kept(app, &[Ends::Appending, Ends::Failing, Ends::Writing]).await;
    }

    async fn a_refusal_leaves_no_trace(app) {
        only_the_good_are_kept(app, &[Ends::AppendingRefused]).await;
        assert_eq!(together(app, &[Ends::WritingRefused]).await.len(), 1);
        assert!(kept(app).await.is_empty());
    }

    async fn a_unit_that_writes_and_then_refuses_is_rolled_back_and_its_neighbours_commit(app) {
        let units = [
            Ends::Writing, Ends::AppendingRefused, Ends::Appending, Ends::WritingRefused, Ends::Writing,
            Ends::Panicking, Ends::Appending,
        ];
        only_the_good_are_kept(app, &units).await;
    }

    async fn a_unit_sees_what_it_has_written(app) {
        let seen = app.ctx().store.write((), async |tx, ()| {
            act(tx, "mine", Ends::Writing).await?;
            Ok(installation::Entity::find_by_id("mine").one(tx).await?.is_some())
        });
        assert!(seen.await.unwrap());
    }

    async fn a_caller_that_goes_away_leaves_no_half_unit(app) {
        let ctx = app.ctx().clone();
        let (inside, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let signals = (Arc::clone(&inside), Arc::clone(&gate));
        let caller = tokio::spawn(async move {
            ctx.store.write(signals, async |tx, (inside, gate)| {
                act(tx, "one", Ends::Writing).await?;
                inside.add_permits(1);
                drop(gate.acquire().await);
                act(tx, "other", Ends::Writing).await
            }).await
        });
        inside.acquire().await.unwrap().forget();
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        assert!(kept(app).await.is_empty());
        gate.add_permits(1);
        eventually(async || kept(app).await == ["one", "other"]).await;
    }

    // On SQLite there is one writer, so the two never meet; on PostgreSQL they lock each other out, and one is repeated.
    async fn units_that_get_in_each_others_way_are_repeated(app) {
        // A table that is whole on every node takes one writer at a time: these two would wait for each other for ever.
        if postgres::is_distributed() {
            return;
        }
        for name in ["left", "right"] {
            let data = name.to_owned();
            app.ctx().store.write(data, async |tx, name| act(tx, name, Ends::Writing).await).await.unwrap();
        }
        let (runs, met) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let (meeting, expected) = match app.database { Database::Sqlite => (1, 2), Database::Postgres => (2, 3) };
        let cross = |first: &'static str, second: &'static str| {
            let data = ([first, second], Arc::clone(&runs), Arc::clone(&met), meeting);
            app.ctx().store.write(data, async |tx, (names, runs, met, meeting)| {
                runs.fetch_add(1, Ordering::SeqCst);
                for name in names {
                    let sql = format!("UPDATE installation SET value = value || '+' WHERE name = '{name}'");
                    tx.execute_unprepared(&sql).await?;
                    met.add_permits(1);
                    drop(met.acquire_many(*meeting).await);
                }
                Ok(())
            })
        };
        let (one, other) = futures::future::join(cross("left", "right"), cross("right", "left")).await;
        one.unwrap();
        other.unwrap();
        assert_eq!(app.number("SELECT COUNT(*) FROM installation WHERE value = 'unit++'").await, 2);
        // PostgreSQL breaks a deadlock by failing one of them; on a busy machine it may fail both.
        let runs = runs.load(Ordering::SeqCst);
        assert!((expected..=expected + 2).contains(&runs), "{runs}");
    }

    async fn of_many_units_with_one_guard_one_goes_on_and_the_others_find_out(app) {
        offer_prize(app).await;
        let winners = join_all((0..16).map(|n| async move { takes(app, &format!("taker {n}")).await })).await;
        assert!(winners.iter().all(|winner| *winner == winners[0]), "{winners:?}");
        assert_eq!(kept(app).await, [winners[0].clone()]);
    }

    async fn a_guard_that_lost_costs_its_unit_a_second_run_where_it_was_held(app) {
        offer_prize(app).await;
        let mut costs = Vec::new();
        for who in ["first", "second"] {
            let before = app.ctx().store.statements();
            assert_eq!(takes(app, who).await, "first");
            costs.push(since(before, app.ctx().store.statements()));
        }
        // Guard and row are one statement; then that statement in vain, the guard alone, and the look. A call writes no row of a
        // table that is whole on every node.
        let is_one = app.database == Database::Postgres && !postgres::is_distributed();
        let expected = if is_one { [(0, 1, 1), (0, 3, 2)] } else { [(0, 2, 1), (0, 2, 1)] };
        assert_eq!(costs, expected);
        assert_eq!(kept(app).await, ["first"]);
    }

    // The guard may have been answered before it was sent: a refusal that rests on it counts only if it was right.
    async fn a_unit_refuses_by_what_its_guard_found(app) {
        offer_prize(app).await;
        assert_eq!(takes(app, "first").await, "first");
        let refuses = app.ctx().store.write((), async |tx, ()| {
            if take(tx, "second").await? == "second" { Err(ErrorCode::BadRequest.into()) } else { Ok("lost") }
        });
        assert_eq!(refuses.await.unwrap(), "lost");
        assert_eq!(kept(app).await, ["first"]);
    }

    async fn several_guards_are_won_together_or_not_at_all(app) {
        offer_prize(app).await;
        let both = |first: &'static str| app.ctx().store.write(first, async |tx, first| {
            let is = |name: &'static str| installation::Entity::update_many()
                .filter(installation::Column::Name.eq(name))
                .col_expr(installation::Column::Value, Expr::value("both"));
            let won = tx.compare_and_set(is(first)).await? && tx.compare_and_set(is("nobody")).await?;
            tx.defer_update(installation::Entity::delete_many().filter(installation::Column::Name.eq("prize"))).await?;
            if won { Ok(()) } else { Err(ErrorCode::BadRequest.into()) }
        });
        assert_eq!(both("prize").await.unwrap_err().code(), ErrorCode::BadRequest);
        assert_eq!(takes(app, "after all").await, "after all");
    }

    async fn a_row_is_changed_only_while_its_guards_are_as_seen(app) {
        offer_prize(app).await;
        let swapped = |seen: &str, value: &str| {
            let row = |value: &str| installation::Model { name: "prize".into(), value: value.into() };
            app.ctx().store.write((row(seen), row(value)), async |tx, (seen, row)| {
                Ok(tx.compare_and_swap(seen, row, &[installation::Column::Value]).await?)
            })
        };
        assert!(swapped("free", "mine").await.unwrap());
        assert!(!swapped("free", "yours").await.unwrap());
        // With nothing to change, the row is compared all the same.
        assert!(swapped("mine", "mine").await.unwrap());
        assert!(!swapped("free", "free").await.unwrap());
        assert_eq!(takes(app, "nobody").await, "mine");
    }

    async fn units_that_end_badly_leave_sound_connections(app) {
        for _ in 0..50 {
            let panics = app.ctx().store.write((), async |tx, ()| act(tx, "gone", Ends::Panicking).await);
            assert_eq!(panics.await.unwrap_err().code(), ErrorCode::InternalError);
            let looks = installation::Entity::find_by_id("x").one(app.ctx().store.read());
            // The reader may go away at any moment.
            drop(futures::poll!(Box::pin(looks)));
        }
        assert!(kept(app).await.is_empty());
        app.client().captured(400).await;
    }

    async fn an_event_is_announced_to_the_courier_if_an_endpoint_listens(app) {
        let client = app.client();
        let mut heard = outbox::listen(&app.ctx().store, Arc::clone(&app.ctx().clock));
        client.captured(400).await;
        assert!(heard.is_empty());
        client.endpoint("http://127.0.0.1:1/").await;
        client.captured(400).await;
        let event = heard.try_recv().map(|announcement| announcement.event.to_string());
        let told = client.get("/1/events").await.ok(200);
        assert_eq!(event.ok().as_deref(), told[0]["token"].as_str());
        assert!(heard.is_empty());
    }

    async fn counters_and_balances_are_right_after_many_charges_at_once(app) {
        let client = app.client().patient();
        let answers = join_all((0..200).map(|n| {
            let client = client.clone();
            async move {
                let parameters = if n % 4 == 0 { charge_with(400, json!({ "capture": false })) } else { charge(400) };
                tokio::spawn(async move { client.post("/1/charges", &parameters).await }).await.unwrap()
            }
        })).await;
        for answer in answers {
            answer.ok(201);
        }
        assert_eq!(client.listed().await, 200);
        assert_eq!(client.balance().await, (100_000_000, 150 * 363));
        assert_eq!(client.get("/1/charges/search?query=roland").await.json()["pagination"]["count"], 200);
        assert_eq!(app.events().await.len(), 200);
    }
}
