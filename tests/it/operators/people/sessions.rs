//! Sessions of people, and how they end.

use super::*;

async fn a_session_ends_after_fifteen_idle_minutes_and_twelve_hours(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let instant = TimeSpan::from_millis(1);
    let mut browser = signed_in(&app, &provider, json!({})).await;
    for _ in 0..2 {
        app.clock.advance(PERSON_SESSION_IDLE);
        app.clock.advance(TimeSpan::from_millis(-1));
        browser.page("/accounts").await;
    }
    app.clock.advance(PERSON_SESSION_IDLE);
    led(&browser.get("/dashboard/accounts").await, "/dashboard/sign-in");
    let mut browser = signed_in(&app, &provider, json!({})).await;
    let steps = DASHBOARD_SESSION.millis() / TimeSpan::seconds(600).millis();
    for step in 1..=steps {
        app.clock.advance(TimeSpan::seconds(600));
        let answer = browser.get("/dashboard/accounts").await;
        assert_eq!(answer.status, if step < steps { 200 } else { 303 }, "{step} of {steps}");
    }
    app.clock.advance(instant);
    app.do_due_work().await;
    assert_eq!(app.number("SELECT COUNT(*) FROM person_sessions").await, 0, "nothing is left of them");
}

async fn signing_out_ends_one_session_and_everywhere_ends_all_of_the_person(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let person = |subject: &str| json!({ "sub": subject, "roles": ["administrator"] });
    let mut sessions = Vec::new();
    for subject in ["one", "one", "one", "another"] {
        sessions.push(signed_in(&app, &provider, person(subject)).await);
    }
    let kept = sessions[0].cookie.clone();
    let form = csrf_token(&sessions[0].page("/accounts").await);
    for path in ["/dashboard/sign-out", "/dashboard/sign-out/everywhere"] {
        refused(&sessions[0].post(path, &[]).await, 403, "was not sent by a page of your session");
    }
    led(&sessions[0].post("/dashboard/sign-out", &[("form", &form)]).await, "/dashboard/sign-in");
    sessions[0].cookie = kept;
    led(&sessions[0].get("/dashboard/accounts").await, "/dashboard/sign-in");
    let form = csrf_token(&sessions[1].page("/accounts").await);
    led(&sessions[1].post("/dashboard/sign-out/everywhere", &[("form", &form)]).await, "/dashboard/sign-in");
    led(&sessions[2].get("/dashboard/accounts").await, "/dashboard/sign-in");
    sessions[3].page("/accounts").await;
    let trail = trail(&app).await;
    assert!(
        trail.contains("person.signed_out_everywhere") && trail.contains("ada@example.com (one)"),
        "{trail}"
    );
}

async fn every_copy_knows_a_session_and_its_end(database: Database) {
    if database == Database::Sqlite {
        return;
    }
    let Some((app, provider)) = live(database, false).await else { return };
    let mut browser = signed_in(&app, &provider, json!({})).await;
    let copy = app.copy().await;
    let mut beside = Browser::with_client(Client::new(copy.router.clone(), None));
    beside.cookie.clone_from(&browser.cookie);
    let form = csrf_token(&beside.page("/accounts").await);
    led(&beside.post("/dashboard/sign-out", &[("form", &form)]).await, "/dashboard/sign-in");
    led(&browser.get("/dashboard/accounts").await, "/dashboard/sign-in");
}

async fn a_session_of_the_operators_key_that_was_signed_out_opens_nothing_anywhere(database: Database) {
    let Some((mut app, _provider)) = live(database, true).await else { return };
    let mut browser = Browser::new(&app);
    browser.post("/dashboard/sign-in", &[("key", OPERATOR)]).await;
    let (kept, form) = (browser.cookie.clone(), view(&app, &mut browser).await);
    let viewing = browser.cookie.clone();
    let mut other = Browser::new(&app);
    app.clock.advance(TimeSpan::seconds(12));
    other.post("/dashboard/sign-in", &[("key", OPERATOR)]).await;
    led(&browser.post("/dashboard/sign-out", &[("form", &form)]).await, "/dashboard/sign-in");
    let mut routers = vec![Browser::new(&app)];
    let copy = if database == Database::Postgres { Some(app.copy().await) } else { None };
    routers.extend(copy.as_ref().map(|copy| Browser::with_client(Client::new(copy.router.clone(), None))));
    for browser in &mut routers {
        for cookie in [&kept, &viewing] {
            browser.cookie.clone_from(cookie);
            led(&browser.get("/dashboard/accounts").await, "/dashboard/sign-in");
        }
        browser.cookie.clone_from(&other.cookie);
        browser.page("/accounts").await;
    }
    app.restart().await;
    let mut later = Browser::new(&app);
    for cookie in [&kept, &viewing] {
        later.cookie.clone_from(cookie);
        led(&later.get("/dashboard/accounts").await, "/dashboard/sign-in");
    }
    later.cookie.clone_from(&other.cookie);
    later.page("/accounts").await;
    assert_eq!(app.number("SELECT COUNT(*) FROM ended_sessions").await, 1);
    app.clock.advance(DASHBOARD_SESSION);
    app.do_due_work().await;
    assert_eq!(app.number("SELECT COUNT(*) FROM ended_sessions").await, 0, "the cookies have expired");
}

