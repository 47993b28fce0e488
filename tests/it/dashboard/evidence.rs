//! Evidence handed in as the merchant on a dispute's page, by the services that the API's calls use.

use serde_json::{Value, json};

use crate::harness::browser::{Browser, led, refused};
use crate::harness::{PDF, rules, token_of};

const NO_FILE: (&str, &[u8]) = ("", b"");

/// A path, the fields, a file with its name, and what is said of them.
type Upload<'a> = (&'a str, &'a [(&'a str, &'a str)], (&'a str, &'a [u8]), &'a str);

rules! {
    async fn texts_and_files_are_handed_in_and_submitted(app) {
        let client = app.client();
        let dispute = token_of(&client.disputed(500).await);
        let (page, add) = (format!("/disputes/{dispute}"), format!("/disputes/{dispute}/evidence"));
        let mut browser = Browser::with(app, app.secret_key()).await;
        let batch = async || client.get(&format!("/1/disputes/{dispute}/evidence")).await.ok(200);
        assert!(browser.page(&page).await.contains("Add this evidence"));

        let text = [("kind", "invoice_or_receipt"), ("text", " Paid <twice>,\r\nsee below ")];
        led(&browser.upload(&add, &text, NO_FILE).await, &format!("/dashboard{page}"));
        assert_eq!(batch().await, json!({ "invoice_or_receipt_text": "Paid <twice>,\nsee below" }));
        // The text stays when the file comes.
        let file = [("kind", "invoice_or_receipt"), ("text", "")];
        led(&browser.upload(&add, &file, ("receipt.pdf", PDF)).await, &format!("/dashboard{page}"));
        led(&browser.upload(&add, &[("kind", "additional_evidence"), ("text", "A note")], NO_FILE).await, &format!("/dashboard{page}"));
        let now = batch().await;
        assert_eq!(now["invoice_or_receipt_text"], "Paid <twice>,\nsee below");
        assert_eq!(now["invoice_or_receipt_file"]["original_filename"], "receipt.pdf");
        let shown = browser.page(&page).await;
        for part in ["Paid &lt;twice&gt;,\nsee below", ">receipt.pdf</a>", "A note", "Take out the additional evidence"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }

        led(&browser.press(&format!("{add}/remove"), &[("kind", "additional_evidence")]).await, &format!("/dashboard{page}"));
        assert!(batch().await.get("additional_evidence_text").is_none());

        let question = browser.page(&format!("{page}/submit")).await;
        assert!(question.contains("evidence of these kinds: invoice or receipt"), "{question}");
        led(&browser.press(&format!("{page}/submit"), &[]).await, &format!("/dashboard{page}"));
        assert_eq!(client.get(&format!("/1/disputes/{dispute}")).await.ok(200)["status"], "evidence_under_review");
        let shown = browser.page(&page).await;
        assert!(shown.contains(">receipt.pdf</a>") && !shown.contains("Add this evidence") && !shown.contains("Take out"), "{shown}");
        let late = "already under review";
        refused(&app.unchanged(browser.upload(&add, &file, ("late.pdf", PDF))).await, 400, late);
        refused(&app.unchanged(browser.press(&format!("{page}/submit"), &[])).await, 400, late);
        refused(&app.unchanged(browser.press(&format!("{add}/remove"), &[("kind", "invoice_or_receipt")])).await, 400, late);
    }

    async fn evidence_that_cannot_be_is_refused_and_nothing_is_kept(app) {
        let client = app.client();
        let dispute = token_of(&client.disputed(500).await);
        let add = format!("/disputes/{dispute}/evidence");
        let mut browser = Browser::with(app, app.secret_key()).await;
        let long = "a".repeat(501);
        let file: (&str, &[u8]) = ("a.pdf", PDF);
        let wrong: [Upload<'_>; 5] = [
            (&add, &[("kind", "additional_evidence"), ("text", " ")], NO_FILE, "Text can't be blank"),
            (&add, &[("kind", "additional_evidence"), ("text", &long)], file, "is too long"),
            (&add, &[("kind", "a_hunch"), ("text", "a")], file, "Kind is not included in the list"),
            (&add, &[("text", "a")], file, "Kind can't be blank"),
            (&add, &[("kind", "additional_evidence")], ("a.gif", b"GIF89a"), "must be a PDF, PNG or JPEG"),
        ];
        for (path, pairs, file, words) in wrong {
            let answer = app.unchanged(browser.upload(path, pairs, file)).await;
            refused(&answer, 422, words);
        }
        let answer = app.unchanged(browser.upload("/disputes/dis_x/evidence", &[("kind", "additional_evidence"), ("text", "a")], file)).await;
        refused(&answer, 404, "could not be found");
        let path = format!("/dashboard{add}");
        let unsigned = app.unchanged(browser.post(&path, &[("kind", "additional_evidence"), ("text", "a")])).await;
        refused(&unsigned, 403, "was not sent by a page of your session");
        assert_eq!(client.get(&format!("/1/disputes/{dispute}/evidence")).await.ok(200), json!({}));
    }

    async fn a_dispute_is_accepted_as_the_merchant_after_a_question(app) {
        let client = app.client();
        let dispute = token_of(&client.disputed(500).await);
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = format!("/disputes/{dispute}");
        assert!(browser.page(&page).await.contains(&format!("href=\"/dashboard{page}/accept\"")));
        let question = browser.page(&format!("{page}/accept")).await;
        assert!(question.contains("A$5.00") && question.contains("The cardholder keeps the money"), "{question}");
        let sent: Value = client.get(&format!("/1{page}")).await.ok(200);
        assert_eq!(sent["status"], "evidence_required", "asking changes nothing");
        led(&browser.press(&format!("{page}/accept"), &[]).await, &format!("/dashboard{page}"));
        assert_eq!(client.get(&format!("/1{page}")).await.ok(200)["status"], "accepted");
        refused(&app.unchanged(browser.press(&format!("{page}/accept"), &[])).await, 400, "already resolved");
    }
}
