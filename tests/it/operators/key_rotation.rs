//! A fresh pair of keys, and how long the former ones work on (`docs/decisions.md`, 73 to 76).

use card_payments::services::accounts::{self, ApiKeyPair, keys};
use entity::{AccountToken, TimeSpan, account};
use futures::future::join_all;
use sea_orm::{EntityTrait, QueryOrder};

use crate::harness::{Answer, App, card, operated, rounds, rules};

const DAY: TimeSpan = TimeSpan::days(1);
const PATH: &str = "/1/charges";

/// The first account.
async fn account(app: &App) -> AccountToken {
    let first = account::Entity::find().order_by_asc(account::Column::Id);
    first.one(app.ctx().store.read()).await.unwrap().unwrap().id
}

/// Gives it a fresh pair.
async fn rotate(app: &App, grace: TimeSpan) -> ApiKeyPair {
    keys::rotate(app.ctx(), account(app).await, grace).await.unwrap()
}

/// Returns whether a secret key works, for a server that has not seen it lately.
async fn works(app: &App, key: &str) -> bool {
    app.ctx().memory.keys.invalidate_all();
    match app.with_key(key).get(PATH).await.status {
        200 => true,
        401 => false,
        status => panic!("{status}"),
    }
}

/// A card stored as a browser stores it.
async fn store(app: &App, publishable: &str) -> Answer {
    let path = format!("/1/cards?publishable_api_key={publishable}");
    app.anonymous().post(&path, &card("4200000000000000")).await
}

rules! {
    async fn the_former_pair_works_on_for_the_grace_period_and_not_a_moment_longer(app) {
        let fresh = rotate(app, DAY).await;
        assert!(works(app, fresh.secret.expose()).await && works(app, app.secret_key()).await);
        store(app, app.publishable_key()).await.ok(201);
        let account = app.client().get("/1/sandbox/account").await.ok(200);
        app.clock.advance(TimeSpan::from_millis(86_399_999));
        // Remembered from now on, with its end.
        assert!(works(app, app.secret_key()).await);
        app.clock.advance(TimeSpan::from_millis(1));
        app.client().get(PATH).await.refused(401, "unauthorized");
        store(app, app.publishable_key()).await.refused(401, "unauthorized");
        let fresh_client = app.with_key(fresh.secret.expose());
        assert_eq!(fresh_client.get("/1/sandbox/account").await.ok(200), account, "it is the same account");
        store(app, fresh.publishable.expose()).await.ok(201);
    }

    async fn without_grace_the_former_pair_ends_at_once(app) {
        let fresh = rotate(app, TimeSpan::ZERO).await;
        assert!(!works(app, app.secret_key()).await && works(app, fresh.secret.expose()).await);
    }

    async fn no_rotation_prolongs_a_key_whose_end_is_set(app) {
        let second = rotate(app, DAY).await;
        let third = rotate(app, TimeSpan::days(9)).await;
        app.clock.advance(DAY);
        assert!(!works(app, app.secret_key()).await, "a day was said first");
        assert!(works(app, second.secret.expose()).await && works(app, third.secret.expose()).await);
        let fourth = rotate(app, TimeSpan::ZERO).await;
        assert!(!works(app, second.secret.expose()).await && !works(app, third.secret.expose()).await, "now, before the ninth day");
        assert!(works(app, fourth.secret.expose()).await);
    }

    async fn of_many_rotations_at_once_one_pair_is_left(app) {
        for _ in 0..rounds().min(5) {
            let first = account(app).await;
            let rotated = join_all((0..4).map(|_| keys::rotate(app.ctx(), first, DAY))).await;
            assert!(rotated.into_iter().all(|keys| keys.is_ok()));
            assert_eq!(app.number("SELECT COUNT(*) FROM api_keys WHERE valid_until IS NULL").await, 2);
            app.clock.advance(TimeSpan::seconds(1));
        }
    }

    async fn a_server_that_starts_shows_the_youngest_pair(app) {
        app.clock.advance(TimeSpan::seconds(1));
        let fresh = rotate(app, DAY).await;
        let shown = accounts::ensure_first_account(app.ctx(), None, None).await.unwrap();
        assert!(shown.secret == fresh.secret && shown.publishable == fresh.publishable);
        // A start adds none, nor does it give a key back whose end is set.
        assert_eq!(app.number("SELECT COUNT(*) FROM api_keys").await, 4);
        assert_eq!(app.number("SELECT COUNT(*) FROM api_keys WHERE valid_until IS NULL").await, 2);
    }

    async fn keys_that_have_ended_go_and_those_that_may_still_work_stay(app) {
        let keys = async || app.number("SELECT COUNT(*) FROM api_keys").await;
        let second = rotate(app, DAY).await;
        app.do_due_work().await;
        assert_eq!(keys().await, 4, "their day is not over");
        app.clock.advance(DAY);
        app.do_due_work().await;
        assert_eq!(keys().await, 2);
        assert!(!works(app, app.secret_key()).await && works(app, second.secret.expose()).await);
        // What is configured once more is as if it were new.
        accounts::ensure_first_account(app.ctx(), Some(app.secret_key().into()), None).await.unwrap();
        app.do_due_work().await;
        assert!(works(app, app.secret_key()).await && keys().await == 3);
    }

    async fn a_key_that_is_configured_again_works_again(app) {
        let (secret, publishable) = (app.secret_key().to_owned(), app.publishable_key().to_owned());
        app.clock.advance(TimeSpan::seconds(1));
        let fresh = rotate(app, TimeSpan::ZERO).await;
        assert!(!works(app, &secret).await);
        app.clock.advance(TimeSpan::seconds(1));
        let configure = |secret: &str| {
            accounts::ensure_first_account(app.ctx(), Some(secret.into()), None)
        };
        let shown = configure(&secret).await.unwrap();
        assert!(shown.secret.expose() == secret && shown.publishable == fresh.publishable);
        assert!(works(app, &secret).await && works(app, fresh.secret.expose()).await);
        store(app, &publishable).await.refused(401, "unauthorized");
        let again = accounts::ensure_first_account(app.ctx(), None, None).await.unwrap();
        assert!(again.secret.expose() == secret, "it is the youngest now");
    }
}

