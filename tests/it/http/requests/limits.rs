//! Sizes of bodies and how deep and wide they may be (`docs/decisions.md`, 5).

use axum::body::Body;
use bytes::Bytes;
use http::{Method, header};
use serde_json::{Value, json};

use crate::harness::sending::{FORM, JSON, MULTIPART, send};
use crate::harness::{charge, rules};

const MEBIBYTE: usize = 1024 * 1024;

/// A charge in so many bytes of JSON.
fn of_size(bytes: usize) -> String {
    let mut params = charge(400);
    params["padding"] = json!("");
    let without = params.to_string().len();
    params["padding"] = json!("x".repeat(bytes - without));
    let body = params.to_string();
    assert_eq!(body.len(), bytes);
    body
}

/// In pieces, without a Content-Length.
fn chunked(text: String) -> Body {
    let pieces: Vec<_> = text.into_bytes().chunks(65_536).map(Bytes::copy_from_slice).collect();
    Body::from_stream(futures::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>)))
}

rules! {
    async fn one_mebibyte_is_read_and_more_is_too_large(app) {
        let client = app.client();
        send(&client, Method::POST, "/1/charges", JSON, of_size(MEBIBYTE)).await.ok(201);
        send(&client, Method::POST, "/1/charges", JSON, chunked(of_size(MEBIBYTE))).await.ok(201);
        let before = app.rows().await;
        for path in ["/1/charges", "/1/cards", "/1/customers"] {
            for content_type in [JSON, FORM, MULTIPART, None, Some("text/plain")] {
                let body = of_size(MEBIBYTE + 1);
                let answer = send(&client, Method::POST, path, content_type, chunked(body)).await;
                assert_eq!(answer.status, 413, "{path} {content_type:?}");
                answer.refused(413, "payload_too_large");
            }
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_body_that_announces_too_much_is_not_even_read(app) {
        let before = app.rows().await;
        for length in ["1048577", "99999999999999"] {
            let request =
                app.client().request(Method::POST, "/1/charges").header(header::CONTENT_LENGTH, length);
            // It would never end.
            let body = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
            app.client().send(request.body(body).unwrap()).await.refused(413, "payload_too_large");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_body_that_breaks_off_is_a_bad_request(app) {
        let before = app.rows().await;
        let pieces = [Ok(Bytes::from_static(b"email=a")), Err(std::io::Error::other("gone"))];
        let body = Body::from_stream(futures::stream::iter(pieces));
        send(&app.client(), Method::POST, "/1/charges", FORM, body).await.refused(400, "bad_request");
        assert_eq!(app.rows().await, before);
    }

    async fn parameters_that_are_nested_too_deeply_are_a_bad_request(app) {
        let deep = |levels: usize| (0..levels).fold(json!(1), |value, _| json!({ "a": value }));
        let brackets = |levels: usize| format!("a{}=1", "[a]".repeat(levels - 1));
        let client = app.client();
        // A request that is read gets only its missing parameters.
        send(&client, Method::POST, "/1/charges", JSON, deep(4).to_string())
            .await
            .refused(422, "invalid_resource");
        send(&client, Method::POST, "/1/charges", FORM, brackets(4)).await.refused(422, "invalid_resource");
        let before = app.rows().await;
        for levels in [20, 100, 1000] {
            for (content_type, body) in [(JSON, deep(levels.min(100)).to_string()), (FORM, brackets(levels))]
            {
                let answer = send(&client, Method::POST, "/1/charges", content_type, body).await;
                answer.refused(400, "bad_request");
            }
            let path = format!("/1/charges?{}", brackets(levels));
            client.get(&path).await.refused(400, "bad_request");
        }
        let abyss = "{\"a\":".repeat(100_000) + &"}".repeat(100_000);
        send(&client, Method::POST, "/1/charges", JSON, abyss).await.refused(400, "bad_request");
        let abyss = "[".repeat(500_000);
        send(&client, Method::POST, "/1/charges", JSON, abyss).await.refused(400, "bad_request");
        assert_eq!(app.rows().await, before);
    }

    async fn too_many_parameters_are_a_bad_request(app) {
        let before = app.rows().await;
        let many = 2000;
        let form = vec!["a=1"; many].join("&");
        let object: Value =
            (0..many).map(|n| (n.to_string(), json!(1))).collect::<serde_json::Map<_, _>>().into();
        let list = json!({ "a": vec![1; many] });
        for (content_type, body) in
            [(FORM, form.clone()), (JSON, object.to_string()), (JSON, list.to_string())]
        {
            let answer = send(&app.client(), Method::POST, "/1/charges", content_type, body).await;
            answer.refused(400, "bad_request");
        }
        app.client().get(&format!("/1/charges?{form}")).await.refused(400, "bad_request");
        assert_eq!(app.rows().await, before);
    }
}
