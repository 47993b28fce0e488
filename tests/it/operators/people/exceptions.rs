//! Exceptions that people work off.

use super::*;

async fn people_work_off_exceptions_in_their_names(database: Database) {
    let Some((app, provider)) = live(database, true).await else { return };
    let mut file = tempfile::tempfile().unwrap();
    let statement = "type,reference,amount,currency,day\nstatement,monday,,,2026-03-01\n\
        capture,ch_1:charge,400,AUD,2026-03-01\ncapture,ch_2:charge,500,AUD,2026-03-01\nend,monday,2,,2026-03-01\n";
    file.write_all(statement.as_bytes()).unwrap();
    file.rewind().unwrap();
    reconcile(&app.ctx().store, file, app.clock.now(), &()).await.unwrap();
    let mut ada = signed_in(&app, &provider, json!({ "sub": "ada", "roles": ["accounting"] })).await;
    let form = view(&app, &mut ada).await;
    let page = ada.page("/exceptions").await;
    assert!(page.contains("ch_1:charge") && page.contains("A$4.00") && page.contains("foreign"), "{page}");
    let token = page.split("/exceptions/").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let path = |verb: &str| format!("/dashboard/exceptions/{token}/{verb}");

    let mut viewer = signed_in(&app, &provider, json!({ "sub": "grace" })).await;
    let viewers = view(&app, &mut viewer).await;
    assert!(viewer.page("/exceptions").await.contains("ch_1:charge"));
    let mine = [("form", viewers.as_str()), ("note", "Mine")];
    refused(
        &app.unchanged(viewer.post(&path("resolve"), &mine)).await,
        403,
        "Your roles may not write balance",
    );
    let mut holder = Browser::new(&app);
    holder.post("/dashboard/sign-in", &[("key", OPERATOR)]).await;
    let holders = view(&app, &mut holder).await;
    assert!(!holder.page("/exceptions").await.contains(&path("explain")), "a key has no name");
    let mine = [("form", holders.as_str()), ("note", "Mine")];
    refused(&app.unchanged(holder.post(&path("resolve"), &mine)).await, 403, "");

    // The session notes when it was last seen.
    ada.page("/exceptions").await;
    for wrong in ["", "one\ntwo", "4200000000000000"] {
        let sent = [("form", form.as_str()), ("note", wrong)];
        refused(&app.unchanged(ada.post(&path("explain"), &sent)).await, 422, "Note must");
    }
    let noted = [("form", form.as_str()), ("note", "The bank was closed")];
    for nowhere in [path("match"), "/dashboard/exceptions/exc_AZqYv3rVcBKUQ1mHn7tKRw/explain".to_owned()] {
        refused(&app.unchanged(ada.post(&nowhere, &noted)).await, 404, "could not be found");
    }
    led(&ada.post(&path("explain"), &noted).await, "/dashboard/exceptions");
    let page = ada.page("/exceptions?state=explained").await;
    assert!(page.contains("The bank was closed") && !page.contains("ch_2:charge"), "{page}");
    led(&ada.post(&path("resolve"), &noted).await, "/dashboard/exceptions");
    refused(&app.unchanged(ada.post(&path("resolve"), &noted)).await, 400, "");
    assert!(!ada.page("/exceptions").await.contains("The bank was closed"));
    let trail = trail(&app).await;
    assert!(trail.contains("exception.resolved") && trail.contains("(ada)"), "{trail}");
}

on_both!(people_work_off_exceptions_in_their_names);
