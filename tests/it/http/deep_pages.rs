//! Pages far back: each shows what reading the whole list page by page shows, whatever was added and has vanished since others were
//! read (`docs/architecture.md`, Deep pages).

use std::fmt::Display;

use card_payments::services::due_work_registry::KINDS;
use card_payments::services::search_text::contains;
use entity::event::EventType;
use entity::{AccountToken, ChargeToken, EventToken, Listed, Owned, PlanToken, charge, event, plan};
use sea_orm::{
    ColumnTrait, ConnectionTrait, IdenStatic, Iterable, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    Select, TryGetable,
};
use serde_json::json;

use crate::accounts::large::{copied, count, deleted, execute, filled, id_of, id_of_copy};
use crate::harness::{App, Client, Database, charge_with, rules, token_of};
use crate::store::statement_costs::since;
use crate::webhooks::happens;

/// The tokens of a list, in its order.
async fn tokens<E, T>(app: &App, rows: Select<E>) -> Vec<String>
where
    E: Listed,
    T: TryGetable + Display + Send + Sync,
{
    let rows = rows.select_only().column(E::ID).into_query();
    let rows = app.ctx().store.read().query_all(&rows).await.unwrap();
    rows.iter().map(|row| row.try_get::<T>("", "id").unwrap().to_string()).collect()
}

/// Compares deep pages of a list, in no order, with its records.
async fn pages_are_true(client: &Client, path: &str, all: &[String]) {
    let joint = if path.contains('?') { '&' } else { '?' };
    for per_page in [25, 250] {
        let last = all.len().div_ceil(per_page);
        let deep = 1_000_usize.div_ceil(per_page) + 1;
        let middle = usize::midpoint(deep, last);
        let pages = [middle, last, deep, last + 1, last - 1, deep + 1, middle + 1, 1, deep + 2];
        // Those that are longer than an anchor is deep take long.
        let pages = if per_page == 25 { &pages[..] } else { &pages[..4] };
        for &page in pages {
            let address = format!("{path}{joint}page={page}&per_page={per_page}");
            let answer = client.get(&address).await;
            let shown: Vec<_> = answer.ok(200).as_array().unwrap().iter().map(token_of).collect();
            let expected: Vec<_> = all.iter().skip((page - 1) * per_page).take(per_page).cloned().collect();
            assert_eq!(shown, expected, "{address}");
            assert_eq!(answer.json()["pagination"]["count"], all.len(), "{address}");
        }
    }
}

fn charges(account: AccountToken) -> Select<charge::Entity> {
    charge::Entity::owned_by(account).filter(charge::listed())
}

/// Compares the lists and searches of charges whose pages start from known positions.
async fn charges_are_true(app: &App, client: &Client, account: AccountToken) {
    use charge::Column::{Amount, CreatedAt, Id, SearchText};
    let backend = app.ctx().store.backend();
    let with = |words| charges(account).filter(contains(backend, SearchText.into_expr(), words));
    let lists = [
        ("/1/charges", charges(account).order_by_desc(Id)),
        ("/1/charges/search", charges(account).order_by_asc(CreatedAt).order_by_asc(Id)),
        ("/1/charges/search?direction=-1", charges(account).order_by_desc(CreatedAt).order_by_desc(Id)),
        ("/1/charges/search?sort=amount", charges(account).order_by_asc(Amount).order_by_asc(Id)),
        ("/1/charges/search?query=roland", with("roland").order_by_asc(CreatedAt).order_by_asc(Id)),
        (
            "/1/charges/search?query=roland&sort=amount&direction=-1",
            with("roland").order_by_desc(Amount).order_by_desc(Id),
        ),
        (
            "/1/charges/search?start_date=2020/01/01&direction=-1",
            charges(account).order_by_desc(CreatedAt).order_by_desc(Id),
        ),
    ];
    for (list, rows) in lists {
        pages_are_true(client, list, &tokens::<_, ChargeToken>(app, rows).await).await;
    }
}

