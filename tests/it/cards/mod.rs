//! Cards (specification, Cards; `docs/decisions.md`, 98 to 101).

mod card_testing;
mod expired;
mod payment_sources;
mod test_cards;

use axum::body::Body;
use axum::extract::ConnectInfo;
use entity::{TimeSpan, account};
use http::Method;
use sea_orm::EntityTrait;
use sea_orm::sea_query::Expr;
use serde_json::{Value, json};

use crate::harness::{App, Client, card, charge, fields, rules, token, with};

/// Specification, Card: the fields, in the order of its table.
pub const FIELDS: [&str; 17] = [
    "token",
    "scheme",
    "display_number",
    "issuing_country",
    "expiry_month",
    "expiry_year",
    "name",
    "address_line1",
    "address_line2",
    "address_city",
    "address_postcode",
    "address_state",
    "address_country",
    "network_type",
    "network_format",
    "customer_token",
    "primary",
];

/// The schemes of the test cards (`docs/decisions.md`, 98).
const SCHEMES: [&str; 6] = ["visa", "master", "american_express", "jcb", "discover", "diners_club"];

/// Issuing countries, and the numbers of each scheme.
const NUMBERS: &[(&str, [&str; 6])] = &[
    (
        "AU",
        [
            "4200000000000000 4100000000000001 4000000000000002 4900000000000003 4800000000000004 4700000000000005 \
             4600000000000006 4300000000000009 4400000000000099 4200600000000007 4200100000000008 4200400000000010 \
             4200800000000011 4200300000000012 4200700000000013",
            "5520000000000000 5560000000000001 5510000000000002 5550000000000003 5500000000000004 5590000000000005 \
             5540000000000006 5570000000000009 5530000000000099 5500800000000007 5500300000000008 5500100000000010 \
             5500500000000011",
            "372000000000000 371000000000001 370000000000002 379000000000003 378000000000004 377000000000005 \
             376000000000006 373000000000009 374000000000099",
            "3528800000000000 3528300000000001 3528700000000002 3528200000000003 3528600000000004",
            "6011200000000000 6510000000000000 6011600000000001 6550000000000001 6011100000000002 6500000000000002 \
             6011500000000003 6590000000000003 6011000000000004 6540000000000004",
            "36400000000000 36800000000001 36300000000002 36700000000003 36200000000004",
        ],
    ),
    (
        "NZ",
        [
            "4200000190000000",
            "5520000190000000",
            "372001800000000",
            "3528800190000000",
            "6011200190000000 6510000190000000",
            "36400190000000",
        ],
    ),
    (
        "US",
        [
            "4242424242424242 4111111111111111",
            "5555555555554444 5105105105105100",
            "378282246310005",
            "3530111333300000",
            "6011111111111117",
            "30569309025904",
        ],
    ),
];

async fn store(client: &Client, parameters: &Value) -> Value {
    client.post("/1/cards", parameters).await.ok(201)
}

/// What is refused when the parameters of an acceptable card are changed like this.
async fn refuses(app: &App, changes: Value, faults: &[(&str, &str)]) {
    let body = with(card("4200000000000000"), &changes);
    app.unchanged(app.client().post("/1/cards", &body)).await.faulty(faults);
}

async fn accepts(app: &App, changes: Value) -> Value {
    store(&app.client(), &with(card("4200000000000000"), &changes)).await
}