async fn an_administrator_ends_somebodys_sessions_at_every_copy(database: Database) {
    let Some((app, provider)) = live(database, true).await else { return };
    let person = |subject: &str, role: &str| json!({ "sub": subject, "email": format!("{subject}@example.com"), "roles": [role] });
    let mut former = signed_in(&app, &provider, person("grace", "viewer")).await;
    let mut grace = signed_in(&app, &provider, person("grace", "accounting")).await;
    let graces = view(&app, &mut grace).await;
    let mut ada = signed_in(&app, &provider, person("ada", "administrator")).await;
    let form = view(&app, &mut ada).await;
    let page = ada.page("/people").await;
    for part in ["ada@example.com", "administrator", "grace@example.com", "viewer, finance", ">2<"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let mut holder = Browser::new(&app);
    holder.post("/dashboard/sign-in", &[("key", OPERATOR)]).await;
    let holders = view(&app, &mut holder).await;
    let shown = holder.page("/people").await;
    assert!(shown.contains("grace@example.com") && !shown.contains("End all sessions"), "{shown}");
    let whom = [("issuer", provider.issuer.as_str()), ("subject", "grace")];
    let sent = |form| [&[("form", form)], &whom[..]].concat();
    refused(&grace.get("/dashboard/people").await, 403, "Your roles may not read keys");
    let [own, of_holder] = [sent(graces.as_str()), sent(holders.as_str())];
    refused(
        &app.unchanged(grace.post("/dashboard/people", &own)).await,
        403,
        "Your roles may not write keys",
    );
    refused(&app.unchanged(holder.post("/dashboard/people", &of_holder)).await, 403, "");
    refused(
        &app.unchanged(ada.post("/dashboard/people", &whom)).await,
        403,
        "was not sent by a page of your session",
    );
    for (issuer, subject) in
        [("https://elsewhere.example.com", "grace"), (provider.issuer.as_str(), "linus"), ("", "")]
    {
        let sent = [("form", form.as_str()), ("issuer", issuer), ("subject", subject)];
        refused(&app.unchanged(ada.post("/dashboard/people", &sent)).await, 404, "could not be found");
    }
    led(&ada.post("/dashboard/people", &sent(form.as_str())).await, "/dashboard/people");
    led(&former.get("/dashboard/accounts").await, "/dashboard/sign-in");
    if database == Database::Sqlite {
        led(&grace.get("/dashboard/accounts").await, "/dashboard/sign-in");
    } else {
        let copy = app.copy().await;
        let mut beside = Browser::with_client(Client::new(copy.router.clone(), None));
        beside.cookie.clone_from(&grace.cookie);
        led(&beside.get("/dashboard/accounts").await, "/dashboard/sign-in");
    }
    assert!(!ada.page("/people").await.contains("grace@example.com"));
    refused(
        &app.unchanged(ada.post("/dashboard/people", &sent(form.as_str()))).await,
        404,
        "could not be found",
    );
    let trail = trail(&app).await;
    for part in ["person.sessions_ended", "grace@example.com (grace)", "ada@example.com (ada)"] {
        assert!(trail.contains(part), "{part}: {trail}");
    }
    signed_in(&app, &provider, person("grace", "viewer")).await;
}

on_both!(a_session_ends_after_fifteen_idle_minutes_and_twelve_hours);
on_both!(signing_out_ends_one_session_and_everywhere_ends_all_of_the_person);
on_both!(every_copy_knows_a_session_and_its_end);
on_both!(an_administrator_ends_somebodys_sessions_at_every_copy);
on_both!(a_session_of_the_operators_key_that_was_signed_out_opens_nothing_anywhere);
