//! The batch of evidence against a dispute (specification, Disputes; `docs/decisions.md`, 212 and 216).

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, App, Client, at_once, fields, rounds, rules, token_of};

const KINDS: [&str; 7] = [
    "additional_evidence",
    "customer_communication",
    "invoice_or_receipt",
    "invoice_showing_distinct_transactions",
    "proof_of_delivery_or_service",
    "recurring_transaction_agreement",
    "refund_or_cancellation_policy",
];

fn path(dispute: &str) -> String {
    format!("/1/disputes/{dispute}/evidence")
}

async fn submit(client: &Client, dispute: &str) -> Answer {
    client.send(client.request(Method::POST, &path(dispute)).body(Body::empty()).unwrap()).await
}

async fn update(client: &Client, dispute: &str, changes: Value) -> Answer {
    client.put(&path(dispute), &changes).await
}

async fn batch(client: &Client, dispute: &str) -> Value {
    client.get(&path(dispute)).await.ok(200)
}

async fn delete(client: &Client, file: &str) -> Answer {
    client.delete(&format!("/1/files/{file}")).await
}

/// A disputed charge's dispute, and a file.
async fn given(app: &App) -> (Client, String, String) {
    let client = app.client();
    let (dispute, file) = (token_of(&client.disputed(400).await), client.file().await);
    (client, dispute, file)
}

