//! How parameters are refused (`docs/decisions.md`, 78 and 79): all faults at once, in the order of the specification's
//! parameter list.

use serde_json::{Value, json};

use crate::harness::{card, charge, rules};

const CARD: [&str; 8] = [
    "number",
    "expiry_month",
    "expiry_year",
    "cvc",
    "name",
    "address_line1",
    "address_city",
    "address_country",
];

fn blank(name: &str) -> (String, String) {
    let text = name.replace(['.', '_'], " ");
    (name.to_owned(), format!("{}{} can't be blank", text[..1].to_uppercase(), &text[1..]))
}

fn fault(name: &str, message: &str) -> (String, String) {
    (name.to_owned(), message.to_owned())
}

rules! {
    async fn everything_that_is_missing_is_told_in_the_order_of_the_specification(app) {
        let before = app.rows().await;
        let email = [blank("email"), fault("email", "Email is not formatted properly")];
        let of_charge = [
            email.to_vec(),
            vec![blank("description"), blank("amount"), blank("ip_address")],
            vec![fault(
                "card",
                "Exactly one of card, card_token, payment_source_token or customer_token is required",
            )],
        ]
        .concat();
        let of_customer = [email.to_vec(), vec![blank("card")]].concat();
        let of_card: Vec<_> = CARD.iter().map(|name| blank(name)).collect();
        for (path, expected) in
            [("/1/charges", &of_charge), ("/1/customers", &of_customer), ("/1/cards", &of_card)]
        {
            let blanks: Value = expected
                .iter()
                .map(|(name, _)| (name.clone(), json!(" ")))
                .collect::<serde_json::Map<_, _>>()
                .into();
            for body in [json!({}), blanks] {
                assert_eq!(&app.client().post(path, &body).await.faults(), expected, "{path} {body}");
                assert_eq!(&app.client().post_form(path, &body).await.faults(), expected, "{path} {body}");
            }
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_nested_parameter_is_named_with_a_dot(app) {
        let before = app.rows().await;
        let expected: Vec<_> = CARD.iter().map(|name| blank(&format!("card.{name}"))).collect();
        for card in
            [json!({ "address_state": "WA" }), json!({ "number": "", "cvc": null, "address_state": "" })]
        {
            let mut params = charge(400);
            params["card"] = card;
            let answer = app.client().post("/1/charges", &params).await;
            assert_eq!(answer.faults(), expected);
            assert_eq!(
                answer.json()["messages"][0],
                json!({ "param": "card.number", "code": "card_number_invalid", "message": "Card number can't be blank" })
            );
            params = json!({ "email": "a@example.com", "card": params["card"] });
            assert_eq!(app.client().post("/1/customers", &params).await.faults(), expected);
        }
        assert_eq!(app.rows().await, before);
    }

    async fn wrong_values_are_told_all_at_once_and_in_order_too(app) {
        let before = app.rows().await;
        let params = json!({
            "platform_adjustment": { "amount": 0 }, "metadata": { "a": {} }, "reference": "r".repeat(41), "capture": "maybe",
            "currency": "XYZ",
            "card": {
                "address_state": "s".repeat(1001), "address_country": "ZZ", "address_city": "", "name": ["n"], "cvc": "12",
                "expiry_year": "soon", "expiry_month": 13, "number": "4200000000000007", "address_line1": "a",
            },
            "ip_address": "somewhere", "amount": "10.1", "description": "d".repeat(1001), "email": "nobody",
        });
        let expected = [
            fault("email", "Email is not formatted properly"),
            fault("description", "Description is too long (maximum is 1000 characters)"),
            fault("amount", "Amount must be an integer"),
            fault("ip_address", "Ip address is not formatted properly"),
            fault("card.number", "Card number is not valid"),
            fault("card.expiry_month", "Card expiry month must be at most 12"),
            fault("card.expiry_year", "Card expiry year is not a number"),
            fault("card.cvc", "Card cvc is not valid"),
            fault("card.name", "Card name is not valid"),
            fault("card.address_city", "Card address city can't be blank"),
            fault("card.address_country", "Card address country is not valid"),
            fault("card.address_state", "Card address state is too long (maximum is 1000 characters)"),
            fault("currency", "Currency is not a supported currency"),
            fault("capture", "Capture is not included in the list"),
            fault("reference", "Reference is too long (maximum is 40 characters)"),
            fault("metadata", "Metadata is not valid"),
            fault("platform_adjustment.amount", "Platform adjustment amount must be greater than or equal to 1"),
        ];
        assert_eq!(app.client().post("/1/charges", &params).await.faults(), expected);
        assert_eq!(app.rows().await, before);
    }

    async fn the_body_of_a_422_holds_code_sentence_and_messages(app) {
        let answer = app
            .client()
            .post("/1/charges", &{
                let mut params = charge(400);
                params["ip_address"] = json!("x");
                params
            })
            .await;
        let body = answer.refused(422, "invalid_resource");
        assert_eq!(
            body,
            json!({
                "error": "invalid_resource",
                "error_description": "One or more parameters were missing or invalid",
                "messages": [{ "param": "ip_address", "code": "ip_address_invalid", "message": "Ip address is not formatted properly" }],
            })
        );
        let order: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(order, ["error", "error_description", "messages"]);
    }

    async fn a_refusal_never_repeats_what_was_sent(app) {
        let mut params = charge(400);
        params["card"] = json!({ "number": "4200000000000007", "cvc": "98765", "name": "n".repeat(300), "expiry_month": "secretmonth" });
        params["email"] = json!("secretmail");
        let text = app.client().post("/1/charges", &params).await.text;
        for sent in ["4200000000000007", "98765", "nnn", "secretmonth", "secretmail"] {
            assert!(!text.contains(sent), "{text}");
        }
    }

    #[dated]
    async fn an_expired_card_has_two_faults(app) {
        let before = app.rows().await;
        // The test's clock stands in March 2026.
        for (month, year) in [(2, 2026), (12, 2025), (2, 26), (12, 0)] {
            let mut params = card("4200000000000000");
            params["expiry_month"] = json!(month);
            params["expiry_year"] = json!(year);
            let expected = [
                fault("expiry_month", "Expiry month is expired"),
                fault("expiry_year", "Expiry year is expired"),
            ];
            assert_eq!(app.client().post("/1/cards", &params).await.faults(), expected, "{month}/{year}");
        }
        assert_eq!(app.rows().await, before);
        let mut params = card("4200000000000000");
        params["expiry_month"] = json!(3);
        params["expiry_year"] = json!(26);
        assert_eq!(app.client().post("/1/cards", &params).await.ok(201)["expiry_year"], 2026);
    }

    async fn a_country_of_two_letters_is_a_code_and_is_echoed_as_sent(app) {
        for country in ["AU", "nz", "Australia", "Österreich", "USA"] {
            let mut params = card("4200000000000000");
            params["address_country"] = json!(country);
            assert_eq!(app.client().post("/1/cards", &params).await.ok(201)["address_country"], country);
        }
        let before = app.rows().await;
        for country in ["ZZ", "x1", "??"] {
            let mut params = card("4200000000000000");
            params["address_country"] = json!(country);
            let faults = app.client().post("/1/cards", &params).await.faults();
            assert_eq!(faults, [fault("address_country", "Address country is not valid")], "{country}");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_second_payer_hides_no_fault_of_the_first(app) {
        let before = app.rows().await;
        let card = json!({ "number": "1", "cvc": "1", "expiry_month": 13 });
        let payer = ("customer_token", json!("cus_x"));
        for (path, whole, (second, token)) in [
            ("/1/charges", charge(400), payer),
            ("/1/customers", json!({ "email": "a@example.com" }), ("card_token", json!("card_x"))),
        ] {
            let mut params = whole;
            params["card"] = card.clone();
            let alone = app.client().post(path, &params).await.faults();
            params[second] = token;
            let mut both = app.client().post(path, &params).await.faults();
            both.retain(|(name, message)| name != "card" || !message.starts_with("Exactly one of"));
            assert_eq!(both, alone, "{path}");
            assert!(alone.iter().filter(|(name, _)| name.starts_with("card.")).count() > 3, "{alone:?}");
        }
        let mut recipient = json!({ "email": "a@example.com", "bank_account": { "name": "P", "bsb": "1", "number": "x" } });
        let alone = app.client().post("/1/recipients", &recipient).await.faults();
        recipient["bank_account_token"] = json!("ba_x");
        let mut both = app.client().post("/1/recipients", &recipient).await.faults();
        both.retain(|(name, _)| name != "bank_account");
        assert_eq!(both, alone);
        assert!(!alone.is_empty());
        assert_eq!(app.rows().await, before);
    }

    async fn faults_of_a_search_are_told_in_the_order_of_its_parameters(app) {
        let query = "per_page=501&page=x&direction=up&sort=id&end_date=soon&start_date=25/03/2011";
        let faults = app.client().get(&format!("/1/charges/search?{query}")).await.faults();
        let names: Vec<_> = faults.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["start_date", "end_date", "sort", "direction", "page", "per_page"]);
    }

    async fn more_than_one_card_on_a_put_is_one_refusal_before_any_fault(app) {
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        let token = app.client().post("/1/customers", &customer).await.ok(201)["token"].clone();
        let path = format!("/1/customers/{}", token.as_str().unwrap());
        let before = app.rows().await;
        for body in [
            json!({ "card": card("4200000000000000"), "card_token": "card_x" }),
            json!({ "card_token": "card_x", "primary_card_token": "card_y" }),
            json!({ "card": card("4200000000000000"), "primary_card_token": "card_y" }),
        ] {
            app.client().put(&path, &body).await.refused(422, "too_many_card_parameters");
            app.client().put("/1/customers/cus_x", &body).await.refused(404, "not_found");
        }
        assert_eq!(app.rows().await, before);
    }
}
