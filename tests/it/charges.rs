//! Charges (specification, Charges; decisions 5).

use serde_json::json;

use crate::harness::{card, charge, rules};

rules! {
    async fn a_charge_is_captured_at_once_with_its_fees(app) {
        let answer = app.client().post("/1/charges", &charge(400)).await.ok(201);
        assert_eq!(answer["success"], true);
        assert_eq!(answer["captured"], true);
        assert_eq!(answer["status_message"], "Success");
        assert_eq!(answer["total_fees"], 37);
        assert_eq!(answer["merchant_entitlement"], 363);
    }

    async fn a_declined_charge_is_an_error_and_in_no_list(app) {
        let mut declined = charge(400);
        declined["card"] = card("4100000000000001");
        let body = app.client().post("/1/charges", &declined).await.refused(400, "card_declined");
        assert_eq!(body["error_description"], "The card was declined");
        let list = app.client().get("/1/charges").await.json();
        assert_eq!(list["pagination"]["count"], 0);
        let token = body["charge_token"].as_str().unwrap();
        let failed = app.client().get(&format!("/1/charges/{token}")).await.ok(200);
        assert_eq!(failed["success"], json!(false));
        assert_eq!(failed["error_message"], "The card was declined");
    }
}
