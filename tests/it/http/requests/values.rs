//! What a value may look like (`docs/decisions.md`, 6 to 8).

use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{FORM, send};
use crate::harness::{App, card, charge, rules};

fn with(mut request: Value, name: &str, value: Value) -> Value {
    request[name] = value;
    request
}

fn customer() -> Value {
    json!({ "email": "a@example.com", "card": card("4200000000000000"), "first_name": "Ann", "notes": "n" })
}

/// The charge with this parameter is refused, and nothing else is wrong with it.
async fn refused(app: &App, name: &str, value: Value) -> String {
    let before = app.rows().await;
    let faults = app.client().post("/1/charges", &with(charge(400), name, value.clone())).await.faults();
    assert_eq!(faults.len(), 1, "{name} {value}: {faults:?}");
    assert_eq!(faults[0].0, name);
    assert_eq!(app.rows().await, before);
    faults.into_iter().next().unwrap().1
}

rules! {
    async fn white_space_around_an_email_is_left_out(app) {
        let client = app.client();
        let (padded, email) = (json!(" \t roland@example.com\r\n"), json!("roland@example.com"));
        let charged = client.post("/1/charges", &with(charge(400), "email", padded.clone())).await.ok(201);
        assert_eq!(charged["email"], email);
        let made = client.post("/1/customers", &with(customer(), "email", padded.clone())).await.ok(201);
        assert_eq!(made["email"], email);
        let path = format!("/1/customers/{}", made["token"].as_str().unwrap());
        assert_eq!(client.put(&path, &json!({ "email": " new@example.com " })).await.ok(200)["email"], "new@example.com");
        let recipient = json!({ "email": padded, "bank_account": crate::harness::bank_account("1") });
        let made = client.post("/1/recipients", &recipient).await.ok(201);
        assert_eq!(made["email"], email);
        let path = format!("/1/recipients/{}", made["token"].as_str().unwrap());
        assert_eq!(client.put(&path, &json!({ "email": " new@example.com " })).await.ok(200)["email"], "new@example.com");
        let authorised = client.post("/1/authorisations", &with(charge(400), "email", padded.clone())).await.ok(201);
        assert_eq!(authorised["email"], email);
        let mut merchant = crate::harness::application();
        merchant["contact"]["email"] = padded;
        let made = client.post("/1/merchants", &merchant).await.ok(201);
        let detail = client.merchant_of(made["token"].as_str().unwrap()).await;
        assert_eq!((&made["email"], &detail["email"]), (&email, &email));
        // Its length is that of what is left, and white space in it is still wrong.
        let longest = format!("{}@{}.example", "a".repeat(64), ["b".repeat(60), "c".repeat(60), "d".repeat(60)].join("."));
        let padded = format!("{}{longest}", " ".repeat(300));
        assert_eq!(client.post("/1/charges", &with(charge(400), "email", json!(padded))).await.ok(201)["email"], json!(longest));
        for wrong in ["roland @example.com", "roland@ example.com", "roland@\texample.com"] {
            assert_eq!(refused(app, "email", json!(wrong)).await, "Email is not formatted properly");
        }
        let blank = client.post("/1/charges", &with(charge(400), "email", json!(" \n"))).await.faults();
        assert_eq!(blank.iter().map(|(_, message)| message.as_str()).collect::<Vec<_>>(), ["Email can't be blank", "Email is not formatted properly"]);
    }

    async fn an_email_has_any_letters_in_its_domain_and_those_of_ascii_before_it(app) {
        // Mail servers without SMTPUTF8 take no others.
        assert_eq!(refused(app, "email", json!("josé@example.com")).await, "Email is not formatted properly");
        for email in ["jose@exämple.com", "jose@xn--exmple-cua.com", "j.o'se+x@example.com"] {
            let params = with(charge(400), "email", json!(email));
            assert_eq!(app.client().post("/1/charges", &params).await.ok(201)["email"], email);
        }
    }

    async fn numbers_and_booleans_may_be_text(app) {
        let mut params = with(charge(400), "amount", json!("0400"));
        params["card"]["expiry_month"] = json!("05");
        params["card"]["expiry_year"] = json!("30");
        for (capture, captured) in [
            ("True", true),
            ("TRUE", true),
            ("true", true),
            ("1", true),
            ("False", false),
            ("false", false),
            ("0", false),
        ] {
            params["capture"] = json!(capture);
            for made in [
                app.client().post("/1/charges", &params).await.ok(201),
                app.client().post_form("/1/charges", &params).await.ok(201),
            ] {
                assert_eq!(made["amount"], 400);
                assert_eq!(made["card"]["expiry_month"], 5);
                assert_eq!(made["card"]["expiry_year"], 2030);
                assert_eq!(made["captured"], captured, "{capture}");
            }
        }
    }

    async fn json_booleans_are_booleans(app) {
        for capture in [true, false] {
            let made = app.client().post("/1/charges", &with(charge(400), "capture", json!(capture))).await;
            assert_eq!(made.ok(201)["captured"], capture);
        }
    }

    async fn a_card_number_may_be_a_json_integer(app) {
        let mut params = card("4200000000000000");
        params["number"] = json!(4_200_000_000_000_000_u64);
        params["cvc"] = json!(123);
        params["address_postcode"] = json!(6454);
        let made = app.client().post("/1/cards", &params).await.ok(201);
        assert_eq!(made["display_number"], "XXXX-XXXX-XXXX-0000");
        assert_eq!(made["address_postcode"], "6454");
        app.client().post("/1/charges", &with(charge(400), "card", params)).await.ok(201);
    }

    async fn a_card_number_of_any_other_kind_is_not_valid(app) {
        let before = app.rows().await;
        for number in [
            json!(true),
            json!([4_200_000_000_000_000_u64]),
            json!({ "a": 1 }),
            json!(42.5),
            json!("x"),
            json!(-1),
        ] {
            let faults = app
                .client()
                .post("/1/cards", &with(card("4200000000000000"), "number", number.clone()))
                .await;
            assert_eq!(
                faults.faults(),
                [("number".to_owned(), "Number is not valid".to_owned())],
                "{number}"
            );
        }
        for cvc in [
            json!(true),
            json!(["1"]),
            json!({ "a": 1 }),
            json!("12"),
            json!("1234"),
            json!("12x"),
            json!(1.5),
        ] {
            let faults =
                app.client().post("/1/cards", &with(card("4200000000000000"), "cvc", cvc.clone())).await;
            assert_eq!(faults.faults(), [("cvc".to_owned(), "Cvc is not valid".to_owned())], "{cvc}");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_currency_in_lower_case_is_answered_in_upper_case(app) {
        for currency in ["nzd", "Nzd", "NZD", " nzd "] {
            let made = app.client().post("/1/charges", &with(charge(400), "currency", json!(currency))).await;
            assert_eq!(made.ok(201)["currency"], "NZD", "{currency}");
        }
        assert_eq!(refused(app, "currency", json!("XXX")).await, "Currency is not a supported currency");
        assert_eq!(refused(app, "currency", json!("AU")).await, "Currency is not a supported currency");
    }

    async fn an_amount_is_an_integer_or_refused(app) {
        for (amount, message) in [
            (json!(10.1), "Amount must be an integer"),
            (json!("10.1"), "Amount must be an integer"),
            (json!(400.5), "Amount must be an integer"),
            (json!("ten"), "Amount is not a number"),
            (json!("4,00"), "Amount is not a number"),
            (json!("$4"), "Amount is not a number"),
            (json!(true), "Amount is not a number"),
            (json!([400, 500]), "Amount is not a number"),
            (json!({ "cents": 400 }), "Amount is not a number"),
            (json!(""), "Amount can't be blank"),
            (json!("  "), "Amount can't be blank"),
            (json!(null), "Amount can't be blank"),
            (json!({}), "Amount can't be blank"),
            (json!(0), "Amount must be at least 100"),
            (json!(-400), "Amount must be at least 100"),
            (json!(9_007_199_254_740_992_u64), "Amount must be at most 9007199254740991"),
            (json!(u64::MAX), "Amount must be at most 9007199254740991"),
            (json!("99999999999999999999999999"), "Amount must be at most 9007199254740991"),
            (json!(1e300), "Amount must be at most 9007199254740991"),
        ] {
            assert_eq!(refused(app, "amount", amount.clone()).await, message, "{amount}");
        }
    }

    async fn a_boolean_that_is_none_is_not_in_the_list(app) {
        // Also not what a check box of a page sends: whether money moves is not guessed.
        for capture in [json!("on"), json!("off"), json!("yes"), json!(2), json!("t"), json!([true, false]), json!({ "a": 1 })] {
            assert_eq!(refused(app, "capture", capture).await, "Capture is not included in the list");
        }
    }

    async fn json_null_is_absent(app) {
        let mut params = charge(400);
        for name in [
            "currency",
            "capture",
            "reference",
            "metadata",
            "platform_adjustment",
            "card_token",
            "customer_token",
            "payment_source_token",
            "three_d_secure",
        ] {
            params[name] = Value::Null;
        }
        params["card"]["address_line2"] = Value::Null;
        let made = app.client().post("/1/charges", &params).await.ok(201);
        assert_eq!(made["currency"], "AUD");
        assert_eq!(made["captured"], true);
        assert_eq!(made["metadata"], json!({}));
        assert_eq!(made["card"]["address_line2"], Value::Null);
        let mut nothing = params.clone();
        nothing["card"] = Value::Null;
        let messages = app.client().post("/1/charges", &nothing).await.faults();
        assert_eq!(
            messages[0].1,
            "Exactly one of card, card_token, payment_source_token or customer_token is required"
        );
        assert_eq!(refused(app, "description", Value::Null).await, "Description can't be blank");
    }

    async fn json_null_on_a_put_leaves_what_is_there(app) {
        let made = app.client().post("/1/customers", &customer()).await.ok(201);
        let path = format!("/1/customers/{}", made["token"].as_str().unwrap());
        let nulls = json!({
            "email": null, "first_name": null, "notes": null, "card": null, "card_token": null, "primary_card_token": null,
        });
        assert_eq!(app.client().put(&path, &nulls).await.ok(200), made);
    }

    async fn only_white_space_is_blank_and_a_blank_required_text_is_refused(app) {
        for blank in ["", " ", "\t \n", "\u{a0}", "\u{3000}"] {
            assert_eq!(refused(app, "description", json!(blank)).await, "Description can't be blank");
            assert_eq!(refused(app, "ip_address", json!(blank)).await, "Ip address can't be blank");
        }
        for text in ["0", ".", "false", "null"] {
            let made = app.client().post("/1/charges", &with(charge(400), "description", json!(text))).await;
            assert_eq!(made.ok(201)["description"], text);
        }
    }

    async fn blank_optional_text_is_kept_as_empty_text(app) {
        for blank in ["", "  "] {
            let mut params = card("4200000000000000");
            for name in ["address_line2", "address_postcode", "address_state"] {
                params[name] = json!(blank);
            }
            for made in [
                app.client().post("/1/cards", &params).await.ok(201),
                app.client().post_form("/1/cards", &params).await.ok(201),
            ] {
                for name in ["address_line2", "address_postcode", "address_state"] {
                    assert_eq!(made[name], "", "{name}");
                }
            }
        }
    }

    async fn a_blank_text_on_a_put_clears(app) {
        let made = app.client().post("/1/customers", &customer()).await.ok(201);
        let path = format!("/1/customers/{}", made["token"].as_str().unwrap());
        let changed = app.client().put(&path, &json!({ "first_name": " ", "notes": "" })).await.ok(200);
        assert_eq!((&changed["first_name"], &changed["notes"]), (&json!(""), &json!("")));
        assert_eq!(changed["email"], made["email"]);
        assert_eq!(app.client().get(&path).await.ok(200), changed);
    }

    async fn a_text_required_at_creation_is_refused_blank_on_a_put(app) {
        let made = app.client().post("/1/customers", &customer()).await.ok(201);
        let path = format!("/1/customers/{}", made["token"].as_str().unwrap());
        let before = app.rows().await;
        for blank in ["", "  "] {
            let faults =
                app.client().put(&path, &json!({ "email": blank, "first_name": "New" })).await.faults();
            let messages: Vec<_> = faults.iter().map(|(_, messages)| messages.as_str()).collect();
            assert_eq!(messages, ["Email can't be blank", "Email is not formatted properly"]);
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_blank_optional_number_choice_token_or_object_is_absent(app) {
        for blank in ["", " "] {
            let mut params = charge(400);
            for name in [
                "currency",
                "capture",
                "metadata",
                "platform_adjustment",
                "card_token",
                "customer_token",
                "payment_source_token",
                "three_d_secure",
            ] {
                params[name] = json!(blank);
            }
            for made in [
                app.client().post("/1/charges", &params).await.ok(201),
                app.client().post_form("/1/charges", &params).await.ok(201),
            ] {
                assert_eq!((&made["currency"], &made["captured"]), (&json!("AUD"), &json!(true)));
                assert_eq!(made["metadata"], json!({}));
                assert!(made.get("platform_adjustment").is_none());
            }
        }
    }

    async fn an_empty_object_and_a_blank_where_an_object_is_wanted_are_absent(app) {
        for empty in [json!({}), json!(""), json!("  "), json!([])] {
            let token =
                app.client().post("/1/cards", &card("4200000000000000")).await.ok(201)["token"].clone();
            let mut params = with(charge(400), "card_token", token);
            for name in ["card", "metadata", "platform_adjustment", "three_d_secure"] {
                params[name] = empty.clone();
            }
            app.client().post("/1/charges", &params).await.ok(201);
            assert_eq!(
                refused(app, "card", empty.clone()).await,
                "Exactly one of card, card_token, payment_source_token or customer_token is required"
            );
        }
        let made = app.client().post("/1/customers", &customer()).await.ok(201);
        let path = format!("/1/customers/{}", made["token"].as_str().unwrap());
        for body in ["card[]=&first_name=Ann", "card=&first_name=Ann"] {
            let changed = send(&app.client(), Method::PUT, &path, FORM, body).await.ok(200);
            assert_eq!(changed, made);
        }
    }

    async fn something_else_where_an_object_is_wanted_is_one_fault(app) {
        for value in [json!("x"), json!(1), json!(["x"]), json!(true)] {
            assert_eq!(refused(app, "card", value.clone()).await, "Card is not valid");
            assert_eq!(refused(app, "metadata", value.clone()).await, "Metadata is not valid");
            assert_eq!(refused(app, "platform_adjustment", value).await, "Platform adjustment is not valid");
        }
    }

    async fn something_else_where_text_is_wanted_is_one_fault(app) {
        for value in [json!(["x"]), json!({ "a": "x" })] {
            assert_eq!(refused(app, "description", value.clone()).await, "Description is not valid");
            assert_eq!(refused(app, "email", value.clone()).await, "Email is not valid");
            assert_eq!(refused(app, "reference", value).await, "Reference is not valid");
        }
    }
}