/// Compares the lists of events.
async fn events_are_true(app: &App, client: &Client, account: AccountToken) {
    use event::Column::{Id, Sequence, Type};
    // Numbers them.
    client.get("/1/events").await.ok(200);
    let events = || event::Entity::owned_by(account).filter(Sequence.is_not_null());
    let updates = events().filter(Type.eq(EventType::CustomerUpdated));
    let lists = [
        ("/1/events", events().order_by_desc(Id)),
        ("/1/events?type=customer.updated", updates.order_by_desc(Sequence)),
        ("/1/events?after=0", events().order_by_asc(Sequence)),
    ];
    for (list, rows) in lists {
        pages_are_true(client, list, &tokens::<_, EventToken>(app, rows).await).await;
    }
}

fn plans(account: AccountToken) -> Select<plan::Entity> {
    plan::Entity::owned_by(account).filter(plan::Column::DeletedAt.is_null()).order_by_desc(plan::Column::Id)
}

/// Copies the account's plan. The n-th copy is older than the next.
async fn copied_plans(app: &App, account: AccountToken, numbers: std::ops::RangeInclusive<u32>) {
    let (first, last) = (numbers.start(), numbers.end());
    let columns: Vec<_> = plan::Column::iter().map(|column| format!("\"{}\"", column.as_str())).collect();
    let values = columns.iter().map(|column| match column.as_str() {
        "\"id\"" => id_of_copy(app).to_owned(),
        "\"name\"" => "'copy'".to_owned(),
        _ => format!("t.{column}"),
    });
    let (values, columns) = (values.collect::<Vec<_>>().join(", "), columns.join(", "));
    let sql = format!(
        "INSERT INTO plans ({columns}) WITH RECURSIVE s (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {last}) \
         SELECT {values} FROM s, plans t WHERE t.account_id = {} AND t.name = 'template'",
        id_of(app, account)
    );
    execute(app, sql).await;
    count(app, account, "plans", i64::from(last - first) + 1).await;
}

async fn plans_are_true(app: &App, client: &Client, account: AccountToken) {
    pages_are_true(client, "/1/plans", &tokens::<_, PlanToken>(app, plans(account)).await).await;
}

async fn account_of(app: &App) -> AccountToken {
    use sea_orm::EntityTrait;
    entity::account::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap().id
}