rules! {
    async fn a_batch_shows_only_what_was_set_in_the_order_of_its_parameters(app) {
        let (client, dispute, file) = given(app).await;
        assert_eq!(batch(&client, &dispute).await, json!({}));
        let mut all = json!({});
        for kind in KINDS.iter().rev() {
            all[format!("{kind}_text")] = json!(format!("about {kind}"));
            all[format!("{kind}_file")] = json!(file);
        }
        let set = update(&client, &dispute, all).await.ok(200);
        let expected: Vec<_> = KINDS.iter().flat_map(|kind| [format!("{kind}_file"), format!("{kind}_text")]).collect();
        assert_eq!(fields(&set), expected);
        let shown = client.get(&format!("/1/files/{file}")).await.ok(200);
        for kind in KINDS {
            assert_eq!(set[format!("{kind}_file")], shown);
            assert_eq!(set[format!("{kind}_text")], format!("about {kind}"));
        }
        assert_eq!(batch(&client, &dispute).await, set);
    }

    async fn absent_evidence_stays_and_empty_evidence_is_cleared(app) {
        let (client, dispute, file) = given(app).await;
        update(&client, &dispute, json!({ "additional_evidence_file": file, "additional_evidence_text": "a" })).await.ok(200);
        update(&client, &dispute, json!({ "invoice_or_receipt_text": "b", "additional_evidence_text": null })).await.ok(200);
        let set = batch(&client, &dispute).await;
        assert_eq!(fields(&set), ["additional_evidence_file", "additional_evidence_text", "invoice_or_receipt_text"]);
        update(&client, &dispute, json!({ "additional_evidence_file": "", "invoice_or_receipt_text": " " })).await.ok(200);
        assert_eq!(batch(&client, &dispute).await, json!({ "additional_evidence_text": "a" }));
        let form = client.request(Method::PUT, &path(&dispute)).header("content-type", "application/x-www-form-urlencoded");
        client.send(form.body(Body::from("additional_evidence_text=")).unwrap()).await.ok(200);
        assert_eq!(batch(&client, &dispute).await, json!({}));
        update(&client, &dispute, json!({})).await.ok(200);
    }

    async fn texts_are_short_and_files_exist(app) {
        let (client, dispute, file) = given(app).await;
        let stranger = app.stranger().await.file().await;
        let long = "é".repeat(501);
        let params = json!({
            "refund_or_cancellation_policy_text": long, "additional_evidence_text": long, "additional_evidence_file": stranger,
            "customer_communication_file": "file_x", "invoice_or_receipt_file": file,
            "proof_of_delivery_or_service_file": "file_AAAAAAAAAAAAAAAAAAAAAA",
        });
        app.unchanged(update(&client, &dispute, params)).await.faulty(&[
            ("additional_evidence_file", "Additional evidence file is not valid"),
            ("additional_evidence_text", "Additional evidence text is too long (maximum is 500 characters)"),
            ("customer_communication_file", "Customer communication file is not valid"),
            ("proof_of_delivery_or_service_file", "Proof of delivery or service file is not valid"),
            ("refund_or_cancellation_policy_text", "Refund or cancellation policy text is too long (maximum is 500 characters)"),
        ]);
        let missing = app.unchanged(update(&client, &dispute, json!({ "additional_evidence_file": stranger }))).await;
        missing.faulty(&[("additional_evidence_file", "Additional evidence file is not valid")]);
        update(&client, &dispute, json!({ "additional_evidence_text": "é".repeat(500) })).await.ok(200);
    }

    async fn a_submitted_batch_is_frozen_and_keeps_its_files(app) {
        let (client, dispute, file) = given(app).await;
        update(&client, &dispute, json!({ "additional_evidence_file": file })).await.ok(200);
        let set = batch(&client, &dispute).await;
        submit(&client, &dispute).await.ok(200);
        for status in ["evidence_under_review", "won", "arbitration_under_review", "arbitration_lost"] {
            if status != "evidence_under_review" {
                client.decide(&dispute, status).await.ok(200);
            }
            assert!(update(&client, &dispute, json!({ "additional_evidence_file": "" })).await.status == 400);
            let kept = app.unchanged(delete(&client, &file)).await.refused(400, "dispute_evidence_already_submitted");
            assert_eq!(
                kept["error_description"],
                "The file can not be deleted as it is associated with dispute evidence which has been submitted"
            );
            assert_eq!(batch(&client, &dispute).await, set);
        }
    }

    async fn an_open_batch_forgets_a_deleted_file(app) {
        let (client, dispute, file) = given(app).await;
        let other = token_of(&client.disputed(500).await);
        update(&client, &dispute, json!({ "additional_evidence_file": file, "additional_evidence_text": "a" })).await.ok(200);
        update(&client, &other, json!({ "invoice_or_receipt_file": file })).await.ok(200);
        // Never submitted, so the network keeps nothing of it.
        client.decide(&other, "cancelled").await.ok(200);
        delete(&client, &file).await.ok(204);
        assert_eq!(batch(&client, &dispute).await, json!({ "additional_evidence_text": "a" }));
        assert_eq!(batch(&client, &other).await, json!({}));
        app.unchanged(delete(&client, &file)).await.not_found();
        update(&client, &dispute, json!({ "invoice_or_receipt_file": file })).await.refused(422, "invalid_resource");
    }

    async fn deleting_a_file_submitting_and_naming_it_may_race(app) {
        for _ in 0..rounds() {
            let (client, dispute, file) = given(app).await;
            update(&client, &dispute, json!({ "additional_evidence_file": file })).await.ok(200);
            let answers = at_once((0..24).map(|n| {
                let (client, dispute, file) = (client.clone().patient(), dispute.clone(), file.clone());
                async move {
                    match n % 3 {
                        0 => delete(&client, &file).await,
                        1 => submit(&client, &dispute).await,
                        _ => update(&client, &dispute, json!({ "invoice_or_receipt_file": file })).await,
                    }
                }
            })).await;
            assert!(answers.iter().all(|answer| [200, 204, 400, 404, 422].contains(&answer.status)));
            let named = app.number("SELECT COUNT(*) FROM evidence WHERE file_id IS NOT NULL").await;
            let files = app.number("SELECT COUNT(*) FROM files").await;
            let lost = "SELECT COUNT(*) FROM evidence e WHERE e.file_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM files f WHERE f.account_id = e.account_id AND f.id = e.file_id)";
            assert_eq!(app.number(lost).await, 0, "{named} named of {files}");
        }
    }
}
