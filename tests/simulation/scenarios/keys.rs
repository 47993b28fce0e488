//! Idempotency-Keys and API keys.

use std::time::Duration;

use futures::future::{join, join_all};
use http::{Method, StatusCode};
use serde_json::json;
use tokio::time::sleep;

use super::{GOOD_CARD, Stage, charge, customer};
use crate::client::Call;
use crate::payer::token;

const DECLINED_CARD: &str = "4100000000000001";
/// For how long servers know a key that another one has revoked: five seconds, and as long as they pause.
const REVOKED_MAX: Duration = Duration::from_secs(150);

/// A key gives its response to the same request again, a decline too, and to no other.
pub async fn a_key_belongs_to_one_request(stage: &mut Stage) {
    for (number, status) in [(GOOD_CARD, 201), (DECLINED_CARD, 400)] {
        let call = stage.call(Method::POST, "/1/charges", charge(1_000, number, true));
        let first = stage.client.finish(&call).await;
        assert_eq!(first.status, status, "{}", first.text);
        let other_amount = Call { body: charge(1_100, number, true), ..call.clone() };
        let other_path = Call { path: "/1/customers".into(), body: customer(), ..call.clone() };
        for other in [other_amount, other_path] {
            assert_eq!(stage.client.finish(&other).await.error(422), "idempotency_key_reused");
        }
        let again = stage.client.finish(&call).await;
        assert_eq!((again.status, &again.text), (first.status, &first.text));
        assert!(again.is_replayed, "{} had an effect again", call.key.unwrap_or_default());
    }
    assert_eq!(stage.client.all("charges").await.len(), 1);
}

/// Requests that are refused beside others that succeed change nothing, and leave their keys free.
pub async fn refused_requests_leave_their_keys_free(stage: &mut Stage) {
    const MANY: usize = 5;
    let paid = stage.charge(1_000, GOOD_CARD, true).await;
    let path = format!("/1/charges/{}/refunds", token(&paid));
    let mut calls = |path: &str, body| -> Vec<_> {
        (0..MANY).map(|_| stage.call(Method::POST, path, serde_json::Value::clone(&body))).collect()
    };
    let (refused, good) = (calls(&path, json!({ "amount": 1_001 })), calls("/1/customers", customer()));
    let client = &stage.client;
    let finish = |calls: Vec<Call>| join_all(calls.into_iter().map(async |call| client.finish(&call).await));
    let (refusals, made) = join(finish(refused.clone()), finish(good)).await;
    for answer in &refusals {
        assert_eq!(answer.error(422), "invalid_resource");
    }
    for answer in &made {
        answer.record();
    }
    let corrected =
        refused.into_iter().map(|call| Call { path: "/1/customers".into(), body: customer(), ..call });
    finish(corrected.collect()).await.iter().for_each(|answer| drop(answer.record()));
    assert_eq!(client.all("customers").await.len(), 2 * MANY);
}

/// The server that revokes a key obeys at once, others soon.
pub async fn a_revoked_key_is_refused(stage: &mut Stage) {
    let made = json!({ "name": "Accounting", "rights": { "charges": "read" } });
    let made = stage.post("/1/sandbox/keys", made).await.record();
    let holder = stage.client.keyed(made["secret_key"].as_str().unwrap());
    assert!(holder.all("charges").await.is_empty());
    let path = format!("/1/sandbox/keys/{}", token(&made));
    let revoke = stage.call(Method::DELETE, &path, serde_json::Value::Null);
    let revoked = stage.client.finish(&revoke).await;
    assert!(revoked.status < 300, "{}", revoked.text);
    if stage.client.has_several_servers() {
        sleep(REVOKED_MAX).await;
    }
    let list = Call::new(Method::GET, "/1/charges", serde_json::Value::Null);
    assert_eq!(holder.finish(&list).await.status, StatusCode::UNAUTHORIZED.as_u16());
}