rules! {
    async fn deep_pages_of_charges_are_those_that_reading_page_by_page_gives(app) {
        let client = app.client();
        let account = filled(app, &client, 10..=1_710).await;
        charges_are_true(app, &client, account).await;
        charges_are_true(app, &client, account).await;
        let another = json!({ "email": "roland@example.com" });
        client.post("/1/charges", &charge_with(400, another)).await.ok(201);
        charges_are_true(app, &client, account).await;
        // Charges that were approved long after their time, and one that is gone.
        copied(app, account, 1_750..=1_751).await;
        copied(app, account, 5..=5).await;
        charges_are_true(app, &client, account).await;
        deleted(app, account, 400).await;
        charges_are_true(app, &client, account).await;
    }

    async fn deep_pages_of_a_search_lack_charges_whose_words_were_erased(app) {
        let client = app.client();
        let account = filled(app, &client, 10..=1_710).await;
        charges_are_true(app, &client, account).await;
        // As an erasure of a customer's charges does.
        let copy = |n: u32| format!("id = (SELECT {} FROM (SELECT {n} AS n) AS one)", id_of_copy(app));
        for n in [300, 900] {
            execute(app, format!("UPDATE charges SET search_text = 'erased' WHERE {}", copy(n))).await;
            count(app, account, "erased_charges", 1).await;
            charges_are_true(app, &client, account).await;
        }
        execute(app, format!("UPDATE charges SET search_text = 'roland' WHERE {} OR {}", copy(300), copy(900))).await;
    }

    async fn deep_pages_of_a_restored_account_are_its_own(app) {
        let client = app.client();
        let account = filled(app, &client, 10..=1_710).await;
        charges_are_true(app, &client, account).await;
        // As many charges as before, but others; a restored account's clock has moved.
        deleted(app, account, 400).await;
        copied(app, account, 5..=5).await;
        execute(app, "UPDATE accounts SET clock_moves = clock_moves + 1".into()).await;
        charges_are_true(app, &client, account).await;
    }

    async fn deep_pages_of_events_are_true_while_old_ones_expire_and_new_ones_come(app) {
        let client = app.client();
        happens(app, 1_800).await;
        let account = account_of(app).await;
        events_are_true(app, &client, account).await;
        client.captured(400).await;
        events_are_true(app, &client, account).await;
        // Some of the oldest expire, and one in their midst does not.
        let long_ago = entity::TimeSpan::days(92).millis();
        execute(app, format!("UPDATE events SET created_at = created_at - {long_ago} WHERE sequence <= 90 AND sequence <> 50")).await;
        execute(app, "UPDATE accounts SET purge_at = 0".into()).await;
        KINDS.iter().find(|kind| kind.name == "retention").unwrap().run(app.ctx()).await.unwrap();
        assert_eq!(app.number("SELECT COUNT(*) FROM events").await, 1_712);
        events_are_true(app, &client, account).await;
        // More than are counted beyond the anchor.
        happens(app, 900).await;
        events_are_true(app, &client, account).await;
    }

    async fn a_plan_that_vanishes_and_one_that_comes_late_do_not_cancel_out(app) {
        let client = app.client();
        client.plan(&json!({ "name": "template" })).await;
        let account = account_of(app).await;
        copied_plans(app, account, 10..=1_400).await;
        plans_are_true(app, &client, account).await;
        let all = tokens::<_, PlanToken>(app, plans(account)).await;
        client.delete(&format!("/1/plans/{}", all[700])).await.ok(204);
        plans_are_true(app, &client, account).await;
        client.delete(&format!("/1/plans/{}", all[1_200])).await.ok(204);
        copied_plans(app, account, 5..=5).await;
        plans_are_true(app, &client, account).await;
        client.plan(&json!({ "name": "another" })).await;
        plans_are_true(app, &client, account).await;
    }

    // These numbers decide how fast pages far back are. They may fall; a change that raises one must say why.
    async fn a_page_far_back_costs_as_many_statements_as_the_first(app) {
        let client = app.client();
        filled(app, &client, 10..=1_710).await;
        client.get("/1/events").await.ok(200);
        let costs = async |path: &str| {
            let before = app.statements_from_now().await;
            client.get(path).await.ok(200);
            since(before, app.ctx().store.statements()).0
        };
        for list in [
            "/1/charges?", "/1/charges/search?", "/1/charges/search?sort=amount", "/1/charges/search?start_date=2020/01/01",
            "/1/charges/search?query=roland",
        ] {
            // The first search of a minute also takes a sample of words and counts.
            costs(list).await;
            let first = costs(list).await;
            // An anchor is chosen, and the rows up to it are counted.
            let anchored = if list.contains("amount") { 1 } else { 2 };
            assert_eq!(costs(&format!("{list}&page=50")).await, first + anchored, "{list}");
            for page in [50, 51, 68] {
                assert_eq!(costs(&format!("{list}&page={page}")).await, first, "{list}, page {page}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_of_the_server_read_the_same_pages_whatever_the_other_one_writes() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let copy = app.copy().await;
    let clients = [app.client(), Client::new(copy.router.clone(), Some(app.secret_key().to_owned()))];
    let account = filled(&app, &clients[0], 10..=1_710).await;
    clients[0].plan(&json!({ "name": "template" })).await;
    copied_plans(&app, account, 10..=1_400).await;
    for (writer, reader) in [(0, 1), (1, 0), (0, 1)] {
        for client in &clients {
            charges_are_true(&app, client, account).await;
            plans_are_true(&app, client, account).await;
        }
        let another = json!({ "email": "roland@example.com" });
        clients[writer].post("/1/charges", &charge_with(400, another)).await.ok(201);
        let all = tokens::<_, PlanToken>(&app, plans(account)).await;
        clients[writer].delete(&format!("/1/plans/{}", all[800])).await.ok(204);
        charges_are_true(&app, &clients[reader], account).await;
        plans_are_true(&app, &clients[reader], account).await;
    }
    app.check_books().await;
}