operated! {
    async fn an_operator_rotates_keys_beside_a_server(installed) {
        let server = installed.serve();
        let (former, _) = server.keys();
        server.pay(&former).ok(201);
        let account = installed.account();
        let fresh = installed.records(&["account", "rotate-keys", &account]).remove(0);
        let (secret, publishable) = (fresh["secret_key"].as_str().unwrap(), fresh["publishable_key"].as_str().unwrap());
        assert_eq!((fresh["token"].as_str(), fresh["business_name"].as_str()), (Some(&*account), Some("First account")));
        server.pay(secret).ok(201);
        server.pay(&former).ok(201);
        let day = "SELECT COUNT(*) FROM api_keys WHERE valid_until - created_at >= 86400000";
        assert_eq!(installed.number(day).await, 2);
        let (code, stdout, _) = installed.run(&["account", "rotate-keys", &account, "--grace", "0h"]);
        assert_eq!((code, stdout.lines().count()), (Some(0), 3));
        let page = server.ask("GET", "/dashboard", None, "");
        assert!(page.body.contains("name=\"key\""), "the server knows the former key: {}", page.body);
        server.stopped();
        let server = installed.serve();
        let newest = server.keys();
        assert!(stdout.contains(&newest.0) && stdout.contains(&newest.1));
        for ended in [&former, secret] {
            assert_eq!(server.pay(ended).status, 401);
        }
        assert_eq!(server.ask("POST", "/1/cards", None, &format!("publishable_api_key={publishable}")).status, 401);
        server.pay(&newest.0).ok(201);
        server.stopped();
    }
}