rules! {
    async fn a_card_has_the_fields_of_the_specification_in_their_order(app) {
        let stored = store(&app.client(), &card("4200000000000000")).await;
        assert_eq!(fields(&stored), FIELDS);
        assert!(token(&stored).starts_with("card_") && token(&stored).len() == 27, "{stored}");
        let shown = json!({
            "token": stored["token"], "scheme": "visa", "display_number": "XXXX-XXXX-XXXX-0000", "issuing_country": "AU",
            "expiry_month": 5, "expiry_year": 2030, "name": "Roland Robot", "address_line1": "42 Sevenoaks St",
            "address_line2": "", "address_city": "Lathlain", "address_postcode": "6454", "address_state": "WA",
            "address_country": "Australia", "network_type": null, "network_format": null, "customer_token": null,
            "primary": null,
        });
        assert_eq!(stored, shown);
    }

    async fn the_answer_carries_the_callers_address_and_get_repeats_the_card(app) {
        let made = app.client().post("/1/cards", &card("4200000000000000")).await;
        let shown = app.client().get(&format!("/1/cards/{}", token(&made.ok(201)))).await;
        assert_eq!(shown.text, format!("{{\"response\":{}}}", made.record()));
        assert_eq!(made.text, format!("{{\"response\":{},\"ip_address\":\"127.0.0.1\"}}", shown.record()));

        let mut request = app
            .client()
            .request(Method::POST, "/1/cards")
            .header("content-type", "application/json")
            // Not from a trusted proxy, so it is ignored.
            .header("x-forwarded-for", "198.51.100.1")
            .body(Body::from(card("4200000000000000").to_string()))
            .unwrap();
        let peer: std::net::SocketAddr = "203.0.113.9:4000".parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        assert_eq!(app.client().send(request).await.json()["ip_address"], "203.0.113.9");
    }

    async fn optional_parameters_are_null_where_absent_and_kept_where_blank(app) {
        let absent =
            accepts(app, json!({ "address_line2": null, "address_postcode": null, "address_state": null }))
                .await;
        let blank =
            accepts(app, json!({ "address_line2": " ", "address_postcode": "", "address_state": "" })).await;
        for field in ["address_line2", "address_postcode", "address_state"] {
            assert_eq!((&absent[field], &blank[field]), (&Value::Null, &json!("")), "{field}");
        }
    }

    async fn every_required_parameter_is_told_where_it_is_missing(app) {
        let blank = [
            ("number", "Number can't be blank"),
            ("expiry_month", "Expiry month can't be blank"),
            ("expiry_year", "Expiry year can't be blank"),
            ("cvc", "Cvc can't be blank"),
            ("name", "Name can't be blank"),
            ("address_line1", "Address line1 can't be blank"),
            ("address_city", "Address city can't be blank"),
            ("address_country", "Address country can't be blank"),
        ];
        app.unchanged(app.client().post("/1/cards", &json!({}))).await.faulty(&blank);
        app.unchanged(app.client().post_form("/1/cards", &json!({}))).await.faulty(&blank);
        for fault in blank {
            for nothing in [json!(""), json!(" "), Value::Null] {
                refuses(app, json!({ fault.0: nothing }), &[fault]).await;
            }
        }
    }

    async fn a_number_must_be_one_that_the_test_environment_knows(app) {
        // A wrong check digit, no digits, a valid number that is no test number, one of an unknown scheme.
        for number in
            ["4200000000000001", "number", "4000056655665556", "1111111111111117", "42", "4200000000000000x"]
        {
            refuses(app, json!({ "number": number }), &[("number", "Number is not valid")]).await;
        }
        refuses(app, json!({ "number": ["4200000000000000"] }), &[("number", "Number is not valid")]).await;
        // As people write it, and as some clients send it.
        for number in [
            json!("4200 0000 0000 0000"),
            json!("4200-0000-0000-0000"),
            json!(4_200_000_000_000_000_i64),
            json!("4200000000000000\n"),
            json!("\t4200000000000000\r\n"),
            json!("4200\u{a0}0000\u{202f}0000\t0000"),
        ] {
            assert_eq!(
                accepts(app, json!({ "number": number })).await["display_number"],
                "XXXX-XXXX-XXXX-0000"
            );
        }
    }

    async fn every_number_of_the_table_is_stored_with_its_scheme_and_country(app) {
        let client = app.client();
        let mut known = 0;
        for (country, columns) in NUMBERS {
            for (scheme, numbers) in SCHEMES.iter().zip(columns) {
                for number in numbers.split_whitespace() {
                    // Cards that will decline are stored as well.
                    let stored = store(&client, &card(number)).await;
                    assert_eq!(
                        (&stored["scheme"], &stored["issuing_country"]),
                        (&json!(scheme), &json!(country)),
                        "{number}"
                    );
                    let last = &number[number.len() - 4..];
                    let display = match number.len() {
                        16 => format!("XXXX-XXXX-XXXX-{last}"),
                        15 => format!("XXX-XXXX-XXXX-{last}"),
                        14 => format!("XX-XXXX-XXXX-{last}"),
                        other => panic!("{other} digits"),
                    };
                    assert_eq!(stored["display_number"], display.as_str());
                    known += 1;
                }
            }
        }
        assert_eq!(known, 72);
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 72);
        assert_eq!(app.number("SELECT COUNT(*) FROM events").await, 0, "cards emit no events");
    }

    async fn the_cvc_has_three_digits_and_four_on_american_express(app) {
        for (_, columns) in &NUMBERS[..1] {
            for (scheme, numbers) in SCHEMES.iter().zip(columns) {
                let number = numbers.split_whitespace().next().unwrap();
                for cvc in ["12", "123", "1234", "12345", "12a", "1 3", "١٢٣", "+12"] {
                    let right = cvc == if *scheme == "american_express" { "1234" } else { "123" };
                    let body = with(card(number), &json!({ "cvc": cvc }));
                    if right {
                        store(&app.client(), &body).await;
                    } else {
                        app.unchanged(app.client().post("/1/cards", &body))
                            .await
                            .faulty(&[("cvc", "Cvc is not valid")]);
                    }
                }
            }
        }
        accepts(app, json!({ "cvc": 123 })).await;
    }

    #[dated]
    async fn a_past_expiry_is_told_of_month_and_year(app) {
        let expired =
            [("expiry_month", "Expiry month is expired"), ("expiry_year", "Expiry year is expired")];
        // The tests' clock begins in March 2026.
        for (month, year) in [(2, 2026), (12, 2025), (12, 25), (1, 0), (12, 203)] {
            refuses(app, json!({ "expiry_month": month, "expiry_year": year }), &expired).await;
        }
        let good = accepts(app, json!({ "expiry_month": "03", "expiry_year": "26" })).await;
        assert_eq!((&good["expiry_month"], &good["expiry_year"]), (&json!(3), &json!(2026)));
        let far = accepts(app, json!({ "expiry_month": 1, "expiry_year": 2099 })).await;
        assert_eq!(far["expiry_year"], 2099);
        app.clock.advance(TimeSpan::days(30));
        refuses(app, json!({ "expiry_month": 3, "expiry_year": 2026 }), &expired).await;
    }

    async fn month_and_year_are_integers_in_their_ranges(app) {
        for (param, value, message) in [
            ("expiry_month", json!(0), "Expiry month must be greater than or equal to 1"),
            ("expiry_month", json!(13), "Expiry month must be at most 12"),
            ("expiry_month", json!("May"), "Expiry month is not a number"),
            ("expiry_month", json!(5.5), "Expiry month must be an integer"),
            ("expiry_year", json!("soon"), "Expiry year is not a number"),
            ("expiry_year", json!("2030.5"), "Expiry year must be an integer"),
            ("expiry_year", json!(10_000), "Expiry year must be at most 9999"),
            ("expiry_year", json!(-1), "Expiry year must be greater than or equal to 0"),
        ] {
            refuses(app, json!({ param: value }), &[(param, message)]).await;
        }
    }

    async fn a_country_is_a_code_or_a_name_and_echoed_as_sent(app) {
        for country in ["AU", "nz", "Australia", "New Zealand", "Côte d'Ivoire", "USA", "日本", "한국"] {
            assert_eq!(accepts(app, json!({ "address_country": country })).await["address_country"], country);
        }
        for country in ["XX", "ZZ", "12", "é?"] {
            refuses(
                app,
                json!({ "address_country": country }),
                &[("address_country", "Address country is not valid")],
            )
            .await;
        }
    }

    async fn texts_have_a_greatest_length_and_hold_no_null_character(app) {
        for (param, most, name) in [
            ("name", 255, "Name"),
            ("address_line1", 1000, "Address line1"),
            ("address_city", 1000, "Address city"),
            ("address_country", 1000, "Address country"),
            ("address_line2", 1000, "Address line2"),
            ("address_postcode", 1000, "Address postcode"),
            ("address_state", 1000, "Address state"),
        ] {
            assert_eq!(accepts(app, json!({ param: "é".repeat(most) })).await[param], "é".repeat(most));
            let long = format!("{name} is too long (maximum is {most} characters)");
            refuses(app, json!({ param: "é".repeat(most + 1) }), &[(param, long.as_str())]).await;
            refuses(app, json!({ param: "a\0b" }), &[(param, format!("{name} is not valid").as_str())]).await;
        }
    }

    async fn all_faults_are_told_at_once_in_the_order_of_the_list(app) {
        let body = json!({
            "address_state": "x".repeat(1001), "address_country": "XX", "cvc": "1", "number": "1", "expiry_year": 2020,
            "expiry_month": 1, "name": "Roland", "address_city": "",
        });
        app.unchanged(app.client().post("/1/cards", &body)).await.faulty(&[
            ("number", "Number is not valid"),
            ("expiry_month", "Expiry month is expired"),
            ("expiry_year", "Expiry year is expired"),
            ("cvc", "Cvc is not valid"),
            ("address_line1", "Address line1 can't be blank"),
            ("address_city", "Address city can't be blank"),
            ("address_country", "Address country is not valid"),
            ("address_state", "Address state is too long (maximum is 1000 characters)"),
        ]);
    }

    async fn a_publishable_key_stores_a_card_and_reads_none(app) {
        let key = json!({ "publishable_api_key": app.publishable_key() });
        let stored = app.anonymous().post("/1/cards", &with(card("4200000000000000"), &key)).await.ok(201);
        let path = format!("/1/cards/{}", token(&stored));
        app.client().get(&path).await.ok(200);
        app.with_key(app.publishable_key()).get(&path).await.refused(401, "unauthorized");
        let keyless = app.unchanged(app.anonymous().post("/1/cards", &card("4200000000000000"))).await;
        keyless.refused(401, "unauthorized");
    }

    async fn an_unknown_card_is_not_found(app) {
        let stored = store(&app.client(), &card("4200000000000000")).await;
        let path = format!("/1/cards/{}", token(&stored));
        app.stranger().await.get(&path).await.not_found();
        for unknown in
            ["card_AZqYv3rVcBKUQ1mHn7tKRw", "card_", "nonsense", &token(&stored).replace("card_", "cus_")]
        {
            app.client().get(&format!("/1/cards/{unknown}")).await.not_found();
        }
    }

    #[dated]
    async fn an_unused_card_lives_until_the_same_day_of_the_next_month(app) {
        let client = app.client();
        // 31 March: April has no such day, its last one counts.
        app.clock.advance(TimeSpan::days(29));
        let stored = store(&client, &card("4200000000000000")).await;
        let path = format!("/1/cards/{}", token(&stored));
        app.clock.advance(TimeSpan::from_millis(TimeSpan::days(30).millis() - 1));
        app.do_due_work().await;
        client.get(&path).await.ok(200);
        app.clock.advance(TimeSpan::from_millis(1));
        client.get(&path).await.not_found();
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 1, "no worker has passed yet");
        app.do_due_work().await;
        client.get(&path).await.not_found();
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 0, "erased");
    }

    async fn an_accounts_own_clock_decides_when_its_cards_expire(app) {
        let stranger = app.stranger().await;
        let stored = store(&app.client(), &card("4200000000000000")).await;
        let path = format!("/1/cards/{}", token(&stored));
        // There is no request yet that moves an account's clock.
        app.ctx()
            .store
            .write((), async |tx, ()| {
                    let month = Expr::value(TimeSpan::days(31).millis());
                    let all = account::Entity::update_many().col_expr(account::Column::ClockOffset, month);
                    Ok(all.exec(tx).await?)
                })
            .await
            .unwrap();
        let kept = store(&stranger, &card("4200000000000000")).await;
        app.client().get(&path).await.not_found();
        app.do_due_work().await;
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 1, "erased");
        stranger.get(&format!("/1/cards/{}", token(&kept))).await.ok(200);
    }

    async fn an_expired_token_is_refused_in_every_body(app) {
        let client = app.client();
        let owner = client
            .post("/1/customers", &json!({ "email": "a@example.com", "card": card("5520000000000000") }))
            .await
            .ok(201);
        let owner = format!("/1/customers/{}", token(&owner));
        let expired = store(&client, &card("4200000000000000")).await;
        app.clock.advance(TimeSpan::days(31));
        let named = json!({ "card_token": token(&expired) });
        let fault = [("card_token", "Card token is not valid")];
        let mut payment = charge(400);
        payment["card"] = Value::Null;
        app.unchanged(client.post("/1/charges", &with(payment, &named))).await.faulty(&fault);
        let customer = with(json!({ "email": "b@example.com" }), &named);
        app.unchanged(client.post("/1/customers", &customer)).await.faulty(&fault);
        app.unchanged(client.post(&format!("{owner}/cards"), &named)).await.faulty(&fault);
        app.unchanged(client.put(&owner, &named)).await.faulty(&fault);
        let switch = json!({ "primary_card_token": token(&expired) });
        app.unchanged(client.put(&owner, &switch))
            .await
            .faulty(&[("primary_card_token", "Primary card token is not valid")]);
    }

    async fn a_used_card_stays_and_its_token_is_refused(app) {
        let client = app.client();
        let stored = store(&client, &card("4200000000000000")).await;
        let mut payment = with(charge(400), &json!({ "card_token": token(&stored) }));
        payment["card"] = Value::Null;
        client.post("/1/charges", &payment).await.ok(201);
        app.clock.advance(TimeSpan::days(40));
        app.do_due_work().await;
        assert_eq!(client.get(&format!("/1/cards/{}", token(&stored))).await.ok(200), stored);
        let again = app.unchanged(client.post("/1/charges", &payment)).await;
        let body = again.refused(400, "token_already_used");
        let sentence = "Token already used. Card tokens can only be used once, to create a charge or assign a card to a customer";
        assert_eq!(body["error_description"], sentence);
    }

    async fn a_declined_card_is_spent_by_the_decline(app) {
        let client = app.client();
        let stored = store(&client, &card("4100000000000001")).await;
        let mut payment = with(charge(400), &json!({ "card_token": token(&stored) }));
        payment["card"] = Value::Null;
        client.post("/1/charges", &payment).await.refused(400, "card_declined");
        app.unchanged(client.post("/1/charges", &payment)).await.refused(400, "token_already_used");
    }

    async fn a_gateway_error_leaves_the_token_for_a_retry(app) {
        let client = app.client();
        let stored = store(&client, &card("4300000000000009")).await;
        let mut payment = with(charge(400), &json!({ "card_token": token(&stored) }));
        payment["card"] = Value::Null;
        for _ in 0..2 {
            client.post("/1/charges", &payment).await.refused(502, "gateway_error");
        }
    }
}
